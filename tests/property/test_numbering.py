"""Numbers of distinct ids, held to a dict."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import numbering
from recassay.columnar.layout import readonly
from recassay.columnar.numbering import Numbering
from recassay.columnar.vocabulary import Vocabulary

pairs = st.lists(st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 5), st.integers(0, 2)))


def in_order_of_arrival(pairs):
    """Number of each pair and first row of each number."""
    number, first = {}, []
    for row, pair in enumerate(pairs):
        if pair not in number:
            number[pair] = len(number)
            first.append(row)
    return [number[pair] for pair in pairs], first


def hashes(pairs):
    """Keys, and checks whose lower half does not count."""
    keys, checks = (np.array([pair[part] for pair in pairs], np.uint64) for part in (0, 1))
    return readonly(keys), readonly(checks << np.uint64(32) | np.uint64(7))


def chunks(pairs, size):
    """Return the keys and the checks, each in chunks of ``size`` rows; the last chunk has no rows."""
    return [[words[begin : begin + size] for begin in range(0, len(pairs) + size, size)] for words in hashes(pairs)]


@settings(deadline=None)
@given(pairs, st.integers(1, 9), st.sampled_from([3, 64]), st.sampled_from([0, 1, 4]), st.integers(1, 8))
def test_every_way_finds_the_same_ids(pairs, size, block, many, part_bits):
    """Rows are numbered at once, in blocks or in parts; each row then has the first row of its pair."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "ROWS_PER_PIECE", 2)
        patch.setattr(numbering, "ROWS_PER_BLOCK", block)
        patch.setattr(numbering, "FIRST_LOOK", 2)
        patch.setattr(numbering, "MANY", many / 4)  # 0 always brings rows into parts, 1 never does
        patch.setattr(numbering, "PART_BITS", part_bits)
        found = Numbering.of(*chunks(pairs, size))
    wanted, first = in_order_of_arrival(pairs)
    assert sorted(found.distinct.rows.tolist()) == first
    assert found.spread(found.distinct.rows.astype(np.int32)).tolist() == [first[number] for number in wanted]
    keys, checks = (whole[found.distinct.rows] for whole in hashes(pairs))
    assert found.distinct.keys.tolist() == keys.tolist()
    assert (found.distinct.checks >> np.uint64(32)).tolist() == (checks >> np.uint64(32)).tolist()


@pytest.mark.parametrize("many", [0, 1])
@pytest.mark.parametrize("dtype", [pl.String, pl.Int64])
def test_a_vocabulary_is_the_same_whatever_the_way(monkeypatch, many, dtype):
    ids = pl.Series((np.arange(3_000) * 7919 % 1_500 + (1 << 40)).tolist()).cast(dtype)
    wanted = sorted(set(ids.to_list()))
    monkeypatch.setattr(numbering, "ROWS_PER_PIECE", 100)
    monkeypatch.setattr(numbering, "ROWS_PER_BLOCK", 256)
    monkeypatch.setattr(numbering, "MANY", many)
    vocabulary, codes = Vocabulary.dense(ids)
    assert vocabulary.ids.to_list() == wanted
    assert vocabulary.decode(codes).to_list() == ids.to_list()
