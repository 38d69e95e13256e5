"""Counts that reveal lists in reverse order: scores that look like ranks, and ranks that contradict scores."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import across_groups, compare_neighbours, ranges

MIN_LENGTH = 3  # shorter lists prove nothing


@dataclass(frozen=True)
class OrderSigns:
    """Counts over the lists of a run that tell whether they may be in reverse order.

    Counts of different lists can be added. ``lists`` counts lists with three items or more. ``rank_like`` counts those
    whose scores are, in any order, consecutive whole numbers from 0 or 1, and ``ascending`` those whose scores are such
    numbers in row order. ``pairs`` counts adjacent items in lists ordered by rank. In ``contrary`` of these pairs,
    found in ``contrary_lists`` lists, the lower-ranked item has the higher score.

    >>> OrderSigns(2, 1) + OrderSigns(3, 3, 3)
    OrderSigns(lists=5, rank_like=4, ascending=3, pairs=0, contrary=0, contrary_lists=0)
    """

    lists: int = 0
    rank_like: int = 0
    ascending: int = 0
    pairs: int = 0
    contrary: int = 0
    contrary_lists: int = 0

    def __add__(self, other: OrderSigns) -> OrderSigns:
        return OrderSigns(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


def may_be_ranks(offsets: NDArray[np.int64], scores: pl.Series) -> bool:
    """Return whether the first list of three items or more has, in any order, consecutive numbers from 0 or 1.

    One list decides for nearly every run. ``offsets[q]:offsets[q + 1]`` are the rows of list q.

    >>> may_be_ranks(np.array([0, 3]), pl.Series([2.0, 3, 1])), may_be_ranks(np.array([0, 3]), pl.Series([2.0, 3, 9]))
    (True, False)
    """
    long = np.flatnonzero(np.diff(offsets) >= MIN_LENGTH)
    if not long.size:
        return False
    values = np.sort(scores[int(offsets[long[0]]) : int(offsets[long[0] + 1])].to_numpy())[::-1]
    return bool(_counts_down(values, values.size).all())


def count_rank_like_scores(offsets: NDArray[np.int64], given: pl.Series, ordered: pl.Series | None) -> OrderSigns:
    """Return how many lists have scores that look like ranks, and in how many of these the scores ascend.

    ``given`` are the scores in row order, ``ordered`` the same scores in descending order within each list; they are
    not read if :func:`may_be_ranks` is false. Lists of fewer than three items are not counted. No list is counted as
    rank-like if the first long one is not, or if all rows are already in descending order of score (``ordered`` is the
    same object as ``given``).

    >>> count_rank_like_scores(np.array([0, 3, 6]), pl.Series([1.0, 2, 3, 2, 0, 1]), pl.Series([3.0, 2, 1, 2, 1, 0]))
    OrderSigns(lists=2, rank_like=2, ascending=1, pairs=0, contrary=0, contrary_lists=0)
    """
    sizes = np.diff(offsets)
    long = sizes >= MIN_LENGTH
    lists = int(np.count_nonzero(long))
    if ordered is None or ordered is given or not may_be_ranks(offsets, given):
        return OrderSigns(lists)
    starts, values = offsets[:-1], ordered.to_numpy()
    lowest = values[offsets[1:] - 1]
    place = ranges(0, sizes)
    level = np.repeat(lowest, sizes)
    down = values == level + np.repeat(sizes, sizes) - 1 - place
    up = given.to_numpy() == level + place
    rank_like = np.logical_and.reduceat(down, starts) & long & ((lowest == 0) | (lowest == 1))
    return OrderSigns(lists, int(rank_like.sum()), int((rank_like & np.logical_and.reduceat(up, starts)).sum()))


def count_contrary_scores(offsets: NDArray[np.int64], scores: pl.Series) -> OrderSigns:
    """Return counts of adjacent items in lists ordered by rank, and of those whose scores have the opposite order.

    ``pairs`` are all adjacent items, ``contrary`` those where the lower-ranked item has the higher score, and
    ``contrary_lists`` the lists with such items.

    >>> count_contrary_scores(np.array([0, 3, 5]), pl.Series([0.9, 0.5, 0.7, 0.1, 0.1]))
    OrderSigns(lists=0, rank_like=0, ascending=0, pairs=3, contrary=1, contrary_lists=1)
    """
    rises = compare_neighbours(scores, np.greater)
    rises[across_groups(offsets, rises.size)] = False
    contrary = int(np.count_nonzero(rises))
    pairs = scores.len() - (offsets.size - 1)
    if not contrary:
        return OrderSigns(pairs=pairs)
    lists = np.unique(np.searchsorted(offsets, 1 + np.flatnonzero(rises), side="right")).size
    return OrderSigns(pairs=pairs, contrary=contrary, contrary_lists=lists)


def _counts_down(values: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Return a mask of the scores of a list that fit a count down, in steps of one, to a last score of 0 or 1.

    ``size`` is the number of ``values``.
    """
    lowest = values[-1] if values[-1] in (0, 1) else np.nan
    return np.asarray(values == lowest + np.arange(size - 1, -1, -1))
