"""The k best of a row of scores, in order: for whole tables of scores and for one row at a time.

Held to the readable twins in ``tests/property/test_standings.py`` and ``tests/property/test_streams.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Score = Any  # one of them
Scores = NDArray[np.floating]  # single or double precision, as the system gives them

SPARE = 256  # places beside the best k for items that may enter them; they are settled when the places are full
STRIDE = 64  # items looked at together for one that could be among the best
SHORT = 32  # lists up to this length are kept in order while the row is read; and so many items are looked at together
LANES = 128  # items compared side by side with those before them


@njit(nogil=True, cache=True)
def best(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """The places of the highest scores of a line, best first, equal scores by id; -1 is an empty place.

    NaN is no candidate, and minus infinity could not be scored. A sample tells which scores have a chance; if too few
    do, all have one.
    """
    k = items.size
    if k <= SHORT:
        best_few(line, ids, items, values)
        return
    places, scores = np.empty(k + SPARE, np.int32), np.empty(k + SPARE, line.dtype)
    size = gather(line, ids, likely(line, ids, k, places, scores), k, places, scores)
    if size < k:
        size = gather(line, ids, line.dtype.type(-np.inf), k, places, scores)
    sort_pairs(places, scores, ids, size)
    for place in range(k):
        items[place] = places[place] if place < size else -1
        values[place] = scores[place] if place < size else -np.inf


@njit(nogil=True, cache=True)
def best_few(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """As :func:`best`, for short lists, which are kept in order while the items that may be in them are read."""
    k, size, bar = items.size, 0, reached(line, items.size)
    items[:] = -1
    values[:] = -np.inf
    for begin in range(0, line.size, SHORT):
        stretch = line[begin : begin + SHORT]
        hopeful = np.int32(0)
        for place in range(stretch.size):
            hopeful = np.int32(hopeful + np.int32(stretch[place] >= bar))
        for place in range(begin, begin + stretch.size if hopeful else begin):
            score = line[place]
            if not (score >= bar and score > -np.inf):
                continue
            if size == k and (values[-1] > score or (values[-1] == score and ids[items[-1]] < ids[place])):
                continue
            spot = min(size, k - 1)
            while spot > 0 and (
                values[spot - 1] < score or (values[spot - 1] == score and ids[items[spot - 1]] > ids[place])
            ):
                items[spot], values[spot] = items[spot - 1], values[spot - 1]
                spot -= 1
            items[spot], values[spot] = place, score
            size = min(size + 1, k)


@njit(nogil=True, cache=True)
def reached(line: Scores, k: int) -> Score:
    """A score that k items reach at least: the k-th highest among the best of every so many-th item of the line."""
    low = line.dtype.type(-np.inf)
    highest = np.full(LANES, low, line.dtype)
    for number in range(line.size // LANES):
        stretch = line[number * LANES : (number + 1) * LANES]
        for lane in range(LANES):
            highest[lane] = np.fmax(highest[lane], stretch[lane])  # NaN is no candidate
    top = np.full(k, low, line.dtype)
    for lane in range(LANES):
        score, spot = highest[lane], k - 1
        if score > top[spot]:
            while spot > 0 and top[spot - 1] < score:
                top[spot] = top[spot - 1]
                spot -= 1
            top[spot] = score
    return top[k - 1]


@njit(nogil=True, cache=True)
def likely(line: Scores, ids: Int32, k: int, places: Int32, scores: Scores) -> Score:
    """A score that more than k items reach, going by some of them; minus infinity for a line too short to guess."""
    step = line.size // SPARE
    wanted = k / max(step, 1)
    rank = int(wanted + 3 * np.sqrt(wanted) + 3)
    if rank > SPARE // 2:
        return line.dtype.type(-np.inf)
    for place in range(SPARE):
        score = line[place * step]
        places[place] = place * step
        scores[place] = score if score > -np.inf else line.dtype.type(-np.inf)
    keep(places, scores, ids, SPARE, rank)
    return scores[:rank].min()


@njit(nogil=True, cache=True)
def gather(line: Scores, ids: Int32, bar: Score, k: int, places: Int32, scores: Scores) -> int:
    """The k best of the scores that reach a bar, in any order; how many there are.

    Candidates are set aside without a branch. When the room is full the best k stay, and the k-th is the new bar.
    """
    size, begin, floor = 0, 0, line.dtype.type(-np.inf)
    while begin < line.size:
        end = min(begin + STRIDE, line.size)
        hopeful = np.int32(0)
        for place in range(begin, end):
            hopeful = np.int32(hopeful + np.int32(line[place] >= bar))
        for place in range(begin, end if hopeful else begin):
            score = line[place]
            places[size], scores[size] = place, score
            size += (score >= bar) & (score > floor)
        begin = end
        if size > k + SPARE - STRIDE - 1:
            keep(places, scores, ids, size, k)
            size, bar = k, scores[:k].min()
    if size > k:
        keep(places, scores, ids, size, k)
    return min(size, k)


@njit(nogil=True, cache=True)
def keep(places: Int32, scores: Scores, ids: Int32, size: int, k: int) -> None:
    """Bring the k best of the first ``size`` to the front, in any order (Hoare's selection)."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        pivot, pivot_id = scores[middle], ids[places[middle]]
        left, right = low, high
        while left <= right:
            while scores[left] > pivot or (scores[left] == pivot and ids[places[left]] < pivot_id):
                left += 1
            while scores[right] < pivot or (scores[right] == pivot and ids[places[right]] > pivot_id):
                right -= 1
            if left <= right:
                scores[left], scores[right] = scores[right], scores[left]
                places[left], places[right] = places[right], places[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            return


@njit(nogil=True, cache=True)
def sort_pairs(places: Int32, scores: Scores, ids: Int32, size: int) -> None:
    """Score descending, equal scores by id (Shell's method)."""
    gap = 1
    while 3 * gap < size:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(gap, size):
            score, item, place = scores[start], places[start], start
            while place >= gap:
                other = scores[place - gap]
                if other > score or (other == score and ids[places[place - gap]] < ids[item]):
                    break
                scores[place], places[place] = other, places[place - gap]
                place -= gap
            scores[place], places[place] = score, item
        gap //= 3
