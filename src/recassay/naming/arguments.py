"""The check of arguments of the public functions: a wrong type, or an unknown word, is an error with a code."""

from __future__ import annotations

import errno
import functools
import inspect
import math
import numbers
import os
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import is_dataclass
from fractions import Fraction
from itertools import repeat
from pathlib import Path
from types import BuiltinFunctionType, NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar

from recassay.errors import RecassayError, UsageError, names_no_file, out_of_memory, unusable_file
from recassay.naming.grammar import suggest

KINDS: dict[Any, tuple[type, str]] = {
    str: (str, "a text"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    bool: (bool, "True or False"),
    Path: (os.PathLike, "a path"),
    NoneType: (NoneType, "None"),
}

# Words that mean the same wherever a function has them: the limits of their values, and how they are said.
MOST = 10_000_000  # draws, resamples and points, which are kept in memory
LARGEST = 1 << 60  # whole numbers from here on are no counts
NAMELESS = (errno.ENAMETOOLONG, errno.EINVAL)  # what the system says of a path that can name nothing
LIMITS: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "level": (lambda value: 0 < value < 1, "between 0 and 1", "for example 0.95"),
    **dict.fromkeys(
        ("draws", "points", "positions", "resamples", "samples"),
        (
            lambda value: value == "auto" or not isinstance(value, int | str) or value in range(1, MOST + 1),
            f"a whole number from 1 to {MOST:,}",
            "leave it out for the default",
        ),
    ),
    "block": (lambda value: value >= 1, "at least 1", "leave it out for the default"),
    "threads": (lambda value: value is None or value >= 1, "at least 1", "leave it out for all processors"),
    "chance": (lambda value: 0 < value < 1, "between 0 and 1", "such as chance=0.8"),
    "fewest": (lambda value: value >= 0, "at least 0", "fewest=10"),
    "rope": (lambda value: 0 <= value < math.inf, "a finite number of at least 0", "such as rope=0.01"),
    "smallest_group": (lambda value: value >= 2, "at least 2", "the default is 10; means of fewer users say little"),
    "strata": (lambda value: value >= 1, "at least 1", "strata=1 draws from all users"),
    "wanted": (lambda value: value is None or 0 < value < math.inf, "a finite number above 0", "such as 0.005"),
    "width": (lambda value: 0 < value < 1, "between 0 and 1", "within=0.001 gives means accurate to ± 0.001"),
}
Given = ParamSpec("Given")
Result = TypeVar("Result")


