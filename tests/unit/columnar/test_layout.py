from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.columnar import layout
from recassay.columnar.layout import INT32, across_groups, compare_neighbours, narrowed, take_rows


@given(
    chunks=st.lists(st.lists(st.integers(-(2**31) + 1, 2**31 - 1), max_size=30), min_size=1, max_size=5),
    block=st.integers(1, 40),
)
def test_columns_of_any_chunks_are_narrowed(chunks, block):
    values = [value for chunk in chunks for value in chunk]
    if not values:
        return
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(layout, "INTEGERS_PER_BLOCK", block)
        column = pl.concat([pl.Series(chunk, dtype=pl.Int64) for chunk in chunks], rechunk=False)
        codes, low, high = narrowed(column)
    assert codes.dtype == np.int32
    assert (codes.tolist(), low, high) == (values, min(values), max(values))


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt16, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64])
def test_integers_of_every_size_are_narrowed(kind):
    codes, low, high = narrowed(pl.Series([3, 1, 100], dtype=kind))
    assert (codes.tolist(), low, high) == ([3, 1, 100], 1, 100)


@pytest.mark.parametrize("value", [INT32.min, INT32.max + 1, 2**63 - 1])
def test_an_id_beyond_32_bits_is_not_narrowed(value):
    assert narrowed(pl.Series([1, value, 2], dtype=pl.Int64)) is None
    assert narrowed(pl.Series([1, 2**64 - 1], dtype=pl.UInt64)) is None


def test_32_bit_integers_are_not_copied():
    column = pl.Series([3, 1, 2], dtype=pl.Int32)
    assert np.shares_memory(narrowed(column)[0], column.to_numpy())


CHUNKS = st.lists(st.lists(st.integers(-2, 3), max_size=7), min_size=1, max_size=9)


@given(CHUNKS, st.sampled_from([pl.Int32, pl.Int64, pl.Float64]), st.integers(1, 9), st.data())
def test_columns_of_any_chunks_are_compared_and_taken_from(chunks, dtype, block, data):
    values = [value for chunk in chunks for value in chunk]
    column = pl.concat([pl.Series("id", chunk, dtype=dtype) for chunk in chunks], rechunk=False)
    rows = sorted(data.draw(st.sets(st.sampled_from(range(len(values)))))) if values else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "INTEGERS_PER_BLOCK", block)
        patch.setattr(layout, "CHUNKS_PER_BLOCK", block)
        rises = compare_neighbours(column, np.greater)
        taken = take_rows(column, np.array(rows, np.int64))
    assert rises.tolist() == [after > before for before, after in pairwise(values)]
    assert taken.equals(pl.Series("id", [values[row] for row in rows], dtype=dtype), check_dtypes=True)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_neighbours_in_two_groups(sizes):
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    offsets = np.append(0, np.cumsum(sizes))
    wanted = [place for place, (before, after) in enumerate(pairwise(groups)) if before != after]
    assert sorted(set(across_groups(offsets, max(len(groups) - 1, 0)).tolist())) == wanted
