"""Loops that lay tables out, held to twins made of Python lists and dicts."""

import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import _kernels, layout
from recassay.columnar.groups import GroupedRows
from recassay.columnar.layout import mark_repeated, offsets_without, row_groups, sorted_within
from recassay.columnar.recoding import Recoding
from recassay.columnar.vocabulary import Vocabulary

INT32 = np.iinfo(np.int32)
codes = st.integers(INT32.min, INT32.max) | st.integers(-3, 6)
numbers = st.sampled_from([-1.5, -0.0, 0.0, 0.25, 3.0, -np.inf]) | st.floats(-9, 9)
judged = st.tuples(codes, st.sampled_from([0.0, 1.0, 2.5]))
stretches = st.lists(st.lists(codes, max_size=9), max_size=5)
long_stretches = st.lists(st.lists(numbers, max_size=9) | st.lists(numbers, min_size=49, max_size=60), max_size=4)


def laid_out(lists, dtype):
    """Offsets and rows of a list of lists."""
    offsets = np.append(0, np.cumsum([len(one) for one in lists])).astype(np.int64)
    return offsets, np.array([value for one in lists for value in one], dtype)


@settings(deadline=None)
@given(stretches, st.data())
def test_repeats(lists, data):
    offsets, items = laid_out(lists, np.int32)
    wanted = [item in one[:place] for one in lists for place, item in enumerate(one)]
    assert mark_repeated(offsets, items).tolist() == wanted
    if lists:
        begin = data.draw(st.integers(0, len(lists) - 1))
        end = data.draw(st.integers(begin + 1, len(lists)))
        found = _kernels.mark_repeated_items(layout.readonly(offsets), layout.readonly(items), begin, end)
        assert found.tolist() == wanted[offsets[begin] : offsets[end]]


def test_repeats_in_a_list_longer_than_the_first_table():
    items = np.array([*range(500), 0, 499], np.int32)
    assert np.flatnonzero(mark_repeated(np.array([0, 502]), items)).tolist() == [500, 501]


@settings(deadline=None)
@given(long_stretches, st.booleans(), st.sampled_from([1, 40, layout.SORTED_PER_BLOCK]), st.sampled_from([3, 64]))
def test_sorted_within_is_a_stable_sort_of_each_stretch(lists, descending, per_block, alone):
    offsets, keys = laid_out(lists, np.float64)
    rows = layout.readonly(np.arange(keys.size))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(layout, "SORTED_PER_BLOCK", per_block)
        changed.setattr(layout, "SORTED_ALONE", alone)
        columns, tied = sorted_within(offsets, keys, [rows, keys], descending=descending)
    sign = -1 if descending else 1
    wanted = [
        row for first, last in pairwise(offsets) for row in sorted(range(first, last), key=lambda row: sign * keys[row])
    ]
    assert columns[0].tolist() == wanted
    assert columns[1].tolist() == keys[wanted].tolist()
    assert (columns[0] is rows) == (wanted == rows.tolist())
    ties = [place > first and keys[wanted[place]] == keys[wanted[place - 1]]
            for first, last in pairwise(offsets) for place in range(first, last)]  # fmt: skip
    assert (None if tied is None else tied.tolist()) == (ties if any(ties) else None)


@settings(deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=300), st.booleans())
def test_keys_that_differ_in_their_last_bits_are_sorted(steps, descending):
    keys = (np.float64(0.3).view(np.int64) + np.array(steps)).view(np.float64)  # the 40 neighbours of 0.3 on each side
    (found,), tied = sorted_within(np.array([0, keys.size]), keys, [np.arange(keys.size)], descending=descending)
    wanted = np.argsort(-keys if descending else keys, kind="stable")
    assert found.tolist() == wanted.tolist()
    assert (tied is None) == (np.unique(keys).size == keys.size)
    assert tied is None or tied.tolist() == [False, *(keys[wanted][1:] == keys[wanted][:-1])]


