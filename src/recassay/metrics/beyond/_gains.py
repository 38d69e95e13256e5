"""Loops over the aspects of items: what lists gain, and what the best lists could. Arrays in, arrays out.

Row r has the aspects ``codes[starts[r]:starts[r + 1]]``, adds ``amount[r]`` to each, and leaves ``keep[r]`` of what
later rows add to them; an amount of 0 is an item that does not count.
Each loop has a readable twin in ``tests/property/test_aspects.py`` that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

EVEN = 1e-12  # gains closer than this are the same


@njit(nogil=True, cache=True)
def gained(
    offsets: Int64, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    first: Int64, weight: Float, discount: Float, out: Float,
) -> None:  # fmt: skip
    """Sum over the places of each list of discount x amount x what is left of the item's aspects.

    Aspect a of list q weighs ``weight[first[q] + a]``; an empty ``weight`` weighs all alike.
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
def _worth(row: int, amount: Float, starts: Int64, codes: Int32, left: Float) -> float:
    here = 0.0
    for aspect in codes[starts[row] : starts[row + 1]]:
        here += left[aspect]
    return float(amount[row] * here)


@njit(nogil=True, cache=True)
def greedy_ideal(
    offsets: Int64, items: Int32, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    discount: Float, out: Float,
) -> None:  # fmt: skip
    """What a list gains that is picked one by one, the most worth first and ties to the lower item."""
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
                here = _worth(row, amount, starts, codes, left)
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
    """The most that any list gains: depth first, the most worth first, and no further than the best so far allows.

    What an item is worth never grows as others are picked, so the largest worths of now bound all that can come.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, size = offsets[query], offsets[query + 1] - offsets[query]
        deep = min(size, discount.size)
        order, worth = np.empty((deep, size), np.int64), np.empty((deep, size))
        counted, tried = np.zeros(deep, np.int64), np.zeros(deep, np.int64)
        before = np.empty((deep, width))  # what was left of every aspect when a depth was entered
        total, taken = np.zeros(deep + 1), np.zeros(size, np.bool_)
        best, depth, entering = 0.0, 0, True
        while depth >= 0 and deep:
            if entering:
                tried[depth], before[depth] = 0, left
                counted[depth] = _by_worth(top, amount, starts, codes, left, taken, order[depth], worth[depth])
            else:
                taken[order[depth, tried[depth] - 1]] = False
                left[:] = before[depth]
            entering = False
            at = tried[depth]
            if at < counted[depth]:
                most = total[depth] + discount[depth] * worth[depth, at]
                for below in range(1, min(counted[depth], deep - depth)):
                    most += discount[depth + below] * worth[depth, below - 1]
                if most > best + EVEN:
                    row = top + order[depth, at]
                    tried[depth] = at + 1
                    taken[row - top] = True
                    total[depth + 1] = total[depth] + discount[depth] * worth[depth, at]
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
def _by_worth(
    top: int, amount: Float, starts: Int64, codes: Int32, left: Float, taken: NDArray[np.bool_], order: Int64,
    worth: Float,
) -> int:  # fmt: skip
    """Fill in the rows that are worth something now, the most first; of rows that are all alike one will do."""
    found = 0
    for place in range(taken.size):
        row = top + place
        here = 0.0 if taken[place] else _worth(row, amount, starts, codes, left)
        if here <= 0 or _is_alike_another(row, here, top, amount, starts, codes, order[:found], worth):
            continue
        at = found
        while at and worth[at - 1] < here:
            worth[at], order[at] = worth[at - 1], order[at - 1]
            at -= 1
        worth[at], order[at] = here, place
        found += 1
    return found


@njit(nogil=True, cache=True)
def _is_alike_another(
    row: int, here: float, top: int, amount: Float, starts: Int64, codes: Int32, order: Int64, worth: Float
) -> bool:
    """Whether a row noted already adds the same amount to the same aspects."""
    size = starts[row + 1] - starts[row]
    for at in range(order.size):
        other = top + order[at]
        if worth[at] != here or amount[other] != amount[row] or starts[other + 1] - starts[other] != size:
            continue
        same = True
        for place in range(size):
            if codes[starts[row] + place] != codes[starts[other] + place]:
                same = False
                break
        if same:
            return True
    return False
