"""Compiled kernels for the expected credit of relevant items against any number of sampled candidates.

A distribution is a range of ``chances``: ``chances[x]``, x = first..last, is the probability that x sampled candidates
are above the item. Values outside the range are negligible, or beyond the last rank with credit.
``tests/property/test_sampling_curve.py`` compares the kernels with ``recassay.designs`` and with random draws.
"""

from __future__ import annotations

import math
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.designs._distributions import (
    ALL_NEGLIGIBLE,
    NEGLIGIBLE,
    STEEP,
    hit_probabilities,
    hit_probabilities_from_zero,
)
from recassay.designs._places import masses_above

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

PLAIN, AGAIN, TWO = 0, 1, 2  # draws without replacement, with it, and by weight without it (two mean weights)
FEW = 64  # trials up to which the probabilities for two weights are normalised to sum to 1
NODES = np.array([0.0694318442029737, 0.3300094782075719, 0.6699905217924281, 0.9305681557970263])  # Gauss, [0, 1]
WEIGHTS = np.array([0.1739274225687269, 0.3260725774312731, 0.3260725774312731, 0.1739274225687269])


@njit(nogil=True, cache=True)
def add_expected_credit(
    begin: int, end: int, group: Int64, above: Float, tied: Float, pool: Float, heavy: Float, equal: Float,
    mass: Float, level: Int64, number: Int64, masses: Float, sizes: Int64, scheme: int, credit: Float, logs: Float,
    parts: Float, auc: bool, sums: Float, spread: Float,
) -> None:  # fmt: skip
    """Add the expected credit of the relevant items begin..end-1 to ``sums[group, size, metric]``.

    The variance over draws is added to ``spread[size, metric]``. A case is one relevant item, and ``group`` is the
    group of users that its user is in. ``above``, ``tied`` and ``pool`` are the numbers of candidates above it, tied
    with it and in all; ``heavy``, ``equal`` and ``mass`` are their total weights, used for ``TWO`` only. ``scheme``
    says how candidates are drawn: ``PLAIN``, without replacement; ``AGAIN``, with it; or ``TWO``, by weight without it,
    as if there were two different weights. For ``AGAIN``, the numbers may be weights; the tied candidates of case c are
    then in the classes ``level[c]:level[c + 1]``, of ``number`` candidates of weight ``masses`` each.

    ``sizes`` are the sample sizes, ascending; a size above the pool means all of it. ``credit[metric, x]`` is the
    credit with x sampled candidates above. ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x. With ``auc``, the last column
    of ``sums`` and ``spread`` is AUC.
    """
    metrics, most = credit.shape
    chances, work = np.zeros(most + 2), np.zeros(most + 2)
    for case in range(begin, end):
        time = 0.0
        least = math.log1p(-above[case] / pool[case]) if scheme == AGAIN and above[case] < pool[case] else 0.0
        for place in range(sizes.size):
            q, mean, variance = sizes[place], 0.0, 0.0
            first, last = 0, -1
            if scheme != TWO and tied[case] == 0 and not auc:
                last = hit_probabilities_from_zero(
                    above[case], pool[case], q, scheme == AGAIN, least, most, logs, parts, chances
                )
            if last == ALL_NEGLIGIBLE:
                last = -1
            elif last >= 0:
                first = 0
            elif scheme != AGAIN and q >= pool[case]:
                q = int(pool[case])
                first, last, mean, variance = full_ranking_probabilities(above[case], tied[case], most, chances)
            elif scheme == TWO:
                first, last, mean, variance, time = weighted_probabilities(
                    above[case], tied[case], pool[case], heavy[case], equal[case], mass[case], q, time, most, chances,
                    work,
                )  # fmt: skip
            elif scheme == AGAIN and tied[case] > 0:
                classes = slice(level[case], level[case + 1])
                first, last, mean, variance = tie_probabilities_with_replacement(
                    above[case], tied[case], pool[case], number[classes], masses[classes], q, logs, most, chances, work
                )
            else:
                first, last, mean, variance = sampled_probabilities(
                    above[case], tied[case], pool[case], q, scheme == AGAIN, logs, most, chances, work
                )
            for metric in range(metrics):
                first_moment, second_moment = 0.0, 0.0
                for x in range(first, last + 1):
                    value = chances[x] * credit[metric, x]
                    first_moment += value
                    second_moment += value * credit[metric, x]
                sums[group[case], place, metric] += first_moment
                spread[place, metric] += max(0.0, second_moment - first_moment * first_moment)
            if auc and q > 0:
                sums[group[case], place, metrics] += 1 - mean / q
                spread[place, metrics] += variance / (float(q) * q)


