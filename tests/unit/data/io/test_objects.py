"""Columns of dicts and lists are read in blocks; what they hold does not depend on where a block ends."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from recassay.data.io import objects as objects_module
from recassay.data.io.columns import ROLES, could_be_named, resolve
from recassay.data.io.read import read_table
from recassay.errors import InputError

from ....refusals import refused

FEW, MANY = 1, 1 << 14  # values in a block
SOURCES: dict[str, Callable[[], object]] = {
    "dicts": lambda: {"a": {"x": 1, "y": 2}, "b": {}, "c": {"x": 0.5, "z": None}},
    "dicts of integers": lambda: {1: {7: 2**53 + 1, 8: 3}, 2: {7: 4}},
    "huge integers": lambda: {"a": {2**64: 1.0, 5: 2.0}, "b": {2**63: 3.0}},
    "missing scores first": lambda: {"a": {"x": None}, "b": {"x": 1.0}},
    "lists": lambda: {"a": ["x", "y"], "b": [], "c": ["z"]},
    "sets": lambda: {"a": {"x"}, "b": {"y"}},
    "pairs": lambda: {"a": [("x", 1), ("y", 0.5)], "b": [], "c": [["z", 2.5]]},
    "tuples": lambda: [("a", "x", 1), ("a", "y", 2.5), ("b", "x", None)],
    "nothing": lambda: {"a": {}, "b": {}},
}


@pytest.mark.parametrize("role", ["run", "truth"])
@pytest.mark.parametrize("name", SOURCES)
def test_blocks_change_nothing(name: str, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for size in (MANY, FEW):
        monkeypatch.setattr(objects_module, "VALUES_PER_BLOCK", size)
        try:
            found.append(read_table(SOURCES[name](), role))
        except InputError as error:
            found.append(str(error))
    one, several = found
    assert one.equals(several, null_equal=True) if isinstance(one, pl.DataFrame) else one == several


@pytest.mark.parametrize("size", [FEW, MANY])
def test_types_that_mix_are_named_wherever_they_meet(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects_module, "VALUES_PER_BLOCK", size)
    for source in ({"a": {"x": 1.0}, "b": {7: 1.0}}, {"a": ["x"], "b": [7]}, [("a", "x", 1.0), ("b", 7, 1.0)]):
        with refused("I202", match=r"mixes types: 'x' \(str\), 7 \(int\)"):
            read_table(source, "run")


def test_positions_count_from_one_in_each_list() -> None:
    lists = {"a": ["x", "y", "z"], "b": [], "c": ["y"]}
    assert read_table(lists, "run").rows() == [("a", "x", 1), ("a", "y", 2), ("a", "z", 3), ("c", "y", 1)]
    assert read_table(lists, "log")["timestamp"].to_list() == [1, 2, 3, 1]


def test_a_user_whose_id_is_the_name_of_a_column_is_a_user() -> None:
    lists = {"item": ["x", "y"], "ann": ["y"], "score": ["z"]}
    assert read_table(lists, "run")["user_id"].to_list() == ["item", "item", "ann", "score"]
    assert read_table({"uid": ["ann"], "iid": ["x"]}, "run").rows() == [("ann", "x")]
    assert read_table({"who": ["ann"], "iid": ["x"]}, "run", columns="user=who").rows() == [("ann", "x")]


@pytest.mark.parametrize("role", ROLES.values(), ids=lambda role: role.name)
def test_no_name_that_has_a_meaning_is_left_out(role) -> None:
    names = ["ann", "id", "User ID", "movieId", "item_id", "value", "rank", "pool", "system", "timestamp", "bob", "who"]
    for chosen in ({}, {"user_id": "who"}):

        def outcome(given: list[str], chosen: dict[str, str] = chosen) -> object:
            try:
                return resolve(given, role, chosen, where="")
            except InputError as error:
                return error.code

        for name in names:
            given = [one for one in names if one != name]
            assert outcome(could_be_named(given, role, chosen)) == outcome(given)
