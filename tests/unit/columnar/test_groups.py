"""Rows in groups: the same as a stable sort by user, whatever the type of the ids, and with partitions or without."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import groups
from recassay.columnar.groups import GroupedRows

from ...examples import examples

USERS = {
    "integers": int,
    "integers far apart": lambda number: int(number) * 1_000_003 - 40,
    "unsigned integers of 64 bits": lambda number: 2**64 - 1 - int(number),
    "text": lambda number: f"user {number}",
}


def of_users(kind, numbers):
    dtype = pl.UInt64 if "unsigned" in kind else None
    users = pl.Series([USERS[kind](number) for number in numbers], dtype=dtype)
    place = np.arange(len(numbers))
    return pl.DataFrame({
        "user_id": users, "item_id": place.astype(np.int32), "score": place / 2.0, "rank": place.astype(np.int16),
        "note": pl.Series([str(one) for one in place.tolist()]),
    })  # fmt: skip


def held_to_a_stable_sort(frame):
    table, wanted = GroupedRows(frame, "user_id"), frame.sort("user_id", maintain_order=True)
    assert table.users.to_list() == wanted["user_id"].unique(maintain_order=True).to_list()
    assert np.diff(table.offsets).tolist() == wanted.group_by("user_id", maintain_order=True).len()["len"].to_list()
    for name in frame.columns:
        assert table[name].equals(wanted[name].rename(table[name].name)), name
    vocabulary, codes = table.encode("item_id")
    assert vocabulary.decode(codes).to_list() == wanted["item_id"].to_list()


@pytest.mark.parametrize("kind", USERS)
@settings(deadline=None, max_examples=examples(30))
@given(numbers=st.lists(st.integers(0, 9), max_size=40))
def test_few_rows(kind, numbers):
    held_to_a_stable_sort(of_users(kind, numbers))


@pytest.mark.parametrize("kind", USERS)
def test_many_rows_in_blocks_and_partitions(kind, monkeypatch):
    monkeypatch.setattr(groups, "ROWS_PER_PARTITION", 64)
    monkeypatch.setattr(groups, "ROWS_PER_BLOCK", 1_000)
    numbers = np.random.default_rng(3).integers(0, 700, 9_500)
    numbers[:3_000] = 5  # one user has many rows
    held_to_a_stable_sort(of_users(kind, np.append(numbers, 699)))


@pytest.mark.parametrize("rows_per_partition", [64, 1 << 15], ids=["partitions", "one partition"])
@settings(deadline=None, max_examples=examples(30))
@given(numbers=st.lists(st.integers(0, 40), min_size=1, max_size=400), sizes=st.lists(st.integers(0, 150), max_size=6))
def test_columns_in_chunks(rows_per_partition, numbers, sizes):
    whole = of_users("integers", numbers)
    bounds = [0, *np.minimum(np.cumsum([*sizes, len(numbers)]), len(numbers)).tolist()]
    chunks = [whole.slice(begin, end - begin) for begin, end in pairwise(bounds)]
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(groups, "ROWS_PER_PARTITION", rows_per_partition)
        changed.setattr(groups, "ROWS_PER_BLOCK", 100)
        held_to_a_stable_sort(pl.concat(chunks, rechunk=False))


def test_a_table_that_turns_out_to_be_shuffled_late(monkeypatch):
    monkeypatch.setattr(groups, "FIRST_LOOK", 4)
    held_to_a_stable_sort(of_users("integers", [0, 0, 1, 2, 2, 3, 1, 0]))


def test_ascending_users_are_not_moved():
    table = GroupedRows(of_users("text", [1, 1, 2, 3]), "user_id")
    assert table._moves is None
    assert table.offsets.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("kind", USERS)
@pytest.mark.parametrize("second", [[7], [2, 7]], ids=["each user once", "a user again"])
def test_users_in_long_runs_are_numbered_run_by_run(kind, second, monkeypatch):
    monkeypatch.setattr(groups, "FIRST_LOOK", 8)
    encoded = []
    real = groups._codes_of
    monkeypatch.setattr(groups, "_codes_of", lambda ids: encoded.append(ids.len()) or real(ids))
    held_to_a_stable_sort(of_users(kind, np.repeat([9, 2, 5, *second], 6)))
    assert encoded[0] == 3 + len(second)


@pytest.mark.parametrize("first_look", [4, 1 << 16])
@settings(deadline=None, max_examples=examples(60))
@given(
    numbers=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    order=st.permutations(range(12)),
    fixed=st.booleans(),
    runs=st.booleans(),
)
def test_categories_are_grouped_as_their_texts(first_look, numbers, order, fixed, runs):
    numbers = np.repeat(numbers, 5) if runs else np.array(numbers)
    text = of_users("text", numbers.tolist()).with_columns(item_id=pl.Series(f"i{number % 7}" for number in numbers))
    names = [f"user {number}" for number in order]  # 10 and 11 are not used
    users = pl.Enum(names) if fixed else pl.Categorical
    categories = text.with_columns(pl.col("user_id").cast(users), pl.col("item_id").cast(pl.Categorical))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(groups, "FIRST_LOOK", first_look)
        mine, wanted = GroupedRows(categories, "user_id"), GroupedRows(text, "user_id")
    assert mine.users.equals(wanted.users)
    assert mine.offsets.tolist() == wanted.offsets.tolist()
    assert mine["note"].equals(wanted["note"])
    (vocabulary, codes), (theirs, numbered) = (table.encode("item_id") for table in (mine, wanted))
    assert vocabulary.ids.equals(theirs.ids)
    assert codes.tolist() == numbered.tolist()
