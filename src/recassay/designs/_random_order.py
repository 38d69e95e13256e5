"""Compiled kernels for the expected metrics of a random order of all the items in a target set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.designs._distributions import few_hits
from recassay.designs._places import (
    BLOCK_NODES,
    BLOCK_WEIGHTS,
    NEGLIGIBLE,
    NODES,
    SMALLEST,
    UNIT_NODES,
    block_within,
    fewer_above,
    largest_block,
    position_probability,
    spread_over_nodes,
)

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

UNDERFLOW = 1e-200  # below it the probability of a position is computed anew, not from that of the item before


@njit(nogil=True, cache=True)
def random_order_sums(
    relevant: Int64, drawn: Int64, limit: Int64, items: int, by_place: bool, credit: Float, out: Float
) -> None:
    """Fill ``out[s]`` with the expected sum of credits of target set s if all its items are in random order.

    Set s has ``relevant[s]`` relevant items and ``drawn[s]`` others, which are ranked together. ``credit[r - 1]`` is
    what a relevant item at rank r adds to the sum; only the best ``items`` relevant items of a set add, and none beyond
    rank ``limit[s]``. With ``by_place``, the credit of the i-th relevant item is multiplied by i. In a set of S items,
    R of them relevant, the i-th relevant one has rank p with probability C(p-1, i-1) C(S-p, R-i) / C(S, R).
    """
    for row in range(relevant.size):
        n_relevant, others = relevant[row], drawn[row]
        out[row], first = 0.0, 1.0
        for i in range(1, min(items, n_relevant) + 1):
            # first: the probability that the first i ranks are all relevant
            first *= (n_relevant - i + 1.0) / (n_relevant + others - i + 1.0)
            chance, w = first, 0
            while i + w <= limit[row] and w <= others:
                out[row] += chance * credit[i + w - 1] * (i if by_place else 1)
                chance *= (w + i) / (w + 1.0) * (others - w) / (others - w + n_relevant - i) if w < others else 0.0
                w += 1


@njit(nogil=True, cache=True)
def two_class_sums(
    begin: int, end: int, offsets: Int64, number: Int64, mass: Float, relevant: Int64, drawn: Int64, limit: Int64,
    by_place: Bool, only_first: bool, credit: Float, logs: Float, parts: Float, sums: Float,
) -> None:  # fmt: skip
    """Fill ``sums`` (target sets, metrics) with the expected sums of credits if all items of a set are in random order.

    Sets s in ``begin`` to ``end`` - 1 are computed. Set s has ``relevant[s]`` relevant items, ranked together with
    ``drawn[s]`` draws, with replacement, from two classes of candidates: class c of ``offsets[s]:offsets[s + 1]`` has
    ``number[c]`` candidates of mass ``mass[c]`` each. ``credit[:, r - 1]`` (metrics, ranks) is what a relevant item at
    rank r adds, times i for the i-th relevant item if ``by_place``; ranks beyond ``limit[s]`` add nothing, and with
    ``only_first`` only the best relevant item adds. ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x.

    Of k candidates above an item, the mass has the same distribution for every relevant item; only the probability of
    k differs. So it is spread over the nodes of ``_places.spread_over_nodes`` once for each k, and the probabilities of
    hits at these nodes are the same for all sets with as many draws.
    """
    few, few_of, in_reach, reach_of = np.zeros((0, 0)), -1, np.zeros(0), -1
    for row in range(begin, end):
        m, q, top = relevant[row], drawn[row], min(limit[row], credit.shape[1])
        items, size = 1 if only_first else min(m, top), NODES * (q + 1)
        if q != few_of:
            few, few_of, reach_of = hits_at_nodes(q, min(q + 1, credit.shape[1]), logs, parts), q, -1
        if reach_of != min(q + 1, top):
            reach_of, in_reach = min(q + 1, top), np.zeros(size)
            for node in range(size):
                for y in range(reach_of):
                    in_reach[node] += few[node, y]
        classes, above = slice(offsets[row], offsets[row + 1]), np.zeros((items, size))
        spread_masses_above(number[classes], mass[classes], m, q, logs, in_reach, above)
        sums[row] = 0
        for i in range(items):
            hits = np.zeros(min(q + 1, top - i))
            for node in range(size):
                for y in range(hits.size):
                    hits[y] += above[i, node] * few[node, y]
            for y in range(hits.size):
                for metric in range(sums.shape[1]):
                    sums[row, metric] += hits[y] * credit[metric, i + y] * (i + 1 if by_place[metric] else 1)


@njit(nogil=True, cache=True)
def hits_at_nodes(q: int, ranks: int, logs: Float, parts: Float) -> Float:
    """Return the probability (nodes, hits) of 0 to ``ranks`` - 1 hits in ``q`` draws, for the mass at each node.

    The nodes are those of ``_places.spread_over_nodes``. ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x.
    """
    few, probs = np.zeros((NODES * (q + 1), ranks)), np.zeros(q + 3)
    for node in range(few.shape[0]):
        gap = node // NODES + UNIT_NODES[node % NODES]
        first, last = few_hits(gap, float(q), q, True, ranks - 1, logs, parts, probs)
        for y in range(first, last + 1):
            few[node, y] = probs[y - first]
    return few


@njit(nogil=True, cache=True)
def spread_masses_above(number: Int64, mass: Float, m: int, q: int, logs: Float, in_reach: Float, above: Float) -> None:
    """Add to ``above`` (items, nodes) the distribution of the mass above each of the best relevant items.

    All ``m`` relevant items are in random order with all candidates: two classes, class c with ``number[c]`` candidates
    of mass ``mass[c]`` each, of which ``q`` are drawn. Numbers k of candidates above are visited in blocks (see
    ``_places``), until no item gets credit any more: ``in_reach`` (nodes) is the probability of so few hits that an
    item can get it. ``logs[x]`` is log(x!).
    """
    more, fewer = (0, 1) if number[0] >= number[1] else (1, 0)
    large, small = number[more], number[fewer]
    n, pool = large + small, large * mass[more] + small * mass[fewer]
    here, rest, of_fewer, items = np.zeros(above.shape[1]), np.ones(NODES), np.zeros(small + 1), above.shape[0]
    largest, scale = largest_block(3.0 / ((q + m + 1.0) / n)), q / pool
    reached, start = 1.0, 0
    while start <= n and reached > NEGLIGIBLE:
        rule = block_within(largest, n + 1 - start)
        for node in range(NODES if rule >= 0 else 1):
            k = start + (BLOCK_NODES[rule, node] if rule >= 0 else 0.0)
            first, last = fewer_above(k, large, small, 1.0, logs, of_fewer)
            low, high = here.size, 0
            for a in range(first, last + 1):
                where = (k * mass[more] + a * (mass[fewer] - mass[more])) * scale
                cell = spread_over_nodes(where, of_fewer[a], rest, here)
                low, high = min(low, cell), max(high, cell + NODES)
            reached = 0.0
            for at in range(low, high):
                reached += here[at] * in_reach[at]
            weight = BLOCK_WEIGHTS[rule, node] if rule >= 0 else 1.0
            last_one = add_over_items(k, n, m, weight, low, high, here, above)
            if k * (m - 1) > n * (items - 1):  # beyond its likeliest position the last item only gets less likely
                reached *= min(last_one * n, 1.0)
            here[low:high] = 0
        start += SMALLEST << rule if rule >= 0 else 1


@njit(nogil=True, cache=True)
def add_over_items(k: float, n: int, m: int, weight: float, low: int, high: int, here: Float, above: Float) -> float:
    """Add ``here`` to the row of each relevant item in ``above``, times the probability of its position.

    The position of the i-th of ``m`` items is k of ``n`` candidates above it. All are multiplied by ``weight``; only
    nodes from ``low`` on, below ``high``, are not zero. Return the probability for the last item.
    """
    chance = 0.0
    for i in range(1, above.shape[0] + 1):
        if i > 1 and chance > UNDERFLOW:
            chance *= (k + i - 1) / (i - 1) * ((m - i + 1) / (n - k + m - i + 1))
        else:
            chance = position_probability(k, n, i, m)
        part = weight * chance
        for at in range(low, high):
            above[i - 1, at] += part * here[at]
    return chance