@settings(deadline=None)
@given(
    lists=st.lists(st.permutations(range(9)) | st.permutations(range(3)) | st.just(()), max_size=6),
    first=st.sampled_from([-3, 0, 1, 250]),
    kind=st.sampled_from([np.int8, np.uint32, np.int64, np.float64]),
    spoilt=st.none() | st.sampled_from([0.5, 1, 7, 1e9]),
)
def test_ranks_in_any_order_are_sorted(lists, first, kind, spoilt):
    """Whole numbers one after the other; and numbers of which one is another, so that they no longer are."""
    offsets, ranks = laid_out(lists, np.float64)
    keys = (np.abs(ranks + first) % 100 if kind is np.int8 else np.abs(ranks + first)).astype(kind)
    if spoilt is not None and keys.size:
        keys = keys.astype(np.float64)
        keys[keys.size // 2] = spoilt
    rows = np.arange(keys.size)
    (found,), tied = sorted_within(offsets, keys, [rows])
    wanted = [row for low, high in pairwise(offsets) for row in sorted(range(low, high), key=lambda row: keys[row])]
    assert found.tolist() == wanted
    equal = [place > low and keys[wanted[place]] == keys[wanted[place - 1]]
             for low, high in pairwise(offsets) for place in range(low, high)]  # fmt: skip
    assert (None if tied is None else tied.tolist()) == (equal if any(equal) else None)


@settings(deadline=None)
@given(st.lists(st.lists(judged, max_size=9) | st.lists(judged, min_size=49, max_size=60), max_size=4))
def test_sort_judged(lists):
    offsets, items = laid_out([[item for item, _ in one] for one in lists], np.int32)
    _, gains = laid_out([[gain for _, gain in one] for one in lists], np.float64)
    wanted = [pair for one in lists for pair in sorted(one, key=lambda pair: (-pair[1], pair[0]))]
    repeats = _kernels.sort_by_gain(layout.readonly(offsets), items, gains, 0, len(lists))
    assert list(zip(items.tolist(), gains.tolist(), strict=True)) == wanted
    placed = [sorted(one, key=lambda pair: (-pair[1], pair[0])) for one in lists]
    assert repeats == any(above[0] == below[0] for one in placed for above, below in pairwise(one))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-4, 4) | st.sampled_from([INT32.max, INT32.min + 1]), max_size=40), max_size=6))
def test_sort_items_of_equal_gain(lists):
    offsets, items = laid_out(lists, np.int32)
    repeats = _kernels.sort_by_gain(layout.readonly(offsets), items, np.empty(0), 0, len(lists))
    assert items.tolist() == [item for one in lists for item in sorted(one)]
    assert repeats == any(len(set(one)) < len(one) for one in lists)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc") | st.text(max_size=2), st.integers(0, 9))), st.booleans())
def test_grouped_gathers_rows_by_id_and_keeps_their_order(rows, sort):
    rows = sorted(rows, key=lambda row: row[0]) if sort else rows
    frame = pl.DataFrame(rows, {"user_id": pl.String, "item_id": pl.Int64}, orient="row")
    table = GroupedRows(frame, "user_id")
    users, offsets = table.users, table.offsets
    wanted = sorted({user for user, _ in rows}, key=lambda user: user.encode())
    assert users.to_list() == wanted
    for place, user in enumerate(wanted):
        assert table["item_id"][offsets[place] : offsets[place + 1]].to_list() == [
            item for one, item in rows if one == user
        ]
    assert row_groups(offsets).tolist() == [wanted.index(user) for user in table["user_id"]]


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=5))
def test_offsets_without(lists):
    offsets, dropped = laid_out(lists, np.bool_)
    kept = [[one for one in flags if not one] for flags in lists]
    assert offsets_without(offsets, dropped).tolist() == laid_out(kept, np.bool_)[0].tolist()


ids = (
    st.lists(st.integers(-5, 20), min_size=1)
    | st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1)
    | st.lists(st.integers(-(2**62), 2**62), min_size=1)
)


@settings(deadline=None)
@given(ids | st.lists(st.text(max_size=2), min_size=1), st.data())
def test_recoding_finds_ids_in_another_table(own, data):
    other = data.draw(st.lists(st.sampled_from(own), max_size=8)) + data.draw(
        st.lists(st.text(max_size=2) if isinstance(own[0], str) else st.integers(-(2**40), 2**40), max_size=4)
    )
    vocabulary, rows = Vocabulary.encode(pl.Series(own))
    table = pl.Series(other, dtype=pl.String if isinstance(own[0], str) else pl.Int64).unique().sort()
    where = {one: place for place, one in enumerate(table.to_list())}
    assert Recoding.between(vocabulary, table)(rows).tolist() == [where.get(one, -1) for one in own]


def test_recoding_of_ids_that_are_far_apart():
    vocabulary, rows = Vocabulary.encode(pl.Series([7, 10**9, -(10**9), 8]))
    table = pl.Series([-(2**40), -(10**9), 7, 10**9, 2**40])
    assert Recoding.between(vocabulary, table).table is None
    assert Recoding.between(vocabulary, table)(rows).tolist() == [2, 3, 1, -1]


@settings(deadline=None)
@given(st.lists(st.sampled_from(list('07a,+ ;\n"')), max_size=300), st.sampled_from(",; "), st.integers(0, 300))
def test_padded_numbers_are_found_in_either_part_of_a_text(letters, separator, middle):
    text = "".join(letters)
    begins = re.escape(separator) + '\n"'
    wanted = re.search(rf"[{begins}](0[0-9]|[+{'' if separator == ' ' else ' '}].)", text, re.DOTALL) is not None
    data = np.frombuffer(text.encode(), np.uint8)
    parts = (data[: middle + 1], data[max(middle - 1, 0) :])
    assert any(_kernels.has_padded(part, ord(separator)) for part in parts) == wanted
