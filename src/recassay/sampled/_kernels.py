"""What one relevant item is worth against any number of sampled candidates, added up over many relevant items.

A law is a stretch of ``chances``: ``chances[x]`` for x = first..last is the chance that x sampled candidates stand
above; what is left out is negligible, or lies beyond the last rank that earns anything. Held to the closed forms of
``recassay.designs`` and to draws in ``tests/property/test_sampling_curve.py``.
"""

from __future__ import annotations

from math import lgamma

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.designs._laws import NEGLIGIBLE, NOTHING, STEEP, numbers, rising
from recassay.designs._places import places
from recassay.portable._kernels import exp, expm1, log, log1p

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

PLAIN, AGAIN, TWO = 0, 1, 2  # laws: without replacement, with it, and by two weights without it
FEW = 64  # trials up to which the chances of a law of two weights are made to sum to 1
NODES = np.array([0.0694318442029737, 0.3300094782075719, 0.6699905217924281, 0.9305681557970263])  # Gauss, [0, 1]
WEIGHTS = np.array([0.1739274225687269, 0.3260725774312731, 0.3260725774312731, 0.1739274225687269])


@njit(nogil=True, cache=True)
def worth(
    begin: int, end: int, group: Int64, above: Float, tied: Float, pool: Float, heavy: Float, equal: Float,
    mass: Float, level: Int64, number: Int64, masses: Float, sizes: Int64, law: int, credit: Float, logs: Float,
    parts: Float, auc: bool, sums: Float, spread: Float,
) -> None:  # fmt: skip
    """Add the worth of cases begin..end to ``sums[group, size]`` and its variance over draws to ``spread[size]``.

    ``above``, ``tied`` and ``pool`` are numbers of candidates, ``heavy``, ``equal`` and ``mass`` what they weigh; for
    ``AGAIN`` the former may be weights, and the latter are not looked at, nor are they for ``PLAIN``. ``number`` and
    ``masses``, from ``level[c]`` to ``level[c + 1]``, are the classes of tied candidates of case c, for ``AGAIN``.
    ``sizes`` rise; one beyond the pool means all of it. ``credit[metric, x]`` is earned with x sampled candidates
    above. ``logs`` are log factorials, ``parts`` are 1 / x. With ``auc`` the last column of ``sums`` and
    ``spread`` is AUC.
    """
    metrics, most = credit.shape
    chances, work = np.zeros(most + 2), np.zeros(most + 2)
    for case in range(begin, end):
        time = 0.0
        least = log1p(-above[case] / pool[case]) if law == AGAIN and above[case] < pool[case] else 0.0
        for place in range(sizes.size):
            q, mean, variance = sizes[place], 0.0, 0.0
            first, last = 0, -1
            if law != TWO and tied[case] == 0 and not auc:
                last = rising(above[case], pool[case], q, law == AGAIN, least, most, logs, parts, chances)
            if last == NOTHING:
                last = -1
            elif last >= 0:
                first = 0
            elif law != AGAIN and q >= pool[case]:
                q = int(pool[case])
                first, last, mean, variance = ranked(above[case], tied[case], most, chances)
            elif law == TWO:
                first, last, mean, variance, time = weighed(
                    above[case], tied[case], pool[case], heavy[case], equal[case], mass[case], q, time, most, chances,
                    work,
                )  # fmt: skip
            elif law == AGAIN and tied[case] > 0:
                classes = slice(level[case], level[case + 1])
                first, last, mean, variance = repeated(
                    above[case], tied[case], pool[case], number[classes], masses[classes], q, logs, most, chances, work
                )
            else:
                first, last, mean, variance = drawn(
                    above[case], tied[case], pool[case], q, law == AGAIN, logs, most, chances, work
                )
            for metric in range(metrics):
                one, two = 0.0, 0.0
                for x in range(first, last + 1):
                    value = chances[x] * credit[metric, x]
                    one += value
                    two += value * credit[metric, x]
                sums[group[case], place, metric] += one
                spread[place, metric] += max(0.0, two - one * one)
            if auc and q > 0:
                sums[group[case], place, metrics] += 1 - mean / q
                spread[place, metrics] += variance / (float(q) * q)


