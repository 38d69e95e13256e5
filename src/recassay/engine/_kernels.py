"""One pass over a block of score rows: standings of the relevant items, and the top of the list.

Held to the readable twin in ``tests/property/test_standings.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Float32 = NDArray[np.float32]


@njit(nogil=True, cache=True)
def stand(
    scores: Float32, begin: int, seen_offsets: Int64, seen: Int32, offsets: Int64, relevant: Int32,
    group: Int16, slots: Int64, weight: Float, above: Int64, tied: Int64, mass_above: Float, mass_tied: Float,
    tie_relevant: Int32, top: Int32, top_scores: Float32,
) -> None:  # fmt: skip
    """Standings of queries begin.., whose scores are the rows of ``scores`` (overwritten).

    ``relevant`` is sorted in place: the items of each query by score descending, then by item. A partition p puts
    item i into ``group[p, i]`` (-1: into none); ``above[p, pair]`` counts items of the pair's own group. The groups of
    partition p have the slots ``slots[p]:slots[p + 1]``. ``weight`` may be empty: then there are no masses.
    """
    partitions, weighted = group.shape[0], weight.size > 0
    counts = np.empty((0, 2, 0), np.int64)
    masses = np.empty((0, 2, 0), np.float64)
    levels = np.empty(0, np.float32)
    starts = np.empty(0, np.int64)
    for row in range(scores.shape[0]):
        line, query = scores[row], begin + row
        first, last = offsets[query], offsets[query + 1]
        for place in range(seen_offsets[query], seen_offsets[query + 1]):
            line[seen[place]] = np.nan  # neither a candidate nor a place in the list
        if top.shape[1]:
            best(line, top[row], top_scores[row])
        if first == last:
            continue
        if levels.size < last - first:
            levels = np.empty(2 * (last - first), np.float32)
            starts = np.empty(levels.size + 1, np.int64)
            counts = np.empty((slots[-1], 2, levels.size), np.int64)
            masses = np.empty((slots[-1] if weighted else 0, 2, levels.size), np.float64)
        sort_by_score(line, relevant, first, last)
        distinct = 0  # levels: distinct scores of relevant items, descending
        for pair in range(first, last):
            if distinct == 0 or line[relevant[pair]] != levels[distinct - 1]:
                levels[distinct] = line[relevant[pair]]
                starts[distinct] = pair
                distinct += 1
        starts[distinct] = last
        for pair in range(first, last):
            line[relevant[pair]] = np.nan
        counts[:, :, :distinct] = 0
        if weighted:
            masses[:, :, :distinct] = 0.0
        lowest = levels[distinct - 1]
        for item in range(line.size):
            score = line[item]
            if not score >= lowest:
                continue
            low, high = 0, distinct - 1  # the first level that is not above the score
            while low < high:
                middle = (low + high) // 2
                if levels[middle] > score:
                    low = middle + 1
                else:
                    high = middle
            level_with = 1 if levels[low] == score else 0
            for partition in range(partitions):
                if group[partition, item] >= 0:
                    slot = slots[partition] + group[partition, item]
                    counts[slot, level_with, low] += 1
                    if weighted:
                        masses[slot, level_with, low] += weight[item]
        for slot in range(slots[-1]):  # items above a level: all that fell between it and the first
            for level in range(1, distinct):
                counts[slot, 0, level] += counts[slot, 0, level - 1] + counts[slot, 1, level - 1]
                if weighted:
                    masses[slot, 0, level] += masses[slot, 0, level - 1] + masses[slot, 1, level - 1]
        for level in range(distinct):
            for pair in range(starts[level], starts[level + 1]):
                tie_relevant[pair] = starts[level + 1] - starts[level] - 1
                for partition in range(partitions):
                    own = group[partition, relevant[pair]]
                    if own < 0:
                        continue
                    slot = slots[partition] + own
                    above[partition, pair] = counts[slot, 0, level]
                    tied[partition, pair] = counts[slot, 1, level]
                    if weighted:
                        mass_above[partition, pair] = masses[slot, 0, level]
                        mass_tied[partition, pair] = masses[slot, 1, level]


@njit(nogil=True, cache=True, inline="always")
def sort_by_score(line: Float32, items: Int32, first: int, last: int) -> None:
    """Items first..last by score descending, equal scores by item (Shell's method)."""
    gap = 1
    while 3 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(first + gap, last):
            item, place = items[start], start
            score = line[item]
            while place >= first + gap:
                other = items[place - gap]
                if line[other] > score or (line[other] == score and other < item):
                    break
                items[place] = other
                place -= gap
            items[place] = item
        gap //= 3


@njit(nogil=True, cache=True, inline="always")
def best(line: Float32, items: Int32, values: Float32) -> None:
    """The highest scores of a line, best first, equal scores by item; -1 is an empty place."""
    size, k = 0, items.size
    for item in range(line.size):
        score = line[item]
        if size == k and not score > values[k - 1]:  # a later item never wins a tie
            continue
        if not score > -np.inf:  # neither what was taken out nor what could not be scored
            continue
        place = size if size < k else k - 1
        size = min(size + 1, k)
        while place > 0 and values[place - 1] < score:
            values[place], items[place] = values[place - 1], items[place - 1]
            place -= 1
        values[place], items[place] = score, item
    for place in range(size, k):
        values[place], items[place] = -np.inf, -1
