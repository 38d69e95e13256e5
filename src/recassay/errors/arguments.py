"""The check of argument types in the public functions: a wrong type is an error with a code."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from recassay.errors import UsageError

KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "int": (numbers.Integral, "a whole number"),
    "float": (numbers.Real, "a number"),
    "Path": (os.PathLike, "a path"),
    "None": (type(None), "None"),
}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def checks_types(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return the function with a check that raises U102 for an argument of another type than its annotation names.

    Annotations made of texts, numbers, paths and None are checked; others are left to the function.

    >>> @checks_types
    ... def half(size: float | None) -> float:
    ...     return (size or 0) / 2
    >>> half(3)
    1.5
    >>> half("3")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U102] size must be a number or None, got '3'.
      Where: half
    """
    signature = inspect.signature(function)
    parts = {name: str(one.annotation).split(" | ") for name, one in signature.parameters.items()}
    checked = {name: [KINDS[part] for part in names] for name, names in parts.items() if KINDS.keys() >= set(names)}

    @functools.wraps(function)
    def call(*arguments: Given.args, **keywords: Given.kwargs) -> Result:
        for name, value in (*zip(signature.parameters, arguments, strict=False), *keywords.items()):
            if name in checked and not isinstance(value, tuple(kind for kind, _ in checked[name])):
                words = " or ".join(said for _, said in checked[name])
                where = function.__name__
                raise UsageError("U102", f"{name} must be {words}, got {value!r:.80}", where=where)
        return function(*arguments, **keywords)

    return call