@njit(nogil=True, cache=True)
def full_ranking_probabilities(above: float, tied: float, most: int, chances: Float) -> tuple[int, int, float, float]:
    """Write to ``chances[x]`` the probability that x candidates are above an item, if all candidates are ranked.

    ``above`` candidates have a higher score and ``tied`` the same score; every position among the ties is equally
    likely. Only x below ``most`` are computed. Return the first and last x computed, and mean and variance of x.
    """
    first, last = int(above), min(int(above + tied), most - 1)
    for x in range(first, last + 1):
        chances[x] = 1.0 / (tied + 1.0)
    return first, last, above + tied / 2, tied * (tied + 2) / 12


@njit(nogil=True, cache=True)
def tie_probabilities_with_replacement(
    above: float, tied: float, pool: float, number: Int64, masses: Float, q: int, logs: Float, most: int,
    chances: Float, work: Float,
) -> tuple[int, int, float, float]:  # fmt: skip
    """Fill ``chances[x]`` with the probability that x of ``q`` draws with replacement are above an item that has ties.

    Class c of the tied candidates has ``number[c]`` candidates of mass ``masses[c]``. The distribution is the mean over
    the positions of the item among its ties. ``above`` of ``pool`` candidates (or of their mass) are above the item and
    ``tied`` are tied with it; only x below ``most`` are computed. Return the first and last x computed, and mean and
    variance of x. ``logs[x]`` is log(x!), and ``work`` is scratch space.
    """
    last, squares = min(q, most - 1), 0.0
    chances[: last + 1] = 0
    one = np.int64(1)  # for a literal 1 numba would compile the function once more
    gaps, weights = masses_above(number, masses, above, one, one, q, pool, last, logs)  # type: ignore[arg-type]
    for at in range(gaps.size):
        begin, end = hit_probabilities(gaps[at], pool, q, True, last, logs, work)
        for x in range(begin, end + 1):
            chances[x] += weights[at] * work[x - begin]
    for c in range(number.size):
        squares += number[c] * masses[c] ** 2
    mean, variance = count_moments_above(above, tied, squares, pool, q, 1.0)
    return 0, last, mean, variance


@njit(nogil=True, cache=True)
def count_moments_above(
    above: float, tied: float, squares: float, pool: float, q: int, fewer: float
) -> tuple[float, float]:
    """Return mean and variance of the number of sampled candidates above an item, over draws and orders of tied items.

    ``above`` of ``pool`` candidates are above the item, ``tied`` are tied with it, and ``q`` are drawn. ``squares`` is
    the sum of the squared masses of the tied candidates. ``fewer`` is the finite-population factor of the variance: 1
    with replacement, less without.
    """
    middle, share = above + tied / 2, q / pool
    order = (2 * squares + tied * tied) / 12
    within = fewer * share / pool * (pool * middle - middle * middle - order)
    return middle * share, max(0.0, within + share * share * order)


@njit(nogil=True, cache=True)
def sampled_probabilities(
    above: float, tied: float, pool: float, q: int, again: bool, logs: Float, most: int, chances: Float, work: Float
) -> tuple[int, int, float, float]:
    """Fill ``chances[x]`` with the probability that x sampled candidates are above an item.

    ``above`` of ``pool`` candidates are above the item and ``tied`` are tied with it. ``q`` candidates are drawn, with
    replacement if ``again``, which needs ``tied`` = 0. Only numbers x below ``most`` are computed. Return the first and
    last x that are not negligible, and mean and variance of x. ``logs[x]`` is log(x!), and ``work`` is scratch space.

    With ties, the distribution is the mean over the ``tied`` + 1 positions of the item among them. It is computed as a
    factor times a difference of two probabilities: that at most x of ``q`` + 1 draws from ``pool`` + 1 candidates hit
    the first ``above`` of these, and that at most x hit the first ``above`` + ``tied`` + 1.
    """
    if tied == 0:
        first, last = leading_probabilities(above, pool, q, again, most, logs, chances, work)
    elif pool + 1 > STEEP * (tied + 1) * (q + 1):
        first, last = average_over_positions(above, tied, pool, q, most, logs, chances, work)
    else:
        first, stop = leading_probabilities(above, pool + 1, q + 1, False, most, logs, chances, work)
        begin, end = hit_probabilities(above + tied + 1, pool + 1, q + 1, False, min(q + 1, most - 1), logs, work)
        last = max(end if end >= begin else most - 1, stop)
        factor, least, beyond = (pool + 1) / (tied + 1) / (q + 1), 0.0, 0.0
        for x in range(first, last + 1):
            least += chances[x] if x <= stop else 0.0
            beyond += work[x - begin] if begin <= x <= end else 0.0
            chances[x] = factor * max(0.0, least - beyond)
    fewer = 1.0 if again else (pool - q) / (pool - 1) if pool > 1 else 0.0
    mean, variance = count_moments_above(above, tied, tied, pool, q, fewer)
    return first, last, mean, variance


