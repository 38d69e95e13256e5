import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.columnar import layout
from recassay.columnar.layout import INT32, narrowed


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
