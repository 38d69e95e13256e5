"""The k highest scores of a row, in order: for whole score tables and for one row at a time.

Tested against readable reference versions in ``tests/property/test_standings.py`` and
``tests/property/test_streams.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Score = Any  # one element of Scores
Scores = NDArray[np.floating]  # single or double precision, whichever the system returns

SPARE = 256  # buffer places beyond k for candidates; when the buffer is full, the best k are kept
STRIDE = 64  # items tested together for one that reaches the threshold
SHORT = 32  # lists up to this length are kept sorted while the row is read, in blocks of this many items
LANES = 128  # width of the strided maxima from which a threshold is taken


@njit(nogil=True, cache=True)
def top_k(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """Write the positions and scores of the k highest scores of a row to ``items`` and ``values``, best first.

    k is the size of ``items``. ``line`` are the scores of the row. Equal scores are in ascending order of ``ids``,
    which has a number per position. Unused places get the position -1 and the score minus infinity. NaN is never
    listed, nor is minus infinity, which marks items that cannot be scored. A threshold estimated from a sample skips
    most items. If fewer than k scores reach it, the row is read again without a threshold.
    """
    k = items.size
    if k <= SHORT:
        top_few(line, ids, items, values)
        return
    places, scores = np.empty(k + SPARE, np.int32), np.empty(k + SPARE, line.dtype)
    size = collect_best(line, ids, estimate_threshold(line, ids, k, places, scores), k, places, scores)
    if size < k:
        size = collect_best(line, ids, line.dtype.type(-np.inf), k, places, scores)
    sort_pairs(places, scores, ids, size)
    for place in range(k):
        items[place] = places[place] if place < size else -1
        values[place] = scores[place] if place < size else -np.inf


@njit(nogil=True, cache=True)
def top_few(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """Write the positions and scores of the k highest scores of a row to ``items`` and ``values``, best first.

    They are those of :func:`top_k`. The list is kept sorted while the row is read, which is faster for small k.
    ``line`` are the scores of the row, and ``ids`` order equal scores.
    """
    k, size, bar = items.size, 0, score_reached_by(line, items.size)
    items[:] = -1
    values[:] = -np.inf
    for begin in range(0, line.size, SHORT):
        block = line[begin : begin + SHORT]
        candidates = np.int32(0)
        for place in range(block.size):
            candidates = np.int32(candidates + np.int32(block[place] >= bar))
        for place in range(begin, begin + block.size if candidates else begin):
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
def score_reached_by(line: Scores, k: int) -> Score:
    """Return a score that at least ``k`` scores of the row ``line`` reach; minus infinity if none is found.

    The scores are dealt in turn to :data:`LANES` groups, without the last incomplete round. The result is the k-th
    highest of the groups' maxima.
    """
    low = line.dtype.type(-np.inf)
    highest = np.full(LANES, low, line.dtype)
    for number in range(line.size // LANES):
        block = line[number * LANES : (number + 1) * LANES]
        for lane in range(LANES):
            highest[lane] = np.fmax(highest[lane], block[lane])  # fmax skips NaN
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
def estimate_threshold(line: Scores, ids: Int32, k: int, places: Int32, scores: Scores) -> Score:
    """Return a score that probably more than ``k`` scores reach, estimated from a sample of the row ``line``.

    It is minus infinity if the row is too short for a sample. ``ids`` has a number per position, which orders
    equal scores; ``places`` and ``scores`` are scratch space.
    """
    step = line.size // SPARE
    wanted = k / max(step, 1)
    rank = int(wanted + 3 * np.sqrt(wanted) + 3)
    if rank > SPARE // 2:
        return line.dtype.type(-np.inf)
    for place in range(SPARE):
        score = line[place * step]
        places[place] = place * step
        scores[place] = score if score > -np.inf else line.dtype.type(-np.inf)
    select_best(places, scores, ids, SPARE, rank)
    return scores[:rank].min()


@njit(nogil=True, cache=True)
def collect_best(line: Scores, ids: Int32, bar: Score, k: int, places: Int32, scores: Scores) -> int:
    """Write the best scores of at least ``bar``, at most k, and their positions to ``scores`` and ``places``.

    Return their number. They come in any order. ``line`` are the scores of the row; of equal scores the lower entry in
    ``ids`` wins. ``scores`` and ``places`` are a buffer for more than k entries, to which scores are appended without a
    branch. When the buffer is full, the best k stay and the k-th becomes the new bar.
    """
    size, begin, floor = 0, 0, line.dtype.type(-np.inf)
    while begin < line.size:
        end = min(begin + STRIDE, line.size)
        candidates = np.int32(0)
        for place in range(begin, end):
            candidates = np.int32(candidates + np.int32(line[place] >= bar))
        for place in range(begin, end if candidates else begin):
            score = line[place]
            places[size], scores[size] = place, score
            size += (score >= bar) & (score > floor)
        begin = end
        if size > k + SPARE - STRIDE - 1:
            select_best(places, scores, ids, size, k)
            size, bar = k, scores[:k].min()
    if size > k:
        select_best(places, scores, ids, size, k)
    return min(size, k)


@njit(nogil=True, cache=True)
def select_best(places: Int32, scores: Scores, ids: Int32, size: int, k: int) -> None:
    """Move the k best of the first ``size`` pairs of a position and a score to the front, in any order.

    The pairs are in ``places`` and ``scores``; equal scores are ordered by ``ids[place]``. This is Hoare's selection.
    """
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
    """Sort the first ``size`` pairs of a position and a score by descending score, in place (Shell sort).

    The pairs are in ``places`` and ``scores``; equal scores are ordered by ``ids[place]``.
    """
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
