"""Texts that are hashed as they are read: the same hashes, groups and vocabulary as of the texts alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import groups
from recassay.columnar.columns import HashedTexts, LazyColumns, text_hashes
from recassay.columnar.groups import GroupedRows
from recassay.data.io.read import open_table
from recassay.data.read import read_run

from ...examples import examples
from ...refusals import refused


def test_rows_of_a_file_keep_their_order(tmp_path: Path) -> None:
    ids = pl.Series("id", [f"user {number}" for number in np.random.default_rng(5).integers(0, 900, 30_000).tolist()])
    pl.DataFrame([ids]).write_parquet(tmp_path / "ids.parquet", row_group_size=1_000)
    found = HashedTexts.read(pl.scan_parquet(tmp_path / "ids.parquet"))
    assert found is not None
    assert found.texts.equals(ids)
    for mine, wanted in zip((found.keys, found.checks), text_hashes(ids), strict=True):
        assert np.array_equal(mine, wanted)


@pytest.mark.parametrize("first_look", [4, 1 << 16])
@pytest.mark.parametrize("repeat", [1, 5], ids=["short runs", "long runs"])
@settings(deadline=None, max_examples=examples(60))
@given(numbers=st.lists(st.integers(0, 20), min_size=1, max_size=60), ordered=st.booleans())
def test_rows_are_grouped_as_by_the_texts_alone(
    first_look: int, repeat: int, numbers: list[int], ordered: bool
) -> None:
    rows = np.repeat(sorted(numbers) if ordered else numbers, repeat).tolist()
    text = pl.DataFrame({"user_id": [f"u{number}" for number in rows], "item_id": [f"i{row * 7 % 13}" for row in rows]})
    hashed = LazyColumns(
        {name: lambda name=name: text[name] for name in text.columns},  # type: ignore[misc]
        narrow=lambda name: HashedTexts.read(text.lazy().select(name)),
    )
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(groups, "FIRST_LOOK", first_look)
        mine, wanted = GroupedRows(hashed, "user_id"), GroupedRows(text, "user_id")
    assert mine.users.equals(wanted.users)
    assert mine.offsets.tolist() == wanted.offsets.tolist()
    (vocabulary, codes), (theirs, numbered) = (table.encode("item_id") for table in (mine, wanted))
    assert vocabulary.ids is not None
    assert theirs.ids is not None
    assert vocabulary.ids.equals(theirs.ids)
    assert codes.tolist() == numbered.tolist()


@pytest.mark.parametrize("missing", [None, ""])
def test_a_missing_text_is_a_missing_id(missing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recassay.data.io.read.SMALL", 2)
    rows = {"user_id": ["u", "u", "u"], "item_id": ["a", missing, "b"], "score": [3.0, 2.0, 1.0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "run.parquet")
    assert isinstance(open_table(tmp_path / "run.parquet", "run").ids("user_id"), HashedTexts)
    with refused("I304", match="1 of 3 ids are missing, the first in row 2"):
        read_run(tmp_path / "run.parquet")
