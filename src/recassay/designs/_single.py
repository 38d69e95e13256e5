"""Compiled kernels for a single relevant item: how many of q draws are above it, and the credit that this earns.

The numbers are hypergeometric, or with replacement binomial. ``tests/property/test_designs.py`` compares the kernels
with enumerations of all samples and orders. Those of :mod:`recassay.designs._joint` compute several items at once.
"""

from __future__ import annotations

import math

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.designs._places import masses_above

NEGLIGIBLE = 1e-22  # a probability far below the rounding of the sums it would enter
BOTTOM = -600.0  # log of the smallest probability from which the others can be computed without loss
SHORT = 64  # hits up to which a distribution is computed from 0 hits on
STEEP = 2.0  # largest factor of a difference of two distribution functions whose rounding does not matter
LOG_ZERO = -60.0  # log of a sum of probabilities that counts as 0


@njit(nogil=True, cache=True)
def few_hits(
    gap: float, rest: float, q: int, replace: bool, most: int, logs: Float, parts: Float, probs: Float
) -> tuple[int, int]:
    """Fill ``probs[y - first]`` with the probability that y of ``q`` draws are hits; return (first, last).

    This is :func:`hit_probabilities`, with the same parameters, but three times as fast if ``most`` is small: each
    probability is one product from the one before, starting at 0 hits, if that probability is not too small to start
    from. ``parts[x]`` is 1 / x, used in place of a division.
    """
    outside = int(rest - gap)
    if most > SHORT or gap >= rest or outside <= 0 or (q > outside and not replace):
        return hit_probabilities(gap, rest, q, replace, most, logs, probs)
    if replace:
        start = q * math.log1p(-gap / rest)
    else:
        start = logs[outside] - logs[outside - q] - logs[int(rest)] + logs[int(rest) - q]
    if start < BOTTOM:
        step = q * gap / (rest - gap) if replace else q * gap / (outside - q + 1.0)  # largest factor of one step up
        if start + most * math.log(max(step, 1.0)) <= LOG_ZERO:
            return 0, -1
        return hit_probabilities(gap, rest, q, replace, most, logs, probs)
    last, now = min(q, most), math.exp(start)
    probs[0] = now
    if replace:
        odds = gap / (rest - gap)
        for x in range(last):
            now *= (q - x) * odds * parts[x + 1]
            probs[x + 1] = now
    else:
        for x in range(last):
            now *= (gap - x) * (q - x) * parts[x + 1] * parts[outside - q + x + 1]  # becomes 0 at x = gap
            probs[x + 1] = now
    if q <= most:  # the range is complete: normalising removes the rounding of the logarithms
        probs[: last + 1] /= probs[: last + 1].sum()
    return 0, last


@njit(nogil=True, cache=True)
def hit_probabilities(
    gap: float, rest: float, q: int, replace: bool, most: int, logs: Float, probs: Float
) -> tuple[int, int]:
    """Fill ``probs[y - first]`` with the probability that y of ``q`` draws are hits; return (first, last).

    A hit is a draw of one of ``gap`` of the ``rest`` candidates. The distribution is hypergeometric, or with
    ``replace`` binomial. ``first`` and ``last`` are the ends of the range of y: negligible probabilities are left out.
    If no y is left, ``last`` is less than ``first``.

    - ``gap``, ``rest``: the numbers of candidates that are hits and of all candidates, or with ``replace`` their masses
    - ``q``: the number of draws
    - ``most``: the largest y to compute
    - ``logs[x]``: log(x!)
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
def log_probability(y: int, gap: float, rest: float, q: int, replace: bool, logs: Float) -> float:
    """Return the log of the probability of y hits in ``q`` draws from ``rest`` candidates, ``gap`` of them hits.

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


