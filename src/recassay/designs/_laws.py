"""How many of q drawn candidates fall on a part of them: hypergeometric and binomial chances, as kernels need them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.portable._kernels import exp, log, log1p

Float = NDArray[np.float64]

NEGLIGIBLE = 1e-22  # of a chance: far below the rounding of the sums it would enter
BOTTOM = -600.0  # logarithm of a chance from which others are still reached without loss
STEEP = 2.0  # factor of a difference of two distribution functions from which its rounding would show
NONE, NOTHING = -60.0, -2  # logarithm of a sum of chances that is none, and how that is said


@njit(nogil=True, cache=True)
def numbers(gap: float, rest: float, q: int, replace: bool, most: int, logs: Float, law: Float) -> tuple[int, int]:
    """Chances that of q draws from ``rest`` candidates y fall on ``gap`` of them, for y = first..last (not over most).

    ``law[y - first]`` are the chances; negligible ones at either end are left out.
    """
    if q <= 0 or gap <= 0 or gap >= rest:
        y = q if q > 0 and gap > 0 else 0
        law[0] = 1.0
        return (y, y) if y <= most else (0, -1)
    low, high = (0, q) if replace else (max(0, q - int(rest - gap)), min(q, int(gap)))
    last = min(high, most)
    if last < low:
        return 0, -1
    mode = int((q + 1) * (gap / rest)) if replace else int((q + 1.0) * (gap + 1.0) / (rest + 2.0))
    first = stop = min(max(mode, low), last)
    start = exp(log_chance(first, gap, rest, q, replace, logs))
    law[first - low] = start
    chance = start
    while first > low:
        less, more = odds(first, gap, rest, q, replace)
        chance *= less / more
        if chance < NEGLIGIBLE:
            break
        first -= 1
        law[first - low] = chance
    chance = start
    while stop < last:
        less, more = odds(stop + 1, gap, rest, q, replace)
        chance *= more / less
        if chance < NEGLIGIBLE:
            break
        stop += 1
        law[stop - low] = chance
    for y in range(first, stop + 1 if first > low else first):
        law[y - first] = law[y - low]
    return first, stop


@njit(nogil=True, cache=True)
def rising(
    gap: float, rest: float, q: int, again: bool, least: float, most: int, logs: Float, parts: Float, chances: Float
) -> int:
    """The chances of 0..last by one product each, from that of 0. Where that is too small to begin with:
    ``NOTHING`` if all of them are, else -1.

    As :func:`numbers`, three times as fast: ``least`` is the logarithm of the chance that one draw misses, and
    divisions are products with ``parts``.
    """
    outside = int(rest - gap)
    if (q > outside and not again) or outside <= 0:
        return -1
    start = q * least if again else logs[outside] - logs[outside - q] - logs[int(rest)] + logs[int(rest) - q]
    if start < BOTTOM:
        each = q * gap / (rest - gap) if again else q * gap / (outside - q + 1.0)  # no step up multiplies by more
        return -1 if start + (most - 1) * log(max(each, 1.0)) > NONE else NOTHING
    last, now = min(q, most - 1), exp(start)
    chances[0] = now
    if again:
        odds = gap / (rest - gap)
        for x in range(last):
            now *= (q - x) * odds * parts[x + 1]
            chances[x + 1] = now
    else:
        for x in range(last):
            now *= (gap - x) * (q - x) * parts[x + 1] * parts[outside - q + x + 1]  # 0 where gap runs out
            chances[x + 1] = now
    if q < most:  # all there is: without the rounding of logarithms
        chances[: last + 1] /= chances[: last + 1].sum()
    return last


@njit(nogil=True, cache=True)
def log_chance(y: int, gap: float, rest: float, q: int, replace: bool, logs: Float) -> float:
    """Logarithm of the chance of y."""
    if replace:
        part = gap / rest
        return float(logs[q] - logs[y] - logs[q - y] + y * log(part) + (q - y) * log1p(-part))
    inside, all_of_them = int(gap), int(rest)
    outside = all_of_them - inside
    ways = logs[inside] - logs[y] - logs[inside - y] + logs[outside] - logs[q - y] - logs[outside - q + y]
    return float(ways - logs[all_of_them] + logs[q] + logs[all_of_them - q])


@njit(nogil=True, cache=True)
def odds(y: int, gap: float, rest: float, q: int, replace: bool) -> tuple[float, float]:
    """What the chances of y - 1 and of y are in proportion to each other."""
    if replace:
        return y * (rest - gap), (q - y + 1.0) * gap
    return y * (rest - gap - q + y), (gap - y + 1.0) * (q - y + 1.0)
