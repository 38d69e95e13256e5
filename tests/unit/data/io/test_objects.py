"""Columns of dicts and lists: their types, positions, and keys that are names of columns."""

from __future__ import annotations

from recassay.data.io.read import read_table

from ....refusals import refused


def test_types_that_mix_are_named_wherever_they_meet() -> None:
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
