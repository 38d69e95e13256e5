"""Ids stored as categories are read as their texts; rows keep the numbers of their categories as long as possible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from recassay.data.io.read import open_table, read_table
from recassay.data.read import read_run

from ....refusals import refused

ROWS = [("u2", "b", 0.5), ("u10", "c", 0.25), ("u2", "a", 1.0), ("u10", "b", 0.75)]
TEXT = pl.DataFrame(ROWS, ["user_id", "item_id", "score"], orient="row")
BOTH = TEXT.with_columns(pl.col("user_id", "item_id").cast(pl.Categorical))
HELD: dict[str, Callable[[], object]] = {
    "polars": lambda: BOTH,
    "lazy": BOTH.lazy,
    "enum": lambda: BOTH.with_columns(TEXT["item_id"].cast(pl.Enum(["c", "b", "unused", "a"]))),
    "pandas": lambda: TEXT.to_pandas().astype({"user_id": "category", "item_id": "category"}),
    "arrow": BOTH.to_arrow,
}


def kind(source: object, name: str) -> pl.DataType:
    ids = open_table(source, "run").ids(name)
    assert isinstance(ids, pl.Series)
    return ids.dtype


def held_to_text(source: object) -> None:
    assert read_table(source, "run").equals(TEXT)
    for name in ("user_id", "item_id"):
        assert isinstance(kind(source, name), pl.Categorical | pl.Enum), name
    run, wanted = read_run(source), read_run(TEXT)
    assert run.frame().equals(wanted.frame())
    assert run.vocabulary.ids is not None
    assert wanted.vocabulary.ids is not None
    assert run.vocabulary.ids.equals(wanted.vocabulary.ids)


@pytest.mark.parametrize("name", HELD)
def test_in_memory(name: str) -> None:
    held_to_text(HELD[name]())


@pytest.mark.parametrize("small", [2, 1_000_000], ids=["column by column", "at once"])
def test_in_parquet_and_arrow(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recassay.data.io.read.SMALL", small)
    path = tmp_path / "run.parquet"
    BOTH.write_parquet(path)
    held_to_text(path)
    held_to_text(BOTH.to_arrow())


def test_users_of_a_dict_have_numbers() -> None:
    lists = {"u2": {"b": 0.5, "a": 1.0}, "u10": {"c": 0.25}, "": {}}
    assert kind(lists, "user_id") == pl.Enum(["u2", "u10"])
    assert read_table(lists, "run").rows() == [("u2", "b", 0.5), ("u2", "a", 1.0), ("u10", "c", 0.25)]
    assert read_run(lists).queries.to_list() == ["u10", "u2"]


@pytest.mark.parametrize("missing", [None, ""])
@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["b", "", "a"])], ids=str)
def test_a_missing_category_is_a_missing_id(missing: str | None, kind: pl.DataType) -> None:
    items = pl.Series("item_id", ["a", missing, "b"], dtype=kind)
    run = pl.DataFrame([pl.Series("user_id", ["u", "u", "u"]), items, pl.Series("score", [3.0, 2.0, 1.0])])
    with refused("I304", match="1 of 3 ids are missing, the first in row 2"):
        read_run(run)


def test_a_category_that_no_row_has_may_be_empty() -> None:
    items = pl.Series("item_id", ["a", "b"], dtype=pl.Enum(["b", "", "a"]))
    run = pl.DataFrame([pl.Series("user_id", ["u", "u"]), items, pl.Series("score", [3.0, 2.0])])
    assert read_run(run).vocabulary.decode(read_run(run).items).to_list() == ["a", "b"]
