"""The check of arguments of the public functions: a wrong type, or an unknown word, is an error with a code."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import typing
from collections.abc import Callable
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar

from recassay.errors import UsageError
from recassay.naming.grammar import suggest

KINDS: dict[Any, tuple[type, str]] = {
    str: (str, "a text"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    bool: (bool, "True or False"),
    Path: (os.PathLike, "a path"),
    NoneType: (NoneType, "None"),
}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def checks_types(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return the function with a check of its arguments: U107 for an unknown word, U102 for another wrong type.

    Annotations made of words (``Literal``), texts, numbers, paths and None are checked; others are left to the
    function.

    >>> @checks_types
    ... def half(size: float | None, rounded: Literal["up", "down"] = "up") -> float:
    ...     return (size or 0) / 2
    >>> half(3)
    1.5
    >>> half("3")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U102] size must be a number or None, got '3'.
      Where: half
    >>> half(3, rounded="upp")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U107] rounded='upp' is not known.
      Where: half
      Try:   did you mean 'up'?
    """
    parameters = list(inspect.signature(function).parameters)

    @functools.cache  # what annotations name may be defined after the function
    def kinds() -> dict[str, tuple[Any, ...]]:
        hints = {name: _kinds_of(function, name) for name in parameters}
        return {name: found for name, found in hints.items() if found}

    @functools.wraps(function)
    def call(*arguments: Given.args, **keywords: Given.kwargs) -> Result:
        for name, value in (*zip(parameters, arguments, strict=False), *keywords.items()):
            if name in kinds():
                check_argument(function.__name__, name, value, kinds()[name])
        return function(*arguments, **keywords)

    return call


def _kinds_of(function: Callable[..., Any], name: str) -> tuple[Any, ...]:
    """Return the kinds that the annotation of a parameter names; none if it names one that is not checked."""
    annotated = SimpleNamespace(__annotations__={name: function.__annotations__.get(name, Any)})
    try:
        return _checkable(typing.get_type_hints(annotated, vars(inspect.getmodule(function)))[name])
    except NameError:  # a type that only the type checker imports
        return ()


def _checkable(hint: Any) -> tuple[Any, ...]:
    """Return the kinds of a type or a union of types; none if one of them is not checked."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    return kinds if all(kind in KINDS or typing.get_origin(kind) is Literal for kind in kinds) else ()


def check_words(options: object) -> None:
    """Raise U107 if a field of an options object holds a word that its ``Literal`` type does not list."""
    for name, hint in typing.get_type_hints(type(options)).items():
        kinds = _checkable(hint)
        if any(typing.get_origin(kind) is Literal for kind in kinds):
            check_argument(type(options).__name__, name, getattr(options, name), kinds)


def check_argument(where: str, name: str, value: object, kinds: tuple[Any, ...]) -> None:
    """Raise U107 or U102 unless the ``value`` of the parameter ``name`` of a function is of one of the ``kinds``."""
    words = [word for kind in kinds if typing.get_origin(kind) is Literal for word in typing.get_args(kind)]
    plain = [KINDS[kind] for kind in kinds if kind in KINDS]
    if isinstance(value, tuple(kind for kind, _ in plain)) or (isinstance(value, str) and value in words):
        return
    if words:
        raise UsageError("U107", f"{name}={value!r:.80} is not known", where=where, hint=suggest(str(value), words))
    said = " or ".join(said for _, said in plain)
    raise UsageError("U102", f"{name} must be {said}, got {value!r:.80}", where=where)