@njit(nogil=True, cache=True)
def separate_moments(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, parts: Float, moments: Float,
) -> None:  # fmt: skip
    """Fill ``moments`` (queries, 2, metrics) with each metric's mean, and the sum of its items' second moments.

    This is :func:`joint_moments` item by item: faster, without the covariances of credits, over random draws of
    candidates and random orders of ties. The means are the same. The second moments are equal only if a single item
    gets credit.

    An item at rank r (from 1) gets share * credit[r - 1], and a metric is the sum over a query's items. The parameters
    are those of :func:`joint_moments`; ``parts[x]`` is 1 / x.
    """
    probs, more = np.zeros(drawn[begin:end].max() + 3), np.zeros(drawn[begin:end].max() + 3)
    for query in range(begin, end):
        if not chosen[query]:
            continue
        q, rest, first, top = drawn[query], pool[query], offsets[query], min(limit[query], credit.shape[1])
        for metric in range(credit.shape[0]):
            moments[query, 0, metric], moments[query, 1, metric] = 0.0, 0.0
        pair, last = first, min(first + 1, offsets[query + 1]) if only_first else offsets[query + 1]
        while pair < last:
            in_tie = min(ties[pair] + 1, last - pair)
            n_tied, times = (1, in_tie) if apart else (ties[pair] + 1, 1)  # apart, tied items have the same moments
            for i in range(1, (1 if apart else in_tie) + 1):
                add_item(
                    pair + i - 1, i, n_tied, times, 0 if apart else pair - first + i - 1, above, tied, rest, q, level,
                    number, mass, replace, share, credit, top, logs, parts, probs, more, moments, query,
                )  # fmt: skip
            pair += in_tie


@njit(nogil=True, cache=True)
def add_lone_items(
    begin: int, end: int, group: Int64, above: Float, tied: Float, pool: Float, drawn: Int64, level: Int64,
    number: Int64, mass: Float, replace: bool, sizes: Int64, share: Float, credit: Float, logs: Float, parts: Float,
    sums: Float, spread: Float,
) -> None:  # fmt: skip
    """Add to ``sums[group, size]`` the mean credits of the items begin..end-1, each ranked alone, for each sample size.

    This is :func:`separate_moments` of sets of one item, for many ``sizes`` of the sample. ``group`` is the group of
    users that each item belongs to, and ``drawn`` the number of candidates that can be drawn for it. ``spread[size]``
    gets the variances. The other parameters are those of :func:`joint_moments`; ``parts[x]`` is 1 / x.
    """
    probs, more = np.zeros(drawn[begin:end].max() + 3), np.zeros(drawn[begin:end].max() + 3)
    moments = np.zeros((1, 2, credit.shape[0]))
    for item in range(begin, end):
        for place in range(sizes.size):
            q = min(sizes[place], drawn[item])
            first, last = 0, -1
            if tied[item] == 0:
                first, last = few_hits(
                    above[item], pool[item], q, replace, min(q, credit.shape[1] - 1), logs, parts, probs
                )
            for metric in range(credit.shape[0]):
                mean, square = 0.0, 0.0
                for x in range(first, last + 1):
                    value = probs[x - first] * credit[metric, x]
                    mean += value
                    square += value * credit[metric, x]
                moments[0, 0, metric], moments[0, 1, metric] = mean, square
            if tied[item] > 0:
                add_item(
                    item, 1, 1, 1, 0, above, tied, pool[item], q, level, number, mass, replace, share, credit,
                    credit.shape[1], logs, parts, probs, more, moments, 0,
                )  # fmt: skip
            for metric in range(credit.shape[0]):
                mean = moments[0, 0, metric]
                sums[group[item], place, metric] += mean
                spread[place, metric] += max(0.0, moments[0, 1, metric] - mean * mean)


@njit(nogil=True, cache=True)
def add_item(
    item: int, i: int, n_tied: int, times: int, place: int, above: Float, tied: Float, rest: float, q: int,
    level: Int64, number: Int64, mass: Float, replace: bool, share: Float, credit: Float, top: int, logs: Float,
    parts: Float, probs: Float, more: Float, moments: Float, query: int,
) -> None:  # fmt: skip
    """Add the mean and the mean square of the credit of a relevant item to ``moments[query]``.

    The parameters that are not listed are those of :func:`separate_moments`.

    - ``item``: the number of the pair of a query and a relevant item
    - ``i``, ``n_tied``: the item is the ``i``-th of ``n_tied`` tied relevant items
    - ``times``: how many times the moments are added
    - ``place``: the number of relevant items above
    - ``rest``, ``q``: the number or mass of all candidates, and how many of them are drawn
    - ``top``: ranks from ``top`` on (counted from 0) have no credit
    - ``probs``, ``more``: scratch space
    """
    if tied[item] == 0 or q == 0 or place >= top:
        add_credit(
            above[item], rest, q, replace, times, place, share, item, credit, top, logs, parts, probs, moments, query
        )  # fmt: skip
    elif replace:
        classes = slice(level[item], level[item + 1])
        gaps, chances = masses_above(
            number[classes], mass[classes], above[item], i, n_tied, q, rest, top - 1 - place, logs
        )  # fmt: skip
        for at in range(gaps.size):
            add_credit(
                gaps[at], rest, q, replace, times * chances[at], place, share, item, credit, top, logs, parts, probs,
                moments, query,
            )  # fmt: skip
    elif n_tied == 1 and rest + 1 <= STEEP * (tied[item] + 1) * (q + 1):
        add_credit_over_positions(
            above[item], tied[item], rest, q, times, place, share, item, credit, top, logs, probs, more, moments, query
        )  # fmt: skip
    else:
        size, chance = int(tied[item]), 1.0 * times
        for step in range(i):
            chance *= (n_tied - step) / (size + n_tied - step)
        for w in range(size + 1):
            add_credit(
                above[item] + w, rest, q, replace, chance, place, share, item, credit, top, logs, parts, probs,
                moments, query,
            )  # fmt: skip
            if w < size:
                chance *= (w + i) / (w + 1.0) * (size - w) / (size - w + n_tied - i)


