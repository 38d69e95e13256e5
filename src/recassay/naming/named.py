"""Frozen values that read the same everywhere: ``k_folds(k=5, by='user')``, ``ALS(factors=64)``.

A split, a model or a metric is a dataclass whose fields are its parameters; the registry of its kind finds it by name.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, repr=False)
... class Halves(Named):
...     name: ClassVar[str] = "halves"
...     at: int
...     by: typing.Literal["rating", "user"] = "rating"
>>> Halves(at=3), Halves(3, by="user")
(halves(at=3), halves(at=3, by='user'))
>>> Halves(3, by="users")
Traceback (most recent call last):
recassay.errors.UsageError: [U102] halves does not know by='users'.
  Where: halves
  Try:   did you mean 'user'?

A departure is one sentence on how a default differs from the words of a paper, declared by the class or function that
differs. ``recassay explain NAME`` prints its sentences, and the page of departures collects all of them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import typing
from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from recassay.errors import UsageError
from recassay.naming.arguments import words_of
from recassay.naming.grammar import Expression, Value, suggest

# The file in reproductions/ that has the title and the reference of each paper.
PAPERS = {
    "target-sets": "target-set-biases",
    "sampled-metrics": "sampled-metrics",
    "sequeval": "sequeval",
    "prequential": "prequential",
    "sudden-death": "sudden-death",
}

Callable_ = TypeVar("Callable_", bound=Callable[..., object])


@dataclass(frozen=True)
class Departure:
    """One sentence on how a default differs from a paper, and the text or call that gives the paper's own form.

    ``paper`` is a key of :data:`PAPERS`. ``literal`` is that text or call. Without it the paper's form is not
    available, and the sentence says why.
    """

    paper: str
    sentence: str
    literal: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} The paper's form: {self.literal}." if self.literal else self.sentence


def departs(*departures: Departure) -> Callable[[Callable_], Callable_]:
    """Return a decorator that declares how a function deviates from a paper.

    Classes declare the same in an attribute ``departures``.
    """

    def attach(function: Callable_) -> Callable_:
        function.departures = departures  # type: ignore[attr-defined]  # functions take attributes
        return function

    return attach


class _ChecksCalls(ABCMeta):
    """Metaclass of :class:`Named`: a call with parameters that do not fit raises the error U102, not a TypeError."""

    @property
    def __signature__(cls) -> inspect.Signature:
        if cls.__init__ is object.__init__:  # type: ignore[misc]
            return inspect.Signature()
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    if not TYPE_CHECKING:  # type checkers read the fields of the class

        def __call__(cls, *arguments: Any, **parameters: Any) -> Any:
            try:
                return super().__call__(*arguments, **parameters)
            except TypeError:
                _check_call(cls, arguments, parameters)
                raise  # it comes from within the class


def _check_call(kind: Any, arguments: tuple[Any, ...], parameters: Mapping[str, Any]) -> None:
    """Raise U102 unless a class can be called with these positional arguments and parameters."""
    signature = inspect.signature(kind)
    try:
        signature.bind(*arguments, **parameters)
    except TypeError as error:
        known = signature.parameters
        plain = {name: value for name, value in parameters.items() if isinstance(value, str | int | float)}
        where = str(Expression(kind.name, plain))
        unknown = next((name for name in parameters if name not in known), None)
        if unknown is None:
            needed = [name for name, parameter in known.items() if parameter.default is parameter.empty]
            what = f"{kind.name}: {error}"
            hint = f"write {kind.name}({', '.join(f'{name}=...' for name in needed or known)})"
            raise UsageError("U102", what, where=where, hint=hint) from None
        raise unknown_parameter(kind.name, unknown, known, where) from None


def unknown_parameter(name: str, parameter: str, known: Collection[str], where: str) -> UsageError:
    """Return error U102: the metric, split or model ``name`` has no such parameter; ``known`` are those it has."""
    hint = suggest(parameter, known) if known else f"{name} takes no parameters"
    return UsageError("U102", f"{name} has no parameter '{parameter}'", where=where, hint=hint)


class Range(NamedTuple):
    """The numbers that a parameter accepts, as in ``factors: Annotated[int, COUNT]``.

    ``holds`` says whether a number is accepted, and ``words`` describe the numbers in errors.
    """

    words: str
    holds: Callable[[float], bool]


AT_LEAST_0 = Range("at least 0", lambda number: number >= 0)
COUNT = Range("at least 1", lambda number: number >= 1)
AT_LEAST_2 = Range("at least 2", lambda number: number >= 2)
POSITIVE = Range("above 0", lambda number: number > 0)
BELOW_1 = Range("at least 0 and below 1", lambda number: 0 <= number < 1)
UP_TO_1 = Range("at least 0 and at most 1", lambda number: 0 <= number <= 1)
ABOVE_0_UP_TO_1 = Range("above 0 and at most 1", lambda number: 0 < number <= 1)
INSIDE = Range("above 0 and below 1", lambda number: 0 < number < 1)


class Named(metaclass=_ChecksCalls):
    """Base of objects written as ``name(parameter=value)``: frozen dataclasses whose fields are plain values.

    Use ``@dataclass(frozen=True, repr=False)``.

    The type of a field says which values it accepts: a ``Literal``, a number, a string, or a union with ``|``. A
    :class:`Range` in ``Annotated`` limits its numbers; ``validate`` checks fields against each other.
    """

    name: ClassVar[str] = ""
    departures: ClassVar[tuple[Departure, ...]] = ()  # from a paper, in what the defaults do
    n_defined: ClassVar[int] = 0

    def __init_subclass__(cls, **options: Any) -> None:
        """Count a definition, so that registries search the subclasses again."""
        super().__init_subclass__(**options)
        Named.n_defined += 1

    def __post_init__(self) -> None:
        kinds = parameter_kinds(type(self))
        for parameter, value in self.parameters.items():
            check_type(self.name, parameter, value, kinds[parameter])
        for name, allowed in _ranges(type(self)).items():
            value = getattr(self, name)
            if isinstance(value, int | float) and not allowed.holds(value):
                default = getattr(type(self), name, None)
                hint = "" if default is None else f"{name}={default}"
                raise self.refuse(name, f"it must be {allowed.words}", hint)
        self.validate()

    def validate(self) -> None:
        """Raise the error that :meth:`refuse` returns if the parameters do not go together; subclasses override it."""

    def refuse(self, parameter: str, why: str, hint: str = "") -> UsageError:
        """Return the error U102 for the value of a parameter.

        ``why`` says what is wrong with it, and follows the parameter and its value in the message.
        """
        what = f"{parameter}={getattr(self, parameter)!r}: {why}"
        return UsageError(
            "U102", what, where=str(self), hint=hint or f"recassay explain {self.name} lists its valid values"
        )

    @property
    def parameters(self) -> dict[str, Value]:
        """Return every parameter with its value, defaults included."""
        return {field: getattr(self, field) for field in parameter_kinds(type(self))}

    @classmethod
    def build(cls, expression: Expression) -> Self:
        """Return the object that an expression describes; raise U102 for unknown or missing parameters."""
        return cls(**expression.parameters)

    def __str__(self) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        stated = {name: value for name, value in self.parameters.items() if value != defaults[name]}
        return str(Expression(self.name, stated))

    __repr__ = __str__


@functools.cache
def parameter_kinds(kind: Any) -> dict[str, Any]:
    """Return the declared type of every field of a dataclass."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