@njit(nogil=True, cache=True)
def average_over_positions(
    above: float, tied: float, pool: float, q: int, most: int, logs: Float, chances: Float, work: Float
) -> tuple[int, int]:
    """Fill ``chances[x]``, x < ``most``, with the probability that x sampled candidates are above an item with ties.

    ``above`` of ``pool`` candidates are above the item and ``tied`` are tied with it; ``q`` are drawn, without
    replacement. The probability is the mean over all positions of the item among its ties, added one by one. This is
    for few ties and draws, where a difference of distribution functions would lose digits. Return the first and the
    last x computed. ``logs[x]`` is log(x!), and ``work`` is scratch space.
    """
    last = min(q, most - 1)
    chances[: last + 1] = 0
    for place in range(int(tied) + 1):
        begin, end = hit_probabilities(above + place, pool, q, False, last, logs, work)
        for x in range(begin, end + 1):
            chances[x] += work[x - begin] / (tied + 1)
    return 0, last


@njit(nogil=True, cache=True)
def leading_probabilities(
    gap: float, rest: float, q: int, again: bool, most: int, logs: Float, chances: Float, work: Float
) -> tuple[int, int]:
    """Write to ``chances[x]``, x < ``most``, the probability that x of ``q`` draws are among ``gap`` given candidates.

    There are ``rest`` candidates in all; with ``again``, one may be drawn twice. Return the first and the last x whose
    probability is not negligible. ``logs[x]`` is log(x!), and ``work`` is scratch space.
    """
    first, last = hit_probabilities(gap, rest, q, again, min(q, most - 1), logs, work)
    total = 0.0
    for x in range(first, last + 1):
        chances[x] = work[x - first]
        total += chances[x]
    if q < most:  # the range is complete: normalising removes the rounding of the logarithms
        for x in range(first, last + 1):
            chances[x] /= total
    return first, last


@njit(nogil=True, cache=True)
def weighted_probabilities(
    above: float, tied: float, pool: float, heavy: float, equal: float, mass: float, q: int, time: float, most: int,
    chances: Float, work: Float,
) -> tuple[int, int, float, float, float]:  # fmt: skip
    """Fill ``chances[x]`` with the approximate probability that x candidates above an item are drawn.

    Draws are by weight, and no candidate is drawn twice. ``above``, ``tied`` and ``pool`` are the numbers of candidates
    above the item, tied with it and in all; ``heavy``, ``equal`` and ``mass`` are their total weights. The candidates
    arrive at random times, and the first ``q`` are the sample (see :func:`two_weight_probabilities`). ``time`` is a
    lower bound of the time at which q arrivals are expected. Only numbers x below ``most`` are computed. With ties, the
    boundary between above and below is put at four Gauss nodes among them. ``work`` is scratch space.

    Return the first and the last x computed, mean and variance of x, and the lower bound for the next larger sample
    (0 with ties).
    """
    if tied == 0:
        return two_weight_probabilities(above, pool, heavy, mass, q, time, most, chances)
    work[:] = 0
    low, high, mean, square = most, -1, 0.0, 0.0
    for node in range(NODES.size):
        gap, load = above + NODES[node] * tied, heavy + NODES[node] * equal
        first, last, node_mean, variance, _ = two_weight_probabilities(gap, pool, load, mass, q, 0.0, most, chances)
        mean += WEIGHTS[node] * node_mean
        square += WEIGHTS[node] * (variance + node_mean * node_mean)
        for x in range(first, last + 1):
            work[x] += WEIGHTS[node] * chances[x]
        low, high = min(low, first), max(high, last)
    for x in range(low, high + 1):
        chances[x] = work[x]
    return low, high, mean, max(0.0, square - mean * mean), 0.0


