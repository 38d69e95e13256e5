"""One pass over a block of score rows: what stands above every relevant item, and the top of the list.

Held to the readable twin in ``tests/property/test_standings.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
Scores = NDArray[np.floating]  # single or double precision, as the system gives them

FEW = 64  # up to this many levels the row is compared with each of them, many items at a time; beyond, item by item
STRIDE = 64  # items looked at together for one that could enter the list


@njit(nogil=True, cache=True)
def stand(
    scores: Scores, begin: int, seen_offsets: Int64, seen: Int32, offsets: Int64, relevant: Int32, ids: Int32,
    cells: Int64, rated_offsets: Int64, rated: Int32, weight: Int64, above: Int32, tied: Int32, mass_above: Int64,
    mass_tied: Int64, rated_above: Int32, rated_tied: Int32, tie_relevant: Int32, bottom: Bool, top: Int32,
    top_scores: Scores,
) -> None:  # fmt: skip
    """Counts for queries begin.., whose scores are the rows of ``scores`` (overwritten).

    Items are numbered by place in the row; ``ids`` are what they are otherwise called, and settle ties. The places of
    cell c are ``cells[c]:cells[c + 1]``. ``relevant`` is sorted in place: score descending, then id. ``above[pair, c]``
    counts items of cell c above the pair that are neither relevant nor seen; ``weight`` may be empty: no masses.
    ``rated_above`` and ``rated_tied`` count among the places of ``rated``. ``bottom`` is true where the score is minus
    infinity.
    """
    for row in range(scores.shape[0]):
        line, query = scores[row], begin + row
        first, last = offsets[query], offsets[query + 1]
        for place in range(seen_offsets[query], seen_offsets[query + 1]):
            line[seen[place]] = np.nan  # NaN is neither above anything nor level with it
        if top.shape[1]:
            best(line, ids, top[row], top_scores[row])
        if first == last:
            continue
        sort_by_score(line, ids, relevant, first, last)
        levels = np.empty(last - first, line.dtype)
        for pair in range(first, last):
            levels[pair - first] = line[relevant[pair]]
        for pair in range(first, last):
            line[relevant[pair]] = np.nan
        for cell in range(cells.size - 1):
            low, high = cells[cell], cells[cell + 1]
            if last - first <= FEW:
                for pair in range(first, last):
                    count_one(line, low, high, levels[pair - first], above[pair], tied[pair], cell)
            else:
                count_all(line, low, high, levels, above[first:last], tied[first:last], cell)
            for pair in range(first, last if weight.size else first):
                weigh(line, low, high, levels[pair - first], weight, mass_above[pair], mass_tied[pair], cell)
        for pair in range(first, last):
            level, same = levels[pair - first], 0
            for other in range(last - first):
                same += levels[other] == level
            tie_relevant[pair] = same - 1
            bottom[pair] = level == -np.inf
            over, with_it = 0, 0
            for other in range(rated_offsets[query], rated_offsets[query + 1]):
                over += line[rated[other]] > level
                with_it += line[rated[other]] == level
            rated_above[pair], rated_tied[pair] = over, with_it


@njit(nogil=True, cache=True)
def count_one(line: Scores, low: int, high: int, level: float, above: Int32, tied: Int32, cell: int) -> None:
    """Items above a level and level with it; 32-bit sums let eight items be compared at a time."""
    over, reaching = np.int32(0), np.int32(0)
    for place in range(low, high):
        over = np.int32(over + np.int32(line[place] > level))
        reaching = np.int32(reaching + np.int32(line[place] >= level))
    above[cell] = over
    tied[cell] = reaching - over


@njit(nogil=True, cache=True)
def count_all(line: Scores, low: int, high: int, levels: Scores, above: Int32, tied: Int32, cell: int) -> None:
    """As :func:`count_one` for many levels (descending): every item finds the first level that is not above it."""
    above[:, cell] = 0
    tied[:, cell] = 0
    for place in range(low, high):
        score = line[place]
        if not score >= levels[-1]:
            continue
        left, right = 0, levels.size - 1
        while left < right:
            middle = (left + right) // 2
            if levels[middle] > score:
                left = middle + 1
            else:
                right = middle
        if levels[left] == score:
            tied[left, cell] += 1
        else:
            above[left, cell] += 1
    for pair in range(1, levels.size):
        if levels[pair] == levels[pair - 1]:
            above[pair, cell], tied[pair, cell] = above[pair - 1, cell], tied[pair - 1, cell]
        else:
            above[pair, cell] += above[pair - 1, cell] + tied[pair - 1, cell]


@njit(nogil=True, cache=True)
def weigh(line: Scores, low: int, high: int, level: float, weight: Int64, above: Int64, tied: Int64, cell: int) -> None:
    """Weight of the items above a level and level with it."""
    over, with_it = 0, 0
    for place in range(low, high):
        over += weight[place] if line[place] > level else 0
        with_it += weight[place] if line[place] == level else 0
    above[cell] = over
    tied[cell] = with_it


@njit(nogil=True, cache=True)
def sort_by_score(line: Scores, ids: Int32, items: Int32, first: int, last: int) -> None:
    """Items first..last by score descending, equal scores by id (Shell's method)."""
    gap = 1
    while 3 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(first + gap, last):
            item, place = items[start], start
            score = line[item]
            while place >= first + gap:
                other = items[place - gap]
                if line[other] > score or (line[other] == score and ids[other] < ids[item]):
                    break
                items[place] = other
                place -= gap
            items[place] = item
        gap //= 3


@njit(nogil=True, cache=True)
def best(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """The places of the highest scores of a line, best first, equal scores by id; -1 is an empty place.

    NaN is no candidate, and minus infinity could not be scored.
    """
    size, k, last = 0, items.size, values.dtype.type(-np.inf)
    for begin in range(0, line.size, STRIDE):
        end = min(begin + STRIDE, line.size)
        hopeful = np.int32(0)
        for place in range(begin, end):
            hopeful = np.int32(hopeful + np.int32(line[place] >= last))
        for item in range(begin, end if hopeful else begin):
            score = line[item]
            if not (score >= last and score > -np.inf) or (
                size == k and score == last and ids[item] > ids[items[k - 1]]
            ):
                continue
            place = size if size < k else k - 1
            size = min(size + 1, k)
            while place > 0 and (
                values[place - 1] < score or (values[place - 1] == score and ids[items[place - 1]] > ids[item])
            ):
                values[place], items[place] = values[place - 1], items[place - 1]
                place -= 1
            values[place], items[place] = score, item
            if size == k:
                last = values[k - 1]
    for place in range(size, k):
        values[place], items[place] = -np.inf, -1