@njit(nogil=True, cache=True)
def ranked(above: float, tied: float, most: int, chances: Float) -> tuple[int, int, float, float]:
    """All candidates are there: every place among those that tie is equally likely."""
    first, last = int(above), min(int(above + tied), most - 1)
    for x in range(first, last + 1):
        chances[x] = 1.0 / (tied + 1.0)
    return first, last, above + tied / 2, tied * (tied + 2) / 12


@njit(nogil=True, cache=True)
def repeated(
    above: float, tied: float, pool: float, number: Int64, masses: Float, q: int, logs: Float, most: int,
    chances: Float, work: Float,
) -> tuple[int, int, float, float]:  # fmt: skip
    """As :func:`drawn` for ties and draws with replacement: the mean law over the places of the item."""
    last, squares = min(q, most - 1), 0.0
    chances[: last + 1] = 0
    gaps, weights = places(number, masses, above, 1, 1, q, pool, last, logs)
    for at in range(gaps.size):
        begin, end = numbers(gaps[at], pool, q, True, last, logs, work)
        for x in range(begin, end + 1):
            chances[x] += weights[at] * work[x - begin]
    for one in range(number.size):
        squares += number[one] * masses[one] ** 2
    mean, variance = moments_of(above, tied, squares, pool, q, 1.0)
    return 0, last, mean, variance


@njit(nogil=True, cache=True)
def moments_of(above: float, tied: float, squares: float, pool: float, q: int, fewer: float) -> tuple[float, float]:
    """Mean and variance of the number of sampled candidates above an item, over draws and places.

    ``squares`` is the sum of the squared masses of the tied candidates; ``fewer`` is less than 1 without replacement.
    """
    middle, share = above + tied / 2, q / pool
    order = (2 * squares + tied * tied) / 12
    within = fewer * share / pool * (pool * middle - middle * middle - order)
    return middle * share, max(0.0, within + share * share * order)


@njit(nogil=True, cache=True)
def drawn(
    above: float, tied: float, pool: float, q: int, again: bool, logs: Float, most: int, chances: Float, work: Float
) -> tuple[int, int, float, float]:
    """The law of the number of sampled candidates above an item; its mean and variance.

    With ties (and draws without replacement) it is the mean over all places among them: a sum of laws, which is a
    difference of two distribution functions for one more draw from one more candidate.
    """
    if tied == 0:
        first, last = head(above, pool, q, again, most, logs, chances, work)
    elif pool + 1 > STEEP * (tied + 1) * (q + 1):
        first, last = one_by_one(above, tied, pool, q, most, logs, chances, work)
    else:
        first, stop = head(above, pool + 1, q + 1, False, most, logs, chances, work)
        begin, end = numbers(above + tied + 1, pool + 1, q + 1, False, min(q + 1, most - 1), logs, work)
        last = max(end if end >= begin else most - 1, stop)
        factor, least, beyond = (pool + 1) / (tied + 1) / (q + 1), 0.0, 0.0
        for x in range(first, last + 1):
            least += chances[x] if x <= stop else 0.0
            beyond += work[x - begin] if begin <= x <= end else 0.0
            chances[x] = factor * max(0.0, least - beyond)
    fewer = 1.0 if again else (pool - q) / (pool - 1) if pool > 1 else 0.0
    mean, variance = moments_of(above, tied, tied, pool, q, fewer)
    return first, last, mean, variance


@njit(nogil=True, cache=True)
def one_by_one(
    above: float, tied: float, pool: float, q: int, most: int, logs: Float, chances: Float, work: Float
) -> tuple[int, int]:
    """The mean law over all places among the ties, law by law: for few ties and draws, where a difference is too small
    a part of what it is taken from."""
    last = min(q, most - 1)
    chances[: last + 1] = 0
    for place in range(int(tied) + 1):
        begin, end = numbers(above + place, pool, q, False, last, logs, work)
        for x in range(begin, end + 1):
            chances[x] += work[x - begin] / (tied + 1)
    return 0, last


