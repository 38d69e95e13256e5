"""Compiled loops over the aspects of items: the gains of lists and of ideal lists. Arrays in, arrays out.

An aspect is a feature or a taste of the user. Row r has the aspects ``codes[starts[r]:starts[r + 1]]`` and adds
``amount[r]`` to each. It multiplies what later rows add to these aspects by ``keep[r]``. An amount of 0 marks an item
that does not count.

Tests compare each loop with a slow, readable implementation in ``tests/property/test_aspects.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

EVEN = 1e-12  # gains closer than this count as equal


@njit(nogil=True, cache=True)
def gained(
    offsets: Int64, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    first: Int64, weight: Float, discount: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the sum over places of list q of discount x amount x summed weights of the item's aspects.

    Aspect a starts with the weight ``weight[first[q] + a]`` (1 if ``weight`` is empty), and each row above that has the
    aspect multiplies this by its ``keep``. ``offsets[q]:offsets[q + 1]`` are the rows of list q,
    ``codes[starts[r]:starts[r + 1]]`` the aspects of row r, numbered below ``width``, and ``discount`` has a number per
    place. An ``amount`` of 0 marks an item that does not count.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, total = offsets[query], 0.0
        for row in range(top, offsets[query + 1]):
            if amount[row] == 0:
                continue
            here = 0.0
            for aspect in codes[starts[row] : starts[row + 1]]:
                here += left[aspect] * (weight[first[query] + aspect] if weight.size else 1.0)
                left[aspect] *= keep[row]
            total += discount[row - top] * amount[row] * here
        out[query] = total
        left[codes[starts[top] : starts[offsets[query + 1]]]] = 1.0


@njit(nogil=True, inline="always")
def _gain_of(row: int, amount: Float, starts: Int64, codes: Int32, left: Float) -> float:
    """Return the gain of a row: its amount x the sum over its aspects of ``left``, the weight each aspect still has."""
    here = 0.0
    for aspect in codes[starts[row] : starts[row + 1]]:
        here += left[aspect]
    return float(amount[row] * here)


@njit(nogil=True, cache=True)
def greedy_ideal(
    offsets: Int64, items: Int32, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    discount: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the gain of a list built greedily: largest gain first, ties to the lower code in ``items``.

    The candidates of query q are the rows ``offsets[q]:offsets[q + 1]``, with ``codes[starts[r]:starts[r + 1]]`` the
    aspects of row r, numbered below ``width``. The list has as many places as ``discount``. Its gain is the sum over
    places of discount x ``amount`` of the item x weights left of its aspects. Every aspect starts with the weight 1;
    each picked item multiplies the weights of its aspects by its ``keep``.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, stop = offsets[query], offsets[query + 1]
        taken = np.zeros(stop - top, np.bool_)
        total = 0.0
        for pick in range(min(stop - top, discount.size)):
            best, most = -1, 0.0
            for row in range(top, stop):
                if taken[row - top] or amount[row] == 0:
                    continue
                here = _gain_of(row, amount, starts, codes, left)
                even = abs(here - most) <= EVEN
                if best < 0 or (here > most and not even) or (even and items[row] < items[best]):
                    best, most = row, here
            if best < 0:
                break
            taken[best - top] = True
            total += discount[pick] * most
            for aspect in codes[starts[best] : starts[best + 1]]:
                left[aspect] *= keep[best]
        out[query] = total
        left[codes[starts[top] : starts[stop]]] = 1.0


@njit(nogil=True, cache=True)
def exact_ideal(
    offsets: Int64, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int, discount: Float, out: Float
) -> None:
    """Write to ``out[q]`` the largest gain of any list of the rows ``offsets[q]:offsets[q + 1]``.

    This is a depth-first search, largest gains first, bounded by the best list so far. The gain of an item never grows
    as others are picked, so the largest current gains bound every completion. The list has as many places as
    ``discount``. A list's gain is the sum over places of discount x ``amount`` of the row x weights left of its
    aspects, which are ``codes[starts[r]:starts[r + 1]]``, numbered below ``width``. Every aspect starts with the weight
    1; each row multiplies the weights of its aspects by its ``keep``.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, size = offsets[query], offsets[query + 1] - offsets[query]
        deep = min(size, discount.size)
        order, gains = np.empty((deep, size), np.int64), np.empty((deep, size))
        counted, tried = np.zeros(deep, np.int64), np.zeros(deep, np.int64)
        before = np.empty((deep, width))  # what was left of each aspect when the search entered a depth
        total, taken = np.zeros(deep + 1), np.zeros(size, np.bool_)
        best, depth, entering = 0.0, 0, True
        while depth >= 0 and deep:
            if entering:
                tried[depth], before[depth] = 0, left
                counted[depth] = _by_gain(top, amount, starts, codes, left, taken, order[depth], gains[depth])
            else:
                taken[order[depth, tried[depth] - 1]] = False
                left[:] = before[depth]
            entering = False
            at = tried[depth]
            if at < counted[depth]:
                most = total[depth] + discount[depth] * gains[depth, at]
                for below in range(1, min(counted[depth], deep - depth)):
                    most += discount[depth + below] * gains[depth, below - 1]
                if most > best + EVEN:
                    row = top + order[depth, at]
                    tried[depth] = at + 1
                    taken[row - top] = True
                    total[depth + 1] = total[depth] + discount[depth] * gains[depth, at]
                    best = max(best, total[depth + 1])
                    for aspect in codes[starts[row] : starts[row + 1]]:
                        left[aspect] *= keep[row]
                    entering = depth + 1 < deep
                    depth += entering
                    continue
            depth -= 1
        out[query] = best
        left[:] = 1.0


@njit(nogil=True, cache=True)
def _by_gain(
    top: int, amount: Float, starts: Int64, codes: Int32, left: Float, taken: NDArray[np.bool_], order: Int64,
    gains: Float,
) -> int:  # fmt: skip
    """Write to ``order`` the rows with a gain, largest first, and to ``gains`` their gains; return their number.

    Rows are counted from ``top``. Rows that are ``taken`` have no gain. Of rows with the same amount and aspects only
    the first is written. ``left`` is the weight that each aspect still has, and ``codes[starts[r]:starts[r + 1]]`` are
    the aspects of row r.
    """
    found = 0
    for place in range(taken.size):
        row = top + place
        here = 0.0 if taken[place] else _gain_of(row, amount, starts, codes, left)
        if here <= 0 or _has_duplicate(row, here, top, amount, starts, codes, order[:found], gains):
            continue
        at = found
        while at and gains[at - 1] < here:
            gains[at], order[at] = gains[at - 1], order[at - 1]
            at -= 1
        gains[at], order[at] = here, place
        found += 1
    return found


@njit(nogil=True, cache=True)
def _has_duplicate(
    row: int, here: float, top: int, amount: Float, starts: Int64, codes: Int32, order: Int64, gains: Float
) -> bool:
    """Return whether a row in ``order`` has the same amount and aspects as ``row``, so that one of them is enough.

    ``here`` is the gain of ``row``, and ``gains`` are those of the rows in ``order``, which are counted from ``top``.
    ``codes[starts[r]:starts[r + 1]]`` are the aspects of row r.
    """
    size = starts[row + 1] - starts[row]
    for at in range(order.size):
        other = top + order[at]
        if gains[at] != here or amount[other] != amount[row] or starts[other + 1] - starts[other] != size:
            continue
        same = True
        for place in range(size):
            if codes[starts[row] + place] != codes[starts[other] + place]:
                same = False
                break
        if same:
            return True
    return False
