"""Options that accept a fixed set of words: every public function and every registered part refuses another word."""

import dataclasses
import importlib
import inspect
import pkgutil
import types
import typing

import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.naming.named import Named

from ..refusals import refused

for module in pkgutil.walk_packages(ra.__path__, "recassay."):
    importlib.import_module(module.name)


def words_of(kind):
    """Return the words of a type that is a Literal, or a union of a Literal and others; none if any text will do."""
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    return (
        []
        if str in kinds
        else [word for one in kinds if typing.get_origin(one) is typing.Literal for word in typing.get_args(one)]
    )


def known_types(function):
    """Return the types of the parameters, without those that only the type checker imports."""
    found = {}
    for name, kind in function.__annotations__.items():
        stand_in = types.SimpleNamespace(__annotations__={name: kind})
        try:
            found |= typing.get_type_hints(stand_in, vars(inspect.getmodule(function)))
        except NameError:
            assert "Literal" not in str(kind), name
    return found


def public_functions():
    """Yield the functions of ``recassay`` and of its public modules."""
    for one in map(ra.__getattr__, ra._HOMES):
        if isinstance(one, types.ModuleType):
            yield from (
                getattr(one, name) for name in getattr(one, "__all__", ()) if inspect.isfunction(getattr(one, name))
            )
        elif inspect.isfunction(one):
            yield one


def parts(kind=Named):
    for one in kind.__subclasses__():
        if dataclasses.is_dataclass(one) and one.__module__.startswith("recassay.") and vars(one).get("name"):
            yield one
        yield from parts(one)


def options():
    return [getattr(ra.options, name) for name in ra.options.__all__]


FUNCTIONS = [
    pytest.param(one, name, id=f"{one.__name__}-{name}")
    for one in public_functions()
    for name, kind in known_types(one).items()
    if name != "return" and words_of(kind)
]
CLASSES = [
    pytest.param(one, name, id=f"{one.__name__}-{name}")
    for one in dict.fromkeys([*parts(), *options()])
    for name, kind in typing.get_type_hints(one).items()
    if name in {field.name for field in dataclasses.fields(one)} and words_of(kind)
]


def test_every_kind_of_part_and_the_cases_of_the_issue_are_among_them():
    assert {"judge-users", "judge-short", "score-interval", "compare-test", "across-over"} <= {
        one.id for one in FUNCTIONS
    }
    assert {"XQuAD-prior", "NDCG-gain", "KFolds-by", "Prequential-order"} - {one.id for one in CLASSES} == set()


@pytest.mark.parametrize(("function", "name"), FUNCTIONS)
def test_a_function_refuses_an_unknown_word_before_anything_else(function, name):
    required = [
        {"str": "x", "str | Path": "x", "int": 1}.get(one.annotation)
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    with refused("U107", match=f"{name}='foo' is not known") as caught:
        function(*required, **{name: "foo"})
    assert caught.value.hint


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_a_part_refuses_an_unknown_word(kind, name):
    hints = typing.get_type_hints(kind)
    required = {"k": 10} if getattr(kind, "cutoff", "none") != "none" else {}
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and field.init:
            required[field.name] = (words_of(hints[field.name]) or [1])[0]
    with pytest.raises(UsageError, match="'foo'") as caught:
        kind(**{**required, name: "foo"})
    assert caught.value.code in {"U102", "U107"}
    assert caught.value.hint
