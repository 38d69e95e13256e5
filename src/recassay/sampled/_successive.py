"""The exact law of sampled ranks when candidates are drawn one after the other, by weight, without replacement.

Give every candidate an exponential arrival time with its weight for a rate; the first q to arrive are the sample. Let
P(t) be the chance that, at time t, x candidates above the item, y level with it and q - x - y below it have arrived.
Every path passes through exactly one state with q arrivals, and leaves it at the rate of the weights that are left:

    P(x above, y level in the sample) = integral over t of (sum of the weights left) P(t),

and the arrivals of the three groups are independent. Given y, each place among the sampled ties is equally likely. The
integral is a sum over equal steps of log t (the integrand is analytic and dies out at both ends, so the error falls
exponentially with the step); the step is halved until the law no longer changes.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.portable._kernels import exp, expm1

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

TINY = 1e-18  # of a chance, and of the integrand: far below the rounding of the sums it would enter
STEP = 0.9  # first step, in standard deviations of the logarithm of the time
SAME = 1e-9  # a change between a step and half of it: the error of the latter is about its square
HALVINGS = 8


@njit(nogil=True, cache=True)
def arrived(weights: Float, time: float, last: int, chances: Float, rates: Float) -> tuple[int, int]:
    """Fill in the chances of 0..``last`` arrivals by a time, and the same times the expected weight that is left.

    Both have two rows: the first is the result, the other is room to work in. Returns the first and last
    number of arrivals with more than a negligible chance; what is outside is not written.
    """
    chances[0, 0], rates[0, 0] = 1.0, 0.0
    low, high, stay, come, before, now = 0, 0, 1.0, 0.0, -1.0, 0
    for place in range(weights.size):
        weight = weights[place]
        if weight != before:
            stay, come, before = exp(-weight * time), -expm1(-weight * time), weight
        one, two, other, another = chances[now], rates[now], chances[1 - now], rates[1 - now]
        other[low] = stay * one[low]
        another[low] = stay * (two[low] + weight * one[low])
        for n in range(low + 1, high + 1):
            other[n] = stay * one[n] + come * one[n - 1]
            another[n] = stay * (two[n] + weight * one[n]) + come * two[n - 1]
        if high < last:
            other[high + 1] = come * one[high]
            another[high + 1] = come * two[high]
            high += 1
        now = 1 - now
        while low < high and other[low] < TINY and another[low] < TINY * weight:
            low += 1
        while high > low and other[high] < TINY and another[high] < TINY * weight:
            high -= 1
    if now:
        chances[0, low : high + 1], rates[0, low : high + 1] = chances[1, low : high + 1], rates[1, low : high + 1]
    return low, high


@njit(nogil=True, cache=True)
def leaving(
    above: Float, level: Float, below: Float, q: int, time: float, law: Float, work: Float, found: Float
) -> None:
    """Add to ``found`` the rate of leaving a state with q arrivals at a time, by the number above.

    ``law.size`` numbers above are wanted. ``work`` has six pairs of rows of at least q + 2.
    """
    first, last = arrived(above, time, min(q, law.size - 1, above.size), work[0], work[1])
    low, high = arrived(level, time, min(q, level.size), work[2], work[3])
    least, most = arrived(below, time, min(q, below.size), work[4], work[5])
    for x in range(first, last + 1):
        for y in range(max(low, q - x - most), min(high, q - x - least) + 1):
            n = q - x - y
            rate = (
                work[1, 0, x] * work[2, 0, y] * work[4, 0, n]
                + work[0, 0, x] * (work[3, 0, y] * work[4, 0, n] + work[2, 0, y] * work[5, 0, n])
            )  # fmt: skip
            rate /= y + 1
            for place in range(x, min(x + y, law.size - 1) + 1):
                found[place] += time * rate


@njit(nogil=True, cache=True)
def middle(weights: Float, q: int) -> tuple[float, float]:
    """The logarithm of the time when q and a half candidates are expected, and the deviation of that logarithm."""
    wanted, low, high = min(q + 0.5, weights.size - 0.5), -80.0, 80.0
    for _ in range(200):
        log = (low + high) / 2
        time, come = exp(log), 0.0
        for place in range(weights.size):
            come -= expm1(-weights[place] * time)
        if come < wanted:
            low = log
        else:
            high = log
        if high - low < 1e-3:
            break
    time, slope, variance = exp(log), 0.0, 0.0
    for place in range(weights.size):
        stay = exp(-weights[place] * time)
        slope += weights[place] * time * stay
        variance += stay * (1 - stay)
    return log, np.sqrt(variance + 0.1) / max(slope, 1e-3)


@njit(nogil=True, cache=True)
def successive(above: Float, level: Float, below: Float, q: int, law: Float) -> None:
    """The chances of 0, 1, ... sampled candidates above an item, as far as ``law`` has room.

    ``above``, ``level`` and ``below`` are the weights of the candidates, all positive, equal ones side by side; q is
    less than their number.
    """
    pool = np.concatenate((above, level, below))
    centre, deviation = middle(pool, q)
    step = min(STEP * deviation, 1.0)
    work, whole, finer = np.zeros((8, 2, q + 2)), np.zeros(law.size), np.zeros(law.size)
    peak, left, right = 0.0, 0, 0
    for way in (-1, 1):  # outwards from the middle, to where nothing is left to add
        at = 0 if way == 1 else -1
        while True:
            time = exp(centre + at * step)
            leaving(above, level, below, q, time, law, work, whole)
            _, last = arrived(pool, time, q, work[6], work[7])
            rate = time * work[7, 0, q] if last == q else 0.0
            peak = max(peak, rate)
            if (abs(at) > 3 and rate <= TINY * peak) or abs(at) * step > 120:
                break
            at += way
        if way == 1:
            right = at
        else:
            left = at
    for place in range(law.size):
        law[place] = whole[place] * step
    for _ in range(HALVINGS):
        finer[:] = 0
        for at in range(left - 1, right + 1):
            leaving(above, level, below, q, exp(centre + (at + 0.5) * step), law, work, finer)
        whole += finer
        step /= 2
        left, right, worst = 2 * left, 2 * right, 0.0
        for place in range(law.size):
            value = whole[place] * step
            worst = max(worst, abs(value - law[place]))
            law[place] = value
        if worst < SAME:
            break


@njit(nogil=True, cache=True)
def worth(
    above: Float, level: Float, below: Float, sizes: Int64, credit: Float, auc: bool, mean: Float, variance: Float
) -> None:
    """Mean and variance over draws of every metric (columns; AUC last) for samples of every size (rows).

    ``credit[metric, x]`` is earned with x sampled candidates above.
    """
    metrics, most = credit.shape
    pool = above.size + level.size + below.size
    for row in range(sizes.size):
        q = min(sizes[row], pool)
        law = np.zeros(q + 1 if auc else min(q + 1, most))
        if q == pool:
            for place in range(above.size, min(above.size + level.size, law.size - 1) + 1):
                law[place] = 1 / (level.size + 1)
        else:
            successive(above, level, below, q, law)
        for metric in range(metrics + (1 if auc else 0)):
            one, two = 0.0, 0.0
            for x in range(law.size if metric == metrics else min(law.size, most)):
                value = 1 - x / max(q, 1) if metric == metrics else credit[metric, x]
                one += law[x] * value
                two += law[x] * value * value
            mean[row, metric], variance[row, metric] = one, max(0.0, two - one * one)