@njit(nogil=True, cache=True)
def head(
    gap: float, rest: float, q: int, again: bool, most: int, logs: Float, chances: Float, work: Float
) -> tuple[int, int]:
    """The chances that x of q draws fall on ``gap`` of ``rest`` candidates, for x below ``most``."""
    first, last = numbers(gap, rest, q, again, min(q, most - 1), logs, work)
    total = 0.0
    for x in range(first, last + 1):
        chances[x] = work[x - first]
        total += chances[x]
    if q < most:  # all there is: without the rounding of logarithms
        for x in range(first, last + 1):
            chances[x] /= total
    return first, last


@njit(nogil=True, cache=True)
def weighed(
    above: float, tied: float, pool: float, heavy: float, equal: float, mass: float, q: int, time: float, most: int,
    chances: Float, work: Float,
) -> tuple[int, int, float, float, float]:  # fmt: skip
    """As :func:`drawn` for draws by weight without replacement, approximately; and when to begin the next search.

    With ties the cut between above and below is laid through them at four places.
    """
    if tied == 0:
        return two_weights(above, pool, heavy, mass, q, time, most, chances)
    work[:] = 0
    low, high, mean, square = most, -1, 0.0, 0.0
    for node in range(NODES.size):
        gap, load = above + NODES[node] * tied, heavy + NODES[node] * equal
        first, last, one, variance, _ = two_weights(gap, pool, load, mass, q, 0.0, most, chances)
        mean += WEIGHTS[node] * one
        square += WEIGHTS[node] * (variance + one * one)
        for x in range(first, last + 1):
            work[x] += WEIGHTS[node] * chances[x]
        low, high = min(low, first), max(high, last)
    for x in range(low, high + 1):
        chances[x] = work[x]
    return low, high, mean, max(0.0, square - mean * mean), 0.0


@njit(nogil=True, cache=True)
def two_weights(
    gap: float, pool: float, load: float, mass: float, q: int, time: float, most: int, chances: Float
) -> tuple[int, int, float, float, float]:
    """Successive draws in proportion to weight, where all above weigh their mean, and so do all below.

    Every candidate waits an exponential time with its weight for a rate, and the first q to come are drawn. ``time`` is
    when q are expected to have come. Given that just q have, the number above has about the variance of one normal law
    times another, and a binomial law is given this mean and variance: both are right where all weigh the same.
    """
    rest, light = pool - gap, mass - load
    if gap <= 0 or load <= 0 or rest <= 0 or light <= 0:  # all that can be drawn stand on one side
        x = 0 if gap <= 0 or load <= 0 else q
        return certain(x, most, chances, time)
    fast, slow = load / gap, light / rest
    time = max(time, q / mass)
    for _ in range(100):  # Newton's method on a concave function, from the left
        stay, wait = exp(-fast * time), exp(-slow * time)
        step = (q - gap * (1 - stay) - rest * (1 - wait)) / (load * stay + light * wait)
        time += step
        if step <= 1e-10 * time:
            break
    came, come = -expm1(-fast * time), -expm1(-slow * time)
    mean = gap * came
    one, other = mean * (1 - came), rest * come * (1 - come)
    variance = one * other / (one + other) * pool / (pool - 1) if one + other > 0 else 0.0
    if variance < 1e-9:
        return certain(int(np.rint(mean)), most, chances, time)
    chance = max(1 - variance / mean, 1e-12)
    trials = mean / chance
    first, last = binomial(trials, chance, most, chances)
    return first, last, mean, variance, time


@njit(nogil=True, cache=True)
def certain(x: int, most: int, chances: Float, time: float) -> tuple[int, int, float, float, float]:
    """There is no doubt about x."""
    if x >= most:
        return 0, -1, float(x), 0.0, time
    chances[x] = 1.0
    return x, x, float(x), 0.0, time


@njit(nogil=True, cache=True)
def binomial(trials: float, chance: float, most: int, chances: Float) -> tuple[int, int]:
    """The binomial law of a number of trials that need not be whole; where they are few its chances sum to 1."""
    top = int(np.ceil(trials))
    mode = max(0, min(int((trials + 1) * chance), top, most - 1))
    ways = lgamma(trials + 1) - lgamma(mode + 1.0) - lgamma(max(trials - mode, 0.0) + 1)
    start = exp(ways + mode * log(chance) + (trials - mode) * log1p(-chance))
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
