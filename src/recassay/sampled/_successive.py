"""Compiled kernels for the exact distribution of sampled ranks under successive draws by weight without replacement.

Give every candidate an exponential arrival time with its weight as the rate; the first q to arrive are the sample. Let
P(t) be the probability that at time t, x candidates above the item, y tied with it and q - x - y below have arrived.
Every path passes through exactly one state with q arrivals, and leaves it at the rate of the remaining weights:

    P(x above, y tied in the sample) = integral over t of (sum of the remaining weights) P(t).

The arrivals of the three groups are independent. Given y, each position among the sampled ties is equally likely. The
integral is a sum over equal steps of log t. The integrand is analytic and vanishes at both ends, so the error falls
exponentially with the step. The step is halved until the distribution no longer changes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

TINY = 1e-18  # a probability or integrand far below the rounding of the sums it would enter
STEP = 0.9  # first step, in standard deviations of the logarithm of the time
SAME = 1e-9  # largest change by halving the step at which to stop: the error is about the square of the change
HALVINGS = 8


@njit(nogil=True, cache=True)
def arrival_probabilities(weights: Float, time: float, last: int, chances: Float, rates: Float) -> tuple[int, int]:
    """Fill ``chances[0, n]`` with the probability that n candidates have arrived by ``time``, for n up to ``last``.

    Every candidate arrives after an exponential time with its entry of ``weights`` as the rate. ``rates[0, n]`` gets
    the same probability times the expected total weight of the candidates that have not arrived, given n. Return the
    first and the last n that are not negligible; only these are written. ``chances[1]`` and ``rates[1]`` are scratch
    space.
    """
    chances[0, 0], rates[0, 0] = 1.0, 0.0
    low, high, stay, come, before, row = 0, 0, 1.0, 0.0, -1.0, 0
    for place in range(weights.size):
        weight = weights[place]
        if weight != before:
            stay, come, before = math.exp(-weight * time), -math.expm1(-weight * time), weight
        old, old_rates, new, new_rates = chances[row], rates[row], chances[1 - row], rates[1 - row]
        new[low] = stay * old[low]
        new_rates[low] = stay * (old_rates[low] + weight * old[low])
        for n in range(low + 1, high + 1):
            new[n] = stay * old[n] + come * old[n - 1]
            new_rates[n] = stay * (old_rates[n] + weight * old[n]) + come * old_rates[n - 1]
        if high < last:
            new[high + 1] = come * old[high]
            new_rates[high + 1] = come * old_rates[high]
            high += 1
        row = 1 - row
        while low < high and new[low] < TINY and new_rates[low] < TINY * weight:
            low += 1
        while high > low and new[high] < TINY and new_rates[high] < TINY * weight:
            high -= 1
    if row:
        chances[0, low : high + 1], rates[0, low : high + 1] = chances[1, low : high + 1], rates[1, low : high + 1]
    return low, high


@njit(nogil=True, cache=True)
def add_leaving_rates(
    above: Float, level: Float, below: Float, q: int, time: float, probs: Float, work: Float, found: Float
) -> None:
    """Add to ``found[p]`` the rate of leaving, at ``time``, the state with q arrivals, p of them above the item.

    The rates are multiplied by ``time``, because the integral is over its logarithm. ``above``, ``level`` and ``below``
    are the weights of the candidates above the item, tied with it and below it; ``q`` is the sample size. Sampled ties
    are put above or below at random. Candidates arrive at random times, at rates equal to their weights, and the sample
    is the first ``q``. Numbers p up to ``probs.size`` - 1 are computed; ``probs`` is not read otherwise. ``work`` is
    scratch space of shape (6, 2, q + 2) or larger.
    """
    first, last = arrival_probabilities(above, time, min(q, probs.size - 1, above.size), work[0], work[1])
    low, high = arrival_probabilities(level, time, min(q, level.size), work[2], work[3])
    least, most = arrival_probabilities(below, time, min(q, below.size), work[4], work[5])
    for x in range(first, last + 1):
        for y in range(max(low, q - x - most), min(high, q - x - least) + 1):
            n = q - x - y
            rate = (
                work[1, 0, x] * work[2, 0, y] * work[4, 0, n]
                + work[0, 0, x] * (work[3, 0, y] * work[4, 0, n] + work[2, 0, y] * work[5, 0, n])
            )  # fmt: skip
            rate /= y + 1
            for place in range(x, min(x + y, probs.size - 1) + 1):
                found[place] += time * rate


@njit(nogil=True, cache=True)
def central_log_time(weights: Float, q: int) -> tuple[float, float]:
    """Return the log of the time at which q + 0.5 arrivals are expected, and the standard deviation of that log.

    Every candidate arrives after an exponential time with its entry of ``weights`` as the rate.
    """
    wanted, low, high = min(q + 0.5, weights.size - 0.5), -80.0, 80.0
    for _ in range(200):
        log = (low + high) / 2
        time, come = math.exp(log), 0.0
        for place in range(weights.size):
            come -= math.expm1(-weights[place] * time)
        if come < wanted:
            low = log
        else:
            high = log
        if high - low < 1e-3:
            break
    time, slope, variance = math.exp(log), 0.0, 0.0
    for place in range(weights.size):
        stay = math.exp(-weights[place] * time)
        slope += weights[place] * time * stay
        variance += stay * (1 - stay)
    return log, np.sqrt(variance + 0.1) / max(slope, 1e-3)


@njit(nogil=True, cache=True)
def successive_probabilities(above: Float, level: Float, below: Float, q: int, probs: Float) -> None:
    """Write to ``probs[x]`` the probability that x sampled candidates are above an item, for draws without replacement.

    ``above``, ``level`` and ``below`` are the weights of the candidates above the item, tied with it and below it, all
    positive. Equal weights must be adjacent, for speed. The sample size ``q`` is less than the number of candidates.
    """
    pool = np.concatenate((above, level, below))
    centre, deviation = central_log_time(pool, q)
    step = min(STEP * deviation, 1.0)
    work, whole, finer = np.zeros((8, 2, q + 2)), np.zeros(probs.size), np.zeros(probs.size)
    peak, left, right = 0.0, 0, 0
    for way in (-1, 1):  # outwards from the centre, until the integrand is negligible
        at = 0 if way == 1 else -1
        while True:
            time = math.exp(centre + at * step)
            add_leaving_rates(above, level, below, q, time, probs, work, whole)
            _, last = arrival_probabilities(pool, time, q, work[6], work[7])
            rate = time * work[7, 0, q] if last == q else 0.0
            peak = max(peak, rate)
            if (abs(at) > 3 and rate <= TINY * peak) or abs(at) * step > 120:
                break
            at += way
        if way == 1:
            right = at
        else:
            left = at
    for place in range(probs.size):
        probs[place] = whole[place] * step
    for _ in range(HALVINGS):
        finer[:] = 0
        for at in range(left - 1, right + 1):
            add_leaving_rates(above, level, below, q, math.exp(centre + (at + 0.5) * step), probs, work, finer)
        whole += finer
        step /= 2
        left, right, worst = 2 * left, 2 * right, 0.0
        for place in range(probs.size):
            value = whole[place] * step
            worst = max(worst, abs(value - probs[place]))
            probs[place] = value
        if worst < SAME:
            break


@njit(nogil=True, cache=True)
def expected_credit(
    above: Float, level: Float, below: Float, sizes: Int64, credit: Float, auc: bool, mean: Float, variance: Float
) -> None:
    """Write ``mean`` and ``variance`` (sizes, metrics) of an item's metrics over draws by weight without replacement.

    ``above``, ``level`` and ``below`` are the weights of the candidates above the item, tied with it and below it, and
    ``sizes`` the sample sizes. ``credit[metric, x]`` is the credit with x sampled candidates above. With ``auc``, the
    last column is AUC.
    """
    metrics, most = credit.shape
    pool = above.size + level.size + below.size
    for row in range(sizes.size):
        q = min(sizes[row], pool)
        probs = np.zeros(q + 1 if auc else min(q + 1, most))
        if q == pool:
            for place in range(above.size, min(above.size + level.size, probs.size - 1) + 1):
                probs[place] = 1 / (level.size + 1)
        else:
            successive_probabilities(above, level, below, q, probs)
        for metric in range(metrics + (1 if auc else 0)):
            first_moment, second_moment = 0.0, 0.0
            for x in range(probs.size if metric == metrics else min(probs.size, most)):
                value = 1 - x / max(q, 1) if metric == metrics else credit[metric, x]
                first_moment += probs[x] * value
                second_moment += probs[x] * value * value
            mean[row, metric] = first_moment
            variance[row, metric] = max(0.0, second_moment - first_moment * first_moment)
