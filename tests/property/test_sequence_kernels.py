"""Loops over generated sequences beside readable twins: lists of items, dictionaries, and sums written out."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.columnar.layout import readonly
from recassay.metrics.sequence import accuracy, base, similarity

ITEMS = 6
A_LIST = st.lists(st.integers(0, ITEMS - 1), max_size=5)
A_SEQUENCE = st.lists(st.integers(0, ITEMS - 1), min_size=2, max_size=8)
BOTH = st.lists(st.tuples(A_LIST, A_SEQUENCE), min_size=1, max_size=4)


def table(lists, k=5):
    """Lists as rows, -1 where one has ended."""
    items = np.full((len(lists), k), -1, np.int32)
    for row, one in zip(items, lists, strict=True):
        row[: len(one)] = one
    return readonly(items)


def laid(sequences):
    """Sequences as offsets and items."""
    offsets = np.append(0, np.cumsum([len(one) for one in sequences]))
    return readonly(offsets), readonly(np.array([*itertools.chain(*sequences)], np.int32))


def matched(lists, sequences):
    items = table(lists)
    found = np.empty(items.shape, np.bool_), np.empty(items.shape, np.int32), np.empty(items.shape, np.int32)
    base.match(items, *laid(sequences), *found)
    return items, *found


@given(BOTH)
def test_hits_are_the_multiset_intersection_with_every_beginning_of_a_list(both):
    _, hits, times, places = matched(*zip(*both, strict=True))
    for row, (one, (_, *reference)) in enumerate(both):
        for j in range(5):
            assert hits[row, : j + 1].sum() == (Counter(one[: j + 1]) & Counter(reference)).total()
            item = one[j] if j < len(one) else None
            assert times[row, j] == reference.count(item)
            assert places[row, j] == (reference.index(item) if item in reference else -1)


def penalty(x, y, reference, agree):
    if reference.count(x) != 1 or reference.count(y) != 1:
        return 0.5
    if x == y:
        return 0.0 if agree else 0.5
    return float(reference.index(y) < reference.index(x))


@given(BOTH, st.booleans(), st.integers(1, 5))
def test_disorder(both, agree, k):
    items, _, times, places = matched(*zip(*both, strict=True))
    out = np.empty((len(both), k))
    accuracy.disorder(items, readonly(times), readonly(places), agree, out)
    for row, (one, (_, *reference)) in enumerate(both):
        for j in range(k):
            wanted = sum(penalty(x, one[j], reference, agree) for x in one[:j]) if j < len(one) else 0
            assert out[row, j] == wanted


@given(BOTH, st.integers(1, 5))
def test_discordance(both, k):
    _, _, _, places = matched(*zip(*both, strict=True))
    out = np.empty(len(both))
    accuracy.discordance(readonly(places), k, out)
    for row, (one, (_, *reference)) in enumerate(both):
        common = [item for item in dict.fromkeys(one[:k]) if item in reference]
        pairs = [reference.index(y) < reference.index(x) for x, y in itertools.combinations(common, 2)]
        assert out[row] == pytest.approx(np.mean(pairs) if pairs else math.nan, nan_ok=True)


def longest(one, other):
    """The length of the longest common subsequence, as it is defined."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest(one[1:], other[1:])
    return max(longest(one[1:], other), longest(one, other[1:]))


@given(BOTH, st.integers(1, 5))
def test_common_subsequence(both, k):
    lists, sequences = zip(*both, strict=True)
    out = np.empty(len(both), np.int64)
    accuracy.common_subsequence(table(lists), *laid(sequences), k, out)
    assert out.tolist() == [longest(one[:k], reference) for one, (_, *reference) in both]


def vectors(sequences):
    """How often each item occurs in each sequence (items, sequences)."""
    return np.array([[one.count(item) for one in sequences] for item in range(ITEMS)])


@given(st.lists(A_SEQUENCE, min_size=1, max_size=6), st.data())
def test_products_of_count_vectors(sequences, data):
    offsets, items = laid(sequences)
    counts = np.bincount(items, minlength=ITEMS)
    starts, numbers, squares = similarity.occurrences(offsets, items, readonly(counts))
    assert [numbers[starts[i] : starts[i + 1]].tolist() for i in range(ITEMS)] == [
        [s for s, one in enumerate(sequences) for item in one if item == i] for i in range(ITEMS)
    ]
    wanted = vectors(sequences) @ vectors(sequences).T
    assert squares.tolist() == wanted.diagonal().tolist()
    owners = np.array(data.draw(st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=4)), np.int64)
    others = st.lists(st.integers(0, ITEMS - 1), unique=True, min_size=1)
    partners = [data.draw(others) for _ in owners]
    bounds = np.append(0, np.cumsum([len(one) for one in partners])).astype(np.int64)
    flat = np.array([*itertools.chain(*partners)], np.int64)
    out = np.empty(flat.size, np.int64)
    arguments = map(readonly, (owners, bounds, flat, starts, numbers, offsets, items))
    similarity.shared_sequences(*arguments, out)
    assert out.tolist() == [wanted[owner, p] for owner, own in zip(owners, partners, strict=True) for p in own]


def noted(items, k, known, size=2):
    keys, values, count = np.full(size, -1, np.int64), np.empty(size), 0
    return similarity.note_pairs(items, k, readonly(known), keys, values, count)


@given(st.lists(A_LIST, min_size=1, max_size=6), st.integers(1, 5), st.lists(st.booleans(), min_size=6, max_size=6))
def test_pairs_of_known_items_are_noted_once(lists, k, known):
    keys, values, count = noted(table(lists), k, np.array(known))
    pairs = {
        (min(x, y), max(x, y))
        for one in lists
        for x, y in itertools.combinations(one[:k], 2)
        if x != y and known[x] and known[y]
    }
    assert sorted(divmod(key, ITEMS) for key in keys[keys >= 0].tolist()) == sorted(pairs)
    assert count == len(pairs)
    assert np.isnan(values[keys >= 0]).all()
    assert keys.size >= 2 * (count - 1)


def test_a_table_of_pairs_grows_and_keeps_its_values():
    lists = [[i, i + 1] for i in range(500)]
    known = np.ones(501, np.bool_)
    keys, values, count = noted(table(lists[:100], 2), 2, known)
    values[keys >= 0] = keys[keys >= 0] / 7
    keys, values, count = similarity.note_pairs(table(lists, 2), 2, readonly(known), keys, values, count)
    assert count == 500
    old = (keys >= 0) & (keys < 100 * 501)
    assert old.sum() == 100
    assert (values[old] == keys[old] / 7).all()
    assert np.isnan(values[(keys >= 0) & ~old]).all()


@given(st.lists(A_LIST, min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 5))
def test_distances(lists, k, unknown):
    like = np.random.default_rng(1).uniform(-1, 1, (ITEMS, ITEMS))
    like = (like + like.T) / 2
    known = np.arange(ITEMS) != unknown
    like[~known] = like[:, ~known] = 0.0
    keys, values, _ = noted(table(lists), k, known)
    low, high = np.divmod(keys, ITEMS)
    values[keys >= 0] = like[low, high][keys >= 0]
    out = np.empty((len(lists), k))
    own = np.ascontiguousarray(like.diagonal())
    similarity.distances(table(lists), readonly(own), readonly(keys), readonly(values), out)
    for row, one in enumerate(lists):
        wanted = [sum(1 - like[x, one[j]] for x in one[:j]) if j < len(one) else 0 for j in range(k)]
        assert out[row] == pytest.approx(wanted)
