"""Loops over marks, held to twins that rank whole lists; tied marks, to the mean over every order of tied items."""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar.layout import readonly
from recassay.metrics import _kernels

# A place of a list: None (not judged) or a grade; a list is a sequence of groups of places that tie.
places = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, -1.0]))
strict_lists = st.lists(st.tuples(places), max_size=8)
tied_lists = st.lists(st.lists(places, min_size=1, max_size=3).map(tuple), max_size=4).filter(
    lambda groups: sum(map(len, groups)) <= 7
)


@dataclass
class Marks:
    """The arrays kernels take for some lists."""

    start: np.ndarray
    first: np.ndarray
    last: np.ndarray
    grade: np.ndarray

    @property
    def relevant(self):
        return self.grade >= 1


def marks_of(queries):
    start, first, last, grade = [0], [], [], []
    for groups in queries:
        top = 1
        for group in groups:
            for place in group:
                if place is not None:
                    first.append(top)
                    last.append(top + len(group) - 1)
                    grade.append(place)
            top += len(group)
        start.append(len(first))
    return Marks(np.array(start), np.array(first, np.int32), np.array(last, np.int32), np.array(grade, np.float64))


def expected(groups, value):
    """Mean of a value over all orders of the places that tie."""
    orders = [sum(order, ()) for order in product(*(list(permutations(group)) for group in groups))]
    return sum(value(order) for order in orders) / len(orders)


def is_relevant(place):
    return place is not None and place >= 1


blocks = st.lists(tied_lists, min_size=1, max_size=4)
strict_blocks = st.lists(strict_lists, min_size=1, max_size=4)
cutoffs = st.integers(1, 9)


def longest(queries):
    return max((sum(map(len, groups)) for groups in queries), default=0) or 1


@settings(deadline=None)
@given(blocks, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_ordered_pairs(queries, hidden_negatives, hidden_relevant, all_places):
    """Pairs in the right order, by comparing every relevant item with every negative one."""
    marks, out = marks_of(queries), np.empty(len(queries))
    counted = np.zeros(0, np.bool_) if all_places else marks.grade == 0

    def is_negative(place):
        return not is_relevant(place) if all_places else place == 0

    shown = np.array([sum(is_negative(p) for group in groups for p in group) for groups in queries])
    found = np.array([sum(is_relevant(p) for group in groups for p in group) for groups in queries])
    _kernels.ordered_pairs(
        marks.start, marks.first, marks.last, marks.relevant, counted,
        shown + hidden_negatives, shown, found + hidden_relevant, out,
    )  # fmt: skip
    for query, groups in enumerate(queries):
        ranked = [(-depth, place) for depth, group in enumerate(groups) for place in group]
        end = -len(groups)  # what is not listed ties behind the list
        good = [depth for depth, place in ranked if is_relevant(place)] + [end] * hidden_relevant
        bad = [depth for depth, place in ranked if is_negative(place)] + [end] * hidden_negatives
        assert out[query] == pytest.approx(sum((g > b) + 0.5 * (g == b) for g in good for b in bad))


codes = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 40)


@settings(deadline=None)
@given(
    st.lists(st.lists(codes, max_size=12), min_size=1, max_size=4),
    st.lists(st.lists(codes, unique=True, max_size=40), min_size=1, max_size=4),
    st.sampled_from([1, 4, 100]),
    st.data(),
)
def test_find_marks(lists, judged, depth, data):
    match = np.array([data.draw(st.integers(-1, len(lists) - 1)) for _ in judged])
    for query, items in enumerate(judged):  # make them meet
        if match[query] >= 0:
            items.extend(item for item in dict.fromkeys(lists[match[query]][::2]) if item not in items)
    offsets = np.append(0, np.cumsum([len(items) for items in lists]))
    truth_offsets = np.append(0, np.cumsum([len(items) for items in judged]))
    items = np.array([item for one in lists for item in one], np.int32)
    truth_items = np.array([item for one in judged for item in one], np.int32)
    begin = data.draw(st.integers(0, len(judged) - 1))
    end = data.draw(st.integers(begin + 1, len(judged)))
    start, capacity = np.empty(end - begin + 1, np.int64), 12 * len(judged)
    rank, found = np.empty(capacity, np.int32), np.empty(capacity, np.int64)
    read = map(readonly, (offsets, items, match, truth_offsets, truth_items))
    count = _kernels.find_marks(*read, begin, end, depth, start, rank, found)
    wanted_start, wanted = [0], []
    for query in range(begin, end):
        shown = lists[match[query]][:depth] if match[query] >= 0 else []
        wanted += [
            (place, truth_offsets[query] + judged[query].index(item))
            for place, item in enumerate(shown, 1)
            if item in judged[query]
        ]
        wanted_start.append(len(wanted))
    assert start.tolist() == wanted_start
    assert list(zip(rank[:count].tolist(), found[:count].tolist(), strict=True)) == wanted


METRICS = [
    "precision@{k}",
    "recall@{k}",
    "hit@{k}",
    "hit(form='count')@{k}",
    "mrr@{k}",
    "mrr",
    "map@{k}",
    "map(divide_by='reachable')@{k}",
    "ndcg@{k}",
    "ndcg(gain='exp2', discount='jk')@{k}",
    "rprec",
    "rbp@{k}",
    "rbp_residual",
    "f1@{k}",
    "mean_precision@{k}",
    "auc(targets=12)",
    "auc(negatives='judged')",
]