@njit(nogil=True, cache=True)
def add_credit(
    gap: float, rest: float, q: int, replace: bool, chance: float, place: int, share: Float, item: int, credit: Float,
    top: int, logs: Float, parts: Float, probs: Float, moments: Float, query: int,
) -> None:  # fmt: skip
    """Add the mean and the mean square of an item's credit, both times ``chance``, to ``moments[query]`` (2, metrics).

    - ``gap``, ``rest``: the numbers (or masses) of candidates above the item, and of all candidates
    - ``q``, ``replace``: how many candidates are drawn, and whether with replacement
    - ``place``: the number of relevant items above the item
    - ``share``, ``item``, ``credit``: the item's credit at rank r (from 0) is share[item] * credit[:, r]
    - ``top``: ranks from ``top`` on have no credit
    - ``logs[x]``, ``parts[x]``: log(x!) and 1 / x
    - ``probs``: scratch space
    """
    most = min(q, top - 1 - place)
    if abs(chance) < NEGLIGIBLE or most < 0:
        return
    first, last = few_hits(gap, rest, q, replace, most, logs, parts, probs)
    for metric in range(share.shape[1]):
        mean, square = 0.0, 0.0
        for y in range(first, last + 1):
            value = share[item, metric] * credit[metric, place + y]
            mean += probs[y - first] * value
            square += probs[y - first] * value * value
        moments[query, 0, metric] += chance * mean
        moments[query, 1, metric] += chance * square


@njit(nogil=True, cache=True)
def add_credit_over_positions(
    above: float, tied: float, rest: float, q: int, times: int, place: int, share: Float, item: int, credit: Float,
    top: int, logs: Float, probs: Float, more: Float, moments: Float, query: int,
) -> None:  # fmt: skip
    """Add the credit of a relevant item to ``moments``, averaged over its positions in a tie with candidates.

    The item ties with ``tied`` candidates, and all its positions among them are equally likely. ``moments[query]`` (2,
    metrics) gets the mean and the mean square of the credit.

    - ``above``, ``tied``, ``rest``: the numbers of candidates above the tie, in the tie, and in all
    - ``q``: how many candidates are drawn, without replacement
    - ``times``: how many times the moments are added
    - ``place``: the number of relevant items above the item
    - ``share``, ``item``, ``credit``: the item's credit at rank r (from 0) is share[item] * credit[:, r]
    - ``top``: ranks from ``top`` on have no credit
    - ``logs[x]``: log(x!)
    - ``probs``, ``more``: scratch space

    The probability of y draws above the item, summed over all positions, is a difference of two tails: the sum over b
    <= B of C(b, y) C(N - b, q - y) is C(N + 1, q + 1) times the probability that more than y of q + 1 draws from N + 1
    hit the first B + 1. The difference has rounding errors, so the factor in front of it must be small (at most STEEP).
    """
    least, least_end = hit_probabilities(above, rest + 1, q + 1, False, q + 1, logs, probs)
    most, most_end = hit_probabilities(above + tied + 1, rest + 1, q + 1, False, q + 1, logs, more)
    factor, below, beyond = times * (rest + 1) / (tied + 1) / (q + 1), 0.0, 0.0
    for y in range(most_end - 1, max(least, 1) - 2, -1):  # all tails are equal below
        below += probs[y + 1 - least] if least <= y + 1 <= least_end else 0.0
        beyond += more[y + 1 - most] if most <= y + 1 <= most_end else 0.0
        if place + y < top:
            for metric in range(share.shape[1]):
                value = share[item, metric] * credit[metric, place + y]
                moments[query, 0, metric] += factor * (beyond - below) * value
                moments[query, 1, metric] += factor * (beyond - below) * value * value
