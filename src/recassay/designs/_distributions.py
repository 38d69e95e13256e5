"""Hypergeometric and binomial probabilities for the kernels: how many of q draws hit a given part of the candidates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Float = NDArray[np.float64]

NEGLIGIBLE = 1e-22  # a probability far below the rounding of the sums it would enter
BOTTOM = -600.0  # log of the smallest probability from which the others can be computed without loss
SHORT = 64  # hits up to which a distribution is computed from 0 hits on
STEEP = 2.0  # largest factor of a difference of two distribution functions whose rounding does not matter
LOG_ZERO, ALL_NEGLIGIBLE = -60.0, -2  # log of a sum of probabilities that counts as 0, and the return value for it


@njit(nogil=True, cache=True)
def few_hits(
    gap: float, rest: float, q: int, replace: bool, most: int, logs: Float, parts: Float, probs: Float
) -> tuple[int, int]:
    """Fill ``probs[y - first]`` with P(y of ``q`` draws are among ``gap`` given candidates); return (first, last).

    This is :func:`hit_probabilities`, faster if ``most`` is small. ``parts[x]`` is 1 / x.
    """
    if most <= SHORT and gap < rest:
        least = math.log1p(-gap / rest) if replace else 0.0
        last = hit_probabilities_from_zero(gap, rest, q, replace, least, most + 1, logs, parts, probs)
        if last != -1:
            return 0, last
    return hit_probabilities(gap, rest, q, replace, most, logs, probs)


@njit(nogil=True, cache=True)
def hit_probabilities(
    gap: float, rest: float, q: int, replace: bool, most: int, logs: Float, probs: Float
) -> tuple[int, int]:
    """Fill ``probs[y - first]`` with P(y of ``q`` draws are among ``gap`` given candidates); return (first, last).

    There are ``rest`` candidates in all. The distribution is hypergeometric, or with ``replace`` binomial; with
    ``replace``, ``gap`` and ``rest`` may be masses. ``first`` and ``last`` are the ends of the range of y: negligible
    probabilities are left out, and ``last`` is at most ``most``. If no y is left, ``last`` is less than ``first``.
    ``logs[x]`` is log(x!).
    """
    if q <= 0 or gap <= 0 or gap >= rest:
        y = q if q > 0 and gap > 0 else 0
        probs[0] = 1.0
        return (y, y) if y <= most else (0, -1)
    low, high = (0, q) if replace else (max(0, q - int(rest - gap)), min(q, int(gap)))
    last = min(high, most)
    if last < low:
        return 0, -1
    mode = int((q + 1) * (gap / rest)) if replace else int((q + 1.0) * (gap + 1.0) / (rest + 2.0))
    first = stop = min(max(mode, low), last)
    start = math.exp(log_probability(first, gap, rest, q, replace, logs))
    probs[first - low] = start
    chance = start
    while first > low:
        less, more = probability_ratio(first, gap, rest, q, replace)
        chance *= less / more
        if chance < NEGLIGIBLE:
            break
        first -= 1
        probs[first - low] = chance
    chance = start
    while stop < last:
        less, more = probability_ratio(stop + 1, gap, rest, q, replace)
        chance *= more / less
        if chance < NEGLIGIBLE:
            break
        stop += 1
        probs[stop - low] = chance
    for y in range(first, stop + 1 if first > low else first):
        probs[y - first] = probs[y - low]
    return first, stop


@njit(nogil=True, cache=True)
def hit_probabilities_from_zero(
    gap: float, rest: float, q: int, again: bool, least: float, most: int, logs: Float, parts: Float, chances: Float
) -> int:
    """Fill ``chances[y]``, y = 0..last, with P(y of ``q`` draws are among ``gap`` given candidates); return last.

    There are ``rest`` candidates in all, and a draw among the given ones is a hit. At most the numbers of hits below
    ``most`` are computed, and negligible probabilities are left out. This is three times as fast as
    :func:`hit_probabilities`: each probability is one product from the one before, starting at 0 hits. If the
    probability of 0 hits is too small to start from, return ``ALL_NEGLIGIBLE`` if the probabilities of all y < ``most``
    are negligible, else -1 (nothing is computed).

    With ``again``, candidates are drawn with replacement, and ``least`` is then the log of the probability that one
    draw misses. ``logs[x]`` is log(x!), and ``parts[x]`` is 1 / x, used in place of a division.
    """
    outside = int(rest - gap)
    if (q > outside and not again) or outside <= 0:
        return -1
    start = q * least if again else logs[outside] - logs[outside - q] - logs[int(rest)] + logs[int(rest) - q]
    if start < BOTTOM:
        each = q * gap / (rest - gap) if again else q * gap / (outside - q + 1.0)  # largest factor of one step up
        return -1 if start + (most - 1) * math.log(max(each, 1.0)) > LOG_ZERO else ALL_NEGLIGIBLE
    last, now = min(q, most - 1), math.exp(start)
    chances[0] = now
    if again:
        probability_ratio = gap / (rest - gap)
        for x in range(last):
            now *= (q - x) * probability_ratio * parts[x + 1]
            chances[x + 1] = now
    else:
        for x in range(last):
            now *= (gap - x) * (q - x) * parts[x + 1] * parts[outside - q + x + 1]  # becomes 0 at x = gap
            chances[x + 1] = now
    if q < most:  # the range is complete: normalising removes the rounding of the logarithms
        chances[: last + 1] /= chances[: last + 1].sum()
    return last


@njit(nogil=True, cache=True)
def log_probability(y: int, gap: float, rest: float, q: int, replace: bool, logs: Float) -> float:
    """Return log P(y of ``q`` draws from ``rest`` candidates are among ``gap`` given ones).

    The distribution is binomial with ``replace``, else hypergeometric. ``logs[x]`` is log(x!).
    """
    if replace:
        part = gap / rest
        return float(logs[q] - logs[y] - logs[q - y] + y * math.log(part) + (q - y) * math.log1p(-part))
    inside, all_of_them = int(gap), int(rest)
    outside = all_of_them - inside
    ways = logs[inside] - logs[y] - logs[inside - y] + logs[outside] - logs[q - y] - logs[outside - q + y]
    return float(ways - logs[all_of_them] + logs[q] + logs[all_of_them - q])


@njit(nogil=True, cache=True)
def probability_ratio(y: int, gap: float, rest: float, q: int, replace: bool) -> tuple[float, float]:
    """Return (a, b) with a / b = P(y - 1 hits) / P(y hits), for ``q`` draws from ``rest`` candidates.

    ``gap`` of the candidates count as hits. With ``replace``, candidates are drawn with replacement.
    """
    if replace:
        return y * (rest - gap), (q - y + 1.0) * gap
    return y * (rest - gap - q + y), (gap - y + 1.0) * (q - y + 1.0)