def checks_types(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return the function with a check of its arguments: U107 for an unknown word, U102 for another wrong type.

    Annotations made of words (``Literal``), texts, numbers, paths and None are checked before the call. If the call
    fails with an exception of Python, all annotations are checked, with the members of lists and dicts: an argument
    that does not fit its own explains the exception. Messages of the function itself come first, as they know more.

    >>> @checks_types
    ... def half(size: float | None, rounded: Literal["up", "down"] = "up", names: Iterable[str] = ()) -> float:
    ...     return (size or 0) / 2 + len(", ".join(names))
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
    >>> half(3, names=[3])
    Traceback (most recent call last):
    recassay.errors.UsageError: [U102] names must be several values, each a text, got [3].
      Where: half
    """
    parameters = inspect.signature(function).parameters
    positional = [name for name, of in parameters.items() if of.kind == of.POSITIONAL_OR_KEYWORD]
    several = next((name for name, of in parameters.items() if of.kind == of.VAR_POSITIONAL), "")

    @functools.cache  # what annotations name may be defined after the function
    def hints() -> dict[str, Any]:
        return {name: _hint_of(function, name) for name in parameters}

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Result:
        arguments, keywords = tuple(map(_plain, arguments)), {name: _plain(one) for name, one in keywords.items()}
        names = [*positional, *repeat(several, len(arguments))]
        given = [*zip(names, arguments, strict=False), *keywords.items()]
        given = [(name, value) for name, value in given if name in hints()]
        for name, value in given:
            check_argument(function.__name__, name, value, hints()[name])
        try:
            return function(*arguments, **keywords)
        except RecassayError:
            raise
        except MemoryError as error:
            raise out_of_memory(error) from None
        except Exception as error:
            if isinstance(error, OSError) and (error.errno in NAMELESS or names_no_file(error)):
                raise unusable_file(error) from None
            if isinstance(error, UnicodeEncodeError) or "embedded null" in str(error):
                raise UsageError("U102", f"a text cannot be written: {error}", where=function.__name__) from None
            for name, value in given:
                if _explains(value, hints()[name]):
                    raise _unfit(function.__name__, name, value, hints()[name]) from None
            raise

    return typing.cast("Callable[Given, Result]", call)


def _plain(value: Any) -> Any:
    """Return a number of NumPy, or a fraction, as a number of Python that can be stored as text; else the value."""
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if isinstance(value, numbers.Number) and hasattr(value, "item") else value


def _hint_of(function: Callable[..., Any], name: str) -> Any:
    """Return the annotation of a parameter; Any if it names a type that only the type checker imports."""
    annotated = SimpleNamespace(__annotations__={name: function.__annotations__.get(name, Any)})
    try:
        return typing.get_type_hints(annotated, vars(inspect.getmodule(function)))[name]
    except NameError:
        return Any


def _explains(value: object, hint: Any) -> bool:
    """Return whether an argument may be why a function failed: it is of a wrong type, empty, huge, or unreadable."""
    try:
        empty = isinstance(value, Sized) and not isinstance(value, str) and not len(value)
        huge = isinstance(value, int) and abs(value) >= LARGEST
        return not fits(value, hint) or ((empty or huge) and hint is not Any)
    except Exception:
        return True


def fits(value: object, hint: Any) -> bool:  # noqa: PLR0911 - a case for each kind of annotation
    """Return whether a value has the type that an annotation says; a type that cannot be checked counts as fitting.

    >>> fits([1, 2], Iterable[int]), fits(["x"], Iterable[int] | None), fits({"a": 1}, Mapping[str, float])
    (True, False, True)
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    kind = origin or hint
    if origin in (typing.Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if hint in KINDS:
        flag, huge = isinstance(value, bool), isinstance(value, int) and abs(value) > sys.float_info.max
        return (
            isinstance(value, KINDS[hint][0]) and not (flag and hint in (int, float)) and not (huge and hint is float)
        )
    if origin is tuple:
        ends = parts[:1] * len(value) if parts[-1] is ... and isinstance(value, Sized) else parts
        return isinstance(value, tuple | list) and len(value) == len(ends) and all(map(fits, value, ends))
    if kind is Callable and isinstance(value, type | BuiltinFunctionType):
        return False  # what failed is no function of its caller's
    if hint is Any or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return True  # Python cannot tell at run time who follows the protocol
    if not isinstance(value, kind) or (origin is not None and isinstance(value, str | bytes)):
        return False
    if not parts or not issubclass(kind, Iterable):
        return True
    if isinstance(value, Iterator):  # what it held is gone, so nothing speaks for it
        return parts[0] in (Any, object)
    if isinstance(value, Mapping):
        return all(all(map(fits, pair, parts)) for pair in value.items())
    return all(fits(part, parts[0]) for part in typing.cast("Iterable[Any]", value))


def words_of(hint: Any) -> tuple[list[Any], list[Any]]:
    """Return the words that an annotation lists, and its other kinds of values.

    >>> words_of(Literal["up", "down"] | int | None)
    (['up', 'down'], [<class 'int'>, <class 'NoneType'>])
    """
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    words = [word for kind in kinds if typing.get_origin(kind) is Literal for word in typing.get_args(kind)]
    return words, [kind for kind in kinds if typing.get_origin(kind) is not Literal]


def _unfit(where: str, name: str, value: object, hint: Any) -> UsageError:
    return UsageError("U102", f"{name} must be {_in_words(hint)}, got {_short_text(value)}", where=where)


def _in_words(hint: Any) -> str:  # noqa: PLR0911 - as above
    """Return an annotation in words, as in "a number or None"."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in KINDS:
        return KINDS[hint][1]
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(map(_in_words, parts)))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin is tuple:
        return f"a tuple of {' and '.join(_in_words(part) for part in parts if part is not ...)}"
    if origin is not None and issubclass(origin, Mapping):
        return f"a dict with values that are each {_in_words(parts[1])}"
    if origin is not None and issubclass(origin, Iterable):
        return f"several values, each {_in_words(parts[0])}"
    return "a function" if origin is Callable else f"an object of {getattr(origin or hint, '__name__', hint)}"


def _short_text(value: object) -> str:
    """Return a value as text of at most 80 characters; its type if its ``repr`` fails."""
    try:
        return f"{value!r:.80}"
    except Exception:
        return f"an object of {type(value).__name__}"


_hints_of_fields: Callable[[Any], dict[str, Any]] = functools.cache(typing.get_type_hints)  # slow for each call


class CheckedOptions:
    """The base of options objects, data classes whose fields are checked where an object is made."""

    def __post_init__(self) -> None:
        """Raise U107 or U102 if a field is not what its annotation says."""
        kind: Any = type(self)  # a class has a hash, whatever its metaclass is taken to be
        for name, hint in _hints_of_fields(kind).items():
            check_argument(kind.__name__, name, getattr(self, name), hint, all_kinds=True)


def check_argument(where: str, name: str, value: object, hint: Any, *, all_kinds: bool = False) -> None:
    """Raise U107 or U102 unless ``value`` has the type ``hint``, and is within the limits for parameters of its name.

    ``where`` is the name of the function, for the error. Unless ``all_kinds``, a value is only checked if ``hint`` is
    made of words, texts, numbers, paths and None, or of words and objects of options.
    """
    words, kinds = words_of(hint)
    others = [kind for kind in kinds if kind not in KINDS]
    if others and not all_kinds and not (words and all(map(is_dataclass, others))):
        return
    if not fits(value, hint):
        if not words:
            raise _unfit(where, name, value, hint)
        what = f"{name}={_short_text(value)} is not known"
        raise UsageError("U107", what, where=where, hint=suggest(_short_text(value).strip("'"), words))
    limit, said, advice = LIMITS.get(name, (None, "", ""))
    if limit is not None and not limit(value):
        raise UsageError("U102", f"{name} must be {said}, got {_short_text(value)}", hint=advice)