@njit(nogil=True, cache=True)
def two_weight_probabilities(
    gap: float, pool: float, load: float, mass: float, q: int, time: float, most: int, chances: Float
) -> tuple[int, int, float, float, float]:
    """Fill ``chances[x]`` with the probability that x candidates above an item are drawn, by weight and none twice.

    It is computed as if there were only two different weights.

    All candidates above the item get their mean weight, and all those below it theirs. ``gap`` of ``pool`` candidates
    are above, with the total weight ``load``; all have the total weight ``mass``. Only numbers above the item below
    ``most`` are computed. Return the first and last number computed, mean and variance of the number, and the time at
    which ``q`` arrivals are expected; ``time`` is a lower bound of it.

    Every candidate arrives after an exponential time with its weight as the rate; the first q to arrive are the sample.
    Given exactly q arrivals, the number above has about the variance of a product of two normal densities. A binomial
    distribution with this mean and variance is used. Both are exact if all weights are equal.
    """
    rest, light = pool - gap, mass - load
    if gap <= 0 or load <= 0 or rest <= 0 or light <= 0:  # all candidates that can be drawn are on one side
        x = 0 if gap <= 0 or load <= 0 else q
        return certain_count(x, most, chances, time)
    fast, slow = load / gap, light / rest
    time = max(time, q / mass)
    for _ in range(100):  # Newton's method on a concave function, from the left
        stay, wait = math.exp(-fast * time), math.exp(-slow * time)
        step = (q - gap * (1 - stay) - rest * (1 - wait)) / (load * stay + light * wait)
        time += step
        if step <= 1e-10 * time:
            break
    above_share, below_share = -math.expm1(-fast * time), -math.expm1(-slow * time)
    mean = gap * above_share
    above_variance, below_variance = mean * (1 - above_share), rest * below_share * (1 - below_share)
    variance = (
        above_variance * below_variance / (above_variance + below_variance) * pool / (pool - 1)
        if above_variance + below_variance > 0
        else 0.0
    )
    if variance < 1e-9:
        return certain_count(int(np.rint(mean)), most, chances, time)
    chance = max(1 - variance / mean, 1e-12)
    trials = mean / chance
    first, last = binomial_probabilities(trials, chance, most, chances)
    return first, last, mean, variance, time


@njit(nogil=True, cache=True)
def certain_count(x: int, most: int, chances: Float, time: float) -> tuple[int, int, float, float, float]:
    """Write 1 to ``chances[x]``, where ``x`` is the only possible number of sampled candidates above an item.

    Return first and last number (``x``), mean, variance and ``time``. If ``x`` is not below ``most``, ``chances`` is
    left as it is, and first and last are 0 and -1.
    """
    if x >= most:
        return 0, -1, float(x), 0.0, time
    chances[x] = 1.0
    return x, x, float(x), 0.0, time


@njit(nogil=True, cache=True)
def binomial_probabilities(trials: float, chance: float, most: int, chances: Float) -> tuple[int, int]:
    """Fill ``chances[x]``, x < ``most``, with the probability of x hits in ``trials`` trials, each with ``chance``.

    Return the first and the last x that are not negligible. ``trials`` need not be whole. Up to FEW trials, the
    probabilities are normalised to sum to 1.
    """
    top = int(np.ceil(trials))
    mode = max(0, min(int((trials + 1) * chance), top, most - 1))
    ways = lgamma(trials + 1) - lgamma(mode + 1.0) - lgamma(max(trials - mode, 0.0) + 1)
    start = math.exp(ways + mode * math.log(chance) + (trials - mode) * math.log1p(-chance))
    odds, end = chance / (1 - chance), min(top, most - 1)
    chances[mode] = start
    first, last, now = mode, mode, start
    while first > 0 and now > NEGLIGIBLE:
        now *= first / (max(trials - first + 1, 1e-12) * odds)
        first -= 1
        chances[first] = now
    now, total = start, 0.0
    while last < end and now > NEGLIGIBLE:
        now *= max(0.0, trials - last) / (last + 1.0) * odds
        last += 1
        chances[last] = now
    if trials <= FEW:
        for x in range(first, last + 1):
            total += chances[x]
        beyond = last
        while beyond < top and now > NEGLIGIBLE:
            now *= max(0.0, trials - beyond) / (beyond + 1.0) * odds
            beyond += 1
            total += now
        for x in range(first, last + 1):
            chances[x] /= max(total, NEGLIGIBLE)
    return first, last
