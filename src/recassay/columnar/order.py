"""The order of rows within groups: positions of rows, and counts that reveal lists in reverse order."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import across_groups, compare_neighbours, ranges

Keys = NDArray[np.uint64]
SIGN = np.uint64(1 << 63)
MIN_LENGTH = 3  # items; shorter lists prove nothing


def positions_in_groups(groups: NDArray[np.int32], *keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position 0, 1, ... of each row within its group.

    Rows of a group are ordered by the last of ``keys``, then by the one before it, and so on; equal rows stay in row
    order.

    >>> positions_in_groups(np.array([0, 1, 0], np.int32), np.array([5, 9, 4])).tolist()
    [1, 0, 0]
    """
    found = np.empty(groups.size, np.int64)
    found[lexsort_groups(groups, keys)] = ranges(0, np.bincount(groups))
    return found


def lexsort_groups(groups: NDArray[np.int32], keys: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """Return the row order of ``np.lexsort((*keys, groups))``, computed faster.

    Rows are sorted by group and last key at once; only those that tie are sorted by the other keys.
    """
    if groups.size == 0 or not keys:
        return np.argsort(groups, kind="stable")
    key = ordered_keys(keys[-1])
    key -= key.min()
    room = 64 - max(1, int(groups.max()).bit_length())
    spare = np.uint64(max(0, int(key.max()).bit_length() - room))  # low bits of the key that do not fit
    packed = (groups.astype(np.uint64) << np.uint64(room)) | (key >> spare)
    order = np.argsort(packed)
    packed = packed[order]
    same = packed[1:] == packed[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if tied.size:
        run = np.append(0, np.cumsum(packed[tied][1:] != packed[tied][:-1])).astype(np.int32)
        in_row_order = np.argsort(order[tied])  # keeps the sort stable
        rows, run = order[tied][in_row_order], run[in_row_order]
        left = keys[:-1] if not spare else (*keys[:-1], key & ((np.uint64(1) << spare) - np.uint64(1)))
        order[tied] = rows[lexsort_groups(run, tuple(key[rows] for key in left))]
    return order


def ordered_keys(values: NDArray[Any]) -> Keys:
    """Return unsigned integers in the same order as the values.

    An integer depends on its value alone, so chunks of a column can be converted one by one.

    >>> bool((ordered_keys(np.array([-2, 5, 3]))[1:] == ordered_keys(np.array([5, 3]))).all())
    True
    """
    if values.dtype.kind == "f":
        bits: Keys = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
        flipped = (bits.view(np.int64) >> 63).view(np.uint64)  # all bits of a negative number, none of another
        flipped |= SIGN
        bits ^= flipped
        return bits
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ SIGN


def float_from_key(key: int) -> float:
    """Return the floating point number that :func:`ordered_keys` turned into this key.

    >>> [float_from_key(int(key)) for key in ordered_keys(np.array([-2.5, 0.0, 7.0]))]
    [-2.5, 0.0, 7.0]
    """
    bits = np.uint64(key)
    return float((bits ^ SIGN if bits & SIGN else ~bits).view(np.float64))


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
    first = np.sort(scores[int(offsets[long[0]]) : int(offsets[long[0] + 1])].to_numpy())
    return bool(first[0] in (0, 1) and (first == first[0] + np.arange(first.size)).all())


def count_rank_like_scores(offsets: NDArray[np.int64], given: pl.Series, ordered: pl.Series | None) -> OrderSigns:
    """Count the lists whose scores look like ranks (consecutive whole numbers), and those of them that ascend.

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
