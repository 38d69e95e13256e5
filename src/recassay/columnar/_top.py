"""The k highest scores of a row, in order: for whole score tables and for one row at a time.

Tested against sorting in ``tests/property/test_top.py``, and as a part of others in ``test_standings.py`` and
``test_streams.py`` there.
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
LANES = 64  # groups whose highest scores are found side by side
GROUPS, FEWEST = 10, 256  # groups for each place in the list, and in all, if the row is long enough
DEEPEST = 64  # positions in a group, at most
SAMPLE = 64  # scores from which the first interval for a bar is taken
HALVINGS = 20  # of that interval, at most
FEW_TO_RANK = 1024  # more pairs than this are sorted; of fewer, each is compared with all others
MANY_TIED = 32  # equal scores for which sorting is faster


@njit(nogil=True, cache=True)
def top_k(line: Scores, ids: Int32, items: Int32, values: Scores) -> None:
    """Write the positions and scores of the k highest scores of a row to ``items`` and ``values``, best first.

    k is the size of ``items``. ``line`` are the scores of the row. Equal scores are in ascending order of ``ids``,
    which has a number per position. Unused entries get the position -1 and the score minus infinity. NaN is never
    listed, nor is minus infinity, which marks items that cannot be scored.

    The row is read once for the highest score of each small group. Only groups whose highest score is among the best
    are read again.
    """
    k = items.size
    items[:] = -1
    values[:] = -np.inf
    if k == 0:
        return
    depth = min(max(line.size // max(GROUPS * k, FEWEST), 1), DEEPEST)
    highest = group_maxima(line, depth)
    places, scores = np.empty(k + SPARE, np.int32), np.empty(k + SPARE + LANES, line.dtype)
    size = collect_best(line, ids, highest, depth, k, places, scores)
    scores[size : size + LANES] = -np.inf
    if size <= FEW_TO_RANK and rank_pairs(places[:size], scores, ids, items, values):
        return
    sort_pairs(places, scores, ids, size)
    for place in range(min(k, size)):
        items[place], values[place] = places[place], scores[place]


@njit(nogil=True, cache=True)
def group_maxima(line: Scores, depth: int) -> Scores:
    """Return the highest score of each group of ``depth`` positions of ``line``, minus infinity if all are NaN.

    The row is cut into ranges of ``depth * LANES`` positions; group g of a range has every LANES-th position from g.
    The positions behind the last whole range are in no group.
    """
    highest = np.full(line.size // (LANES * depth) * LANES, -np.inf, line.dtype)
    for begin in range(0, highest.size, LANES):
        best = highest[begin : begin + LANES]
        for start in range(begin * depth, (begin + LANES) * depth, LANES):
            block = line[start : start + LANES]
            for lane in range(LANES):
                best[lane] = block[lane] if block[lane] > best[lane] else best[lane]
    return highest


@njit(nogil=True, cache=True)
def count_reaching(scores: Scores, bar: Score) -> int:
    """Return how many of ``scores`` are ``bar`` or higher."""
    reaching = np.int32(0)
    for place in range(scores.size):
        reaching = np.int32(reaching + np.int32(scores[place] >= bar))
    return int(reaching)


@njit(nogil=True, cache=True)
def score_reached_by(scores: Scores, k: int) -> Score:
    """Return a lower bound of the k-th highest of ``scores``: at least ``k`` of them are as high or higher.

    Usually hardly more than ``k`` are; the bound is minus infinity if no better one exists or there are fewer than
    ``k`` scores. ``scores`` has no NaN. The bound is found by bisection, first between the lowest and highest score of
    a sample: counting the scores above the middle needs no branches, unlike a selection.
    """
    lowest = scores.dtype.type(-np.inf)
    if scores.size < k:
        return lowest
    low, high = scores[0], scores[0]
    for place in range(0, scores.size, scores.size // SAMPLE + 1):
        low, high = min(low, scores[place]), max(high, scores[place])
    reaching = count_reaching(scores, low)
    if reaching < k or low == -np.inf:
        low = high
        for score in scores:
            low = min(low, score) if score > -np.inf else low
        reaching = count_reaching(scores, low)
    for _ in range(HALVINGS):
        middle = low * scores.dtype.type(0.5) + high * scores.dtype.type(0.5)
        if reaching <= k + k // 8 or not low < middle < high:
            break
        more = count_reaching(scores, middle)
        if more >= k:
            low, reaching = middle, more
        else:
            high = middle
    return low if reaching >= k else lowest


@njit(nogil=True, cache=True)
def collect_best(line: Scores, ids: Int32, highest: Scores, depth: int, k: int, places: Int32, scores: Scores) -> int:
    """Write the best scores of a row and their positions to ``scores`` and ``places``, in any order.

    Return their number: at least k, unless fewer are above minus infinity. ``line`` are the scores of the row, and
    ``highest`` those of its groups of ``depth`` positions (as in :func:`group_maxima`). Of equal scores the lower entry
    in ``ids`` wins. ``scores`` and ``places`` are a buffer for more than k entries, to which scores are appended. When
    it is full, the best k stay, and the score and id of the k-th become the new bar.
    """
    bar, bar_id, size, n_groups = score_reached_by(highest, k), np.int32(2**31 - 1), 0, 0
    if bar == -np.inf:
        bar_id = np.int32(-1)
    groups = np.empty(highest.size + 1, np.int32)
    for group in range(highest.size):
        groups[n_groups] = group
        n_groups += highest[group] >= bar
    rest = highest.size * depth
    for number in range(n_groups + (line.size - rest + LANES - 1) // LANES):
        if number < n_groups:
            group = groups[number]
            begin, step = group // LANES * LANES * depth + group % LANES, LANES
            end = begin + depth * LANES
        else:
            begin, step = rest + (number - n_groups) * LANES, 1
            end = min(begin + LANES, line.size)
        place = begin
        while place < end:
            score = line[place]
            places[size], scores[size] = place, score
            size += score > bar or (score == bar and ids[place] < bar_id)
            place += step
        if size > k + SPARE - LANES - 1:
            select_best(places, scores, ids, size, k)
            worst = find_worst(places, scores, ids, k)
            size, bar, bar_id = k, scores[worst], ids[places[worst]]
    return size


@njit(nogil=True, cache=True)
def find_worst(places: Int32, scores: Scores, ids: Int32, size: int) -> int:
    """Return the index of the lowest of the first ``size`` ``scores``; of equal ones, that of the highest id.

    The id of entry i is ``ids[places[i]]``.
    """
    worst = 0
    for pair in range(1, size):
        low, score = scores[worst], scores[pair]
        if score < low or (score == low and ids[places[pair]] > ids[places[worst]]):
            worst = pair
    return worst


@njit(nogil=True, cache=True)
def rank_pairs(places: Int32, scores: Scores, ids: Int32, items: Int32, values: Scores) -> bool:
    """Write the best pairs of a position and a score to ``items`` and ``values``, best first, as many as fit.

    Return whether that is done; it is not if many scores tie. ``items`` are -1 at first. Equal scores are ordered by
    ``ids[place]``. ``scores`` has LANES entries of minus infinity behind those of ``places``. A pair's number in the
    list is the number of scores above its own: to count them takes no branches, unlike sorting.
    """
    for pair in range(places.size):
        place, score, above = places[pair], scores[pair], np.int32(0)
        for other in range((places.size + LANES - 1) // LANES * LANES):  # a loop without a remainder is faster
            above = np.int32(above + np.int32(scores[other] > score))
        spot = int(above)
        while spot < items.size and items[spot] >= 0:  # tied with pairs that are there: those of higher ids move on
            if ids[items[spot]] > ids[place]:
                items[spot], place = place, items[spot]
            spot += 1
            if spot > above + MANY_TIED:
                return False
        if spot < items.size:
            items[spot], values[spot] = place, score
    return True


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
