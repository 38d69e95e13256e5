"""Frozen values that read the same everywhere: ``k_folds(k=5, by='user')``, ``ALS(factors=64)``.

A kind of thing (a split, a model) is a package; a thing of that kind is a dataclass in one of its modules. It joins by
standing there: lists, parsing and documentation ask the :class:`Registry`.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, repr=False)
... class Halves(Named):
...     name: ClassVar[str] = "halves"
...     at: int
...     by: Literal["rating", "user"] = "rating"
>>> Halves(at=3), Halves(3, by="user")
(halves(at=3), halves(at=3, by='user'))
>>> Halves(3, by="users")
Traceback (most recent call last):
recassay.errors.UsageError: [U102] halves does not know by='users'.
  Where: halves
  Try:   did you mean 'user'?
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import math
import pkgutil
import typing
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from recassay.errors import UsageError
from recassay.spec import Expression, Value, parse, split, suggest


class Named:
    """Base of frozen dataclasses (``@dataclass(frozen=True, repr=False)``) whose fields are plain values.

    A field's type says what it may be: a ``Literal``, a number, a word, or one of several with ``|``. ``validate``
    checks fields against each other.
    """

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field, kind in parameter_kinds(type(self)).items():
            check_type(self.name, field, getattr(self, field), kind)
        self.validate()

    def validate(self) -> None:
        """Check parameters against each other; a subclass raises :meth:`refuse`."""

    def refuse(self, parameter: str, why: str, hint: str = "") -> UsageError:
        """The error for a parameter value that makes no sense."""
        what = f"{parameter}={getattr(self, parameter)!r}: {why}"
        return UsageError("U102", what, where=str(self), hint=hint or f"recassay explain {self.name}")

    @property
    def parameters(self) -> dict[str, Value]:
        """Every parameter with its value, defaults too."""
        return {field: getattr(self, field) for field in parameter_kinds(type(self))}

    @classmethod
    def build(cls, expression: Expression) -> Self:
        """The value an expression names."""
        known = parameter_kinds(cls)
        for parameter in expression.parameters:
            if parameter not in known:
                hint = suggest(parameter, known) if known else f"{cls.name} takes no parameters"
                raise UsageError("U102", f"{cls.name} has no parameter '{parameter}'", where=str(expression), hint=hint)
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # subclasses are dataclasses
            if field.default is dataclasses.MISSING and field.name not in expression.parameters:
                what = f"{cls.name} needs {field.name}"
                raise UsageError("U102", what, where=str(expression), hint=f"write {cls.name}({field.name}=...)")
        return cls(**expression.parameters)

    def __str__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        stated = {f.name: getattr(self, f.name) for f in fields if getattr(self, f.name) != f.default}
        return str(Expression(self.name, stated))

    __repr__ = __str__


def parameter_kinds(kind: type[Any]) -> dict[str, Any]:
    """The declared type of every field of a dataclass."""
    anything: Any = kind  # a class has a hash, whatever its metaclass is taken to be
    return _kinds(anything)


@functools.cache
def _kinds(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def check_type(name: str, field: str, value: object, kind: Any) -> None:
    """Raise U102 unless a value is one of those its declared type allows.

    >>> check_type("ndcg", "gain", "exp3", Literal["identity", "exp2"])
    Traceback (most recent call last):
    recassay.errors.UsageError: [U102] ndcg does not know gain='exp3'.
      Where: ndcg
      Try:   did you mean 'exp2'?
    """
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, UnionType) else (kind,)
    words = [word for one in kinds if typing.get_origin(one) is Literal for word in typing.get_args(one)]
    plain = [one for one in kinds if typing.get_origin(one) is not Literal]
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    fits: dict[Any, bool] = {float: number, int: number and isinstance(value, int), str: isinstance(value, str)}
    fits |= {bool: isinstance(value, bool), type(None): value is None, object: True}
    if value in words or any(fits[one] for one in plain):
        return
    wanted = " or ".join("nothing" if one is type(None) else one.__name__ for one in plain)
    hint = suggest(str(value), [str(word) for word in words]) if words else f"give a {wanted}"
    raise UsageError("U102", f"{name} does not know {field}={value!r}", where=name, hint=hint)


Kind = TypeVar("Kind", bound=Named)


class Registry(Generic[Kind]):
    """All subclasses of a base that live in one package, by name.

    ``noun`` is the word for one of them in messages: there is no split 'randm'.
    """

    def __init__(self, noun: str, package: str, base: type[Kind]) -> None:
        self.noun, self.package, self.base = noun, package, base

    @functools.cached_property
    def kinds(self) -> Mapping[str, type[Kind]]:
        """Classes by name, in alphabetical order."""
        home = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(home.__path__, f"{self.package}."):
            importlib.import_module(module.name)
        inside = [kind for kind in _named(self.base) if kind.__module__.startswith(self.package + ".")]
        return {kind.name: kind for kind in sorted(inside, key=lambda kind: kind.name)}

    def parse(self, text: str | Kind) -> Kind:
        """One value from its text; a value is itself."""
        if isinstance(text, self.base):
            return text
        expression = parse(str(text))
        if expression.k is not None:
            raise UsageError("U104", f"'{text}' does not parse: a {self.noun} has no cut-off", where=str(text))
        return self.find(expression.name).build(expression)

    def parse_list(self, texts: str | Kind | Iterable[str | Kind]) -> list[Kind]:
        """Values from a list of texts, or from one text with commas or blanks between."""
        if isinstance(texts, self.base):
            return [texts]
        if isinstance(texts, str):
            return [self.parse(text) for text in split(texts)]
        return [one for text in typing.cast("Iterable[str | Kind]", texts) for one in self.parse_list(text)]

    def find(self, name: str) -> type[Kind]:
        """The class of a name; forgiving of case, and saying what was meant otherwise."""
        kind = self.kinds.get(name) or {key.lower(): kind for key, kind in self.kinds.items()}.get(name.lower())
        if kind is None:
            raise UsageError("U115", f"there is no {self.noun} '{name}'", where=name, hint=suggest(name, self.kinds))
        return kind

    def title(self, name: str) -> str:
        """The first line of a class' docstring."""
        return (inspect.getdoc(self.kinds[name]) or "").partition("\n")[0]


def _named(base: type[Kind]) -> Iterator[type[Kind]]:
    for child in base.__subclasses__():
        if child.name:
            yield child
        yield from _named(child)