@functools.cache
def _ranges(kind: Any) -> dict[str, Range]:
    """Return the range of every field that has one; a field that a subclass declares again keeps its range."""
    hints = [typing.get_type_hints(base, include_extras=True) for base in reversed(kind.__mro__)]
    pairs = [
        (name, data)
        for of_base in hints
        for name, hint in of_base.items()
        for data in getattr(hint, "__metadata__", ())
    ]
    return {name: data for name, data in pairs if isinstance(data, Range)}


def check_type(name: str, field: str, value: object, kind: Any) -> None:
    """Raise U102 unless ``value`` has the declared type ``kind`` of a field.

    ``name`` is that of the metric, split or model, and ``field`` that of its parameter.

    >>> check_type("ndcg", "gain", "exp3", typing.Literal["identity", "exp2"])
    Traceback (most recent call last):
    recassay.errors.UsageError: [U102] ndcg does not know gain='exp3'.
      Where: ndcg
      Try:   did you mean 'exp2'?
    """
    words, plain = words_of(kind)
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    fits: dict[Any, bool] = {float: number, int: number and isinstance(value, int), str: isinstance(value, str)}
    fits |= {bool: isinstance(value, bool), type(None): value is None, object: True}
    if any(type(value) is type(word) and value == word for word in words) or any(fits[one] for one in plain):
        return
    wanted = " or ".join("nothing" if one is type(None) else one.__name__ for one in plain)
    hint = suggest(str(value), [str(word) for word in words]) if words else f"give a value of type {wanted}"
    raise UsageError("U102", f"{name} does not know {field}={value!r}", where=name, hint=hint)
