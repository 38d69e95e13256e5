"""Expected metrics of a random order of the items in each target set: the baseline of the chance-corrected mean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import ranges, run_kernel
from recassay.data.standings import Standings
from recassay.designs import _places
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
from recassay.designs._single import few_hits, separate_moments
from recassay.designs.grammar import Design
from recassay.designs.sets import Classes, TargetSets, logs_and_parts
from recassay.metrics.credit import Credit

UNDERFLOW = 1e-200  # below it the probability of a position is computed anew, not from that of the item before
GROUPS_PER_BLOCK = 256
ROOM = 10_000_000  # most numbers a thread keeps for a group whose relevant items are computed together


@dataclass(frozen=True)
class RandomOrders:
    """A cache of the value of each metric for items in random order, before division by the normaliser.

    Such a value is the expected sum, over relevant items, of a credit for the rank. Systems that answer the same
    queries rank the same candidates, so the sums are computed once for all of them. Use a cache for one design: it
    keeps the sums of every group of metrics that are computed together.
    """

    _found: dict[bytes, Float] = field(default_factory=dict)

    def sums(
        self, standings: Standings, design: Design, groups: TargetSets, relevant: Int64, credits: Sequence[Credit],
        table: Float, limit: Int64, threads: int | None = None,
    ) -> Float:  # fmt: skip
        """Return the expected sum of each credit in each group if all items are in random order (a row per credit).

        A credit is what a relevant item adds at its rank.

        - ``relevant``: for each group, the number of relevant items ranked together
        - ``table``: for each credit and rank, the credit at the rank
        - ``limit``: for each group, the last rank with credit
        """
        if not design.with_replacement:
            rows = zip(credits, table, strict=True)
            return np.stack([_without_replacement(credit, relevant, groups, row, limit) for credit, row in rows])
        base = design.base
        pool = standings.pool[base], standings.mass.get(base), standings.pool_masses.get(base)
        arrays = (relevant, groups.owner, groups.drawn, groups.pool, limit, table, *pool)
        key = hashlib.blake2b(repr([credit.part for credit in credits]).encode())
        for array in arrays:
            key.update(b"" if array is None else np.ascontiguousarray(array).data)
        if key.digest() not in self._found:
            whole = Classes.drawn(design.by, *pool).take(groups.owner)
            self._found[key.digest()] = _with_replacement(groups, whole, relevant, credits, table, limit, threads)
        return self._found[key.digest()]


def _with_replacement(
    groups: TargetSets, whole: Classes, relevant: Int64, credits: Sequence[Credit], table: Float, limit: Int64,
    threads: int | None,
) -> Float:  # fmt: skip
    """Return the expected sums of credits in random order, for draws with replacement (a row per credit).

    Groups with equal parameters are computed once.

    - ``whole``: the masses of all candidates of each group
    - ``relevant``: for each group, the number of relevant items ranked together
    - ``table``: for each credit and rank, what a relevant item at the rank adds
    - ``limit``: for each group, the last rank at which it adds something
    """
    rows, inverse = np.arange(relevant.size), np.arange(relevant.size)
    if (np.diff(whole.offsets) == 1).all():  # all candidates of a group have the same mass: many groups are equal
        kinds = np.column_stack([relevant, groups.drawn, limit, whole.number, whole.mass, groups.pool])
        _, rows, inverse = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    top = np.minimum(limit, table.shape[1])
    nodes = _places.NODES * (groups.drawn + 1) * (np.minimum(groups.drawn + 1, top) + np.minimum(relevant, top))
    two = (_have_two_large_classes(whole, groups.drawn) & (nodes <= ROOM))[rows]
    sums = np.empty((rows.size, table.shape[0]))
    sums[two] = _over_two_classes(groups, whole, rows[two], relevant, credits, table, limit, threads)
    sums[~two] = _item_by_item(groups, whole, rows[~two], relevant, credits, table, limit, threads)
    return np.asarray(sums[inverse.ravel()].T)


def _have_two_large_classes(whole: Classes, drawn: Int64) -> Bool:
    """Return, for each group, whether its candidates have two masses and too many orders to visit one by one.

    What counts is how many candidates of each mass can be above an item. ``whole`` has the masses of the candidates of
    each group, and ``drawn`` the number of draws.
    """
    lengths = np.diff(whole.offsets)
    positions = np.multiply.reduceat(np.append(whole.number + 1.0, 1.0), whole.offsets[:-1])
    return np.asarray((lengths == 2) & (positions > _places.MANY) & (drawn > 0))


def _over_two_classes(
    groups: TargetSets, whole: Classes, rows: Int64, relevant: Int64, credits: Sequence[Credit], table: Float,
    limit: Int64, threads: int | None,
) -> Float:  # fmt: skip
    """Return the sums of :func:`_with_replacement` for the groups ``rows``, whose candidates have two masses."""
    order = np.argsort(groups.drawn[rows], kind="stable")  # sets with as many draws share the probabilities of hits
    ordered = rows[order]
    whole, drawn = whole.take(ordered), groups.drawn[ordered]
    logs, parts = logs_and_parts(2 * int(max(drawn.max(initial=0), whole.number.max(initial=0))))
    by_place = np.array([credit.part == "place" for credit in credits])
    inputs = (
        whole.offsets, whole.number, whole.mass, relevant[ordered], drawn, limit[ordered], by_place,
        credits[0].part == "first", table, logs, parts,
    )  # fmt: skip
    sums = np.empty((rows.size, len(credits)))
    run_kernel(two_class_sums, rows.size, inputs, sums, size=GROUPS_PER_BLOCK, threads=threads)
    return sums[np.argsort(order, kind="stable")]


def _item_by_item(
    groups: TargetSets, whole: Classes, rows: Int64, relevant: Int64, credits: Sequence[Credit], table: Float,
    limit: Int64, threads: int | None,
) -> Float:  # fmt: skip
    """Return the sums of :func:`_with_replacement` for the groups ``rows``, computed one relevant item at a time.

    A random order is a tie of all candidates with all relevant items.
    """
    top = np.minimum(limit[rows], table.shape[1])
    pairs = np.maximum(np.minimum(relevant[rows], top), 1)  # further items are beyond the last rank with credit
    of = np.repeat(rows, pairs)
    tied = replace(
        groups,
        offsets=np.append(0, np.cumsum(pairs)),
        above=np.zeros(of.size),
        tied=groups.pool[of],
        ties=(relevant[of] - 1).astype(np.int32),
        pool=groups.pool[rows],
        drawn=groups.drawn[rows],
        level=whole.take(of),
    )
    place = ranges(1, pairs).astype(np.float64)
    share = np.stack([place if credit.part == "place" else np.ones(of.size) for credit in credits], axis=1)
    arrays, logs, parts = tied.kernel_arguments(with_replacement=True)
    inputs = (
        np.ones(rows.size, np.bool_), *arrays, True, False, credits[0].part == "first", share, table, limit[rows],
        logs, parts,
    )  # fmt: skip
    sums = np.zeros((rows.size, 2, table.shape[0]))
    run_kernel(separate_moments, rows.size, inputs, sums, size=GROUPS_PER_BLOCK, threads=threads)
    return sums[:, 0]


def _without_replacement(credit: Credit, relevant: Int64, groups: TargetSets, table: Float, limit: Int64) -> Float:
    """Return, for each group, the expected sum of a credit in random order, for draws without replacement.

    ``relevant`` is the number of relevant items ranked together in each group, ``table`` (ranks) what a relevant item
    adds at each rank, and ranks beyond ``limit`` (per group) add nothing.
    """
    drawn = groups.drawn
    sizes = relevant + drawn
    if credit.part == "each":  # every rank holds a relevant item with probability R / size
        cumulated = np.append(0.0, np.cumsum(table))
        return np.asarray(cumulated[np.minimum(np.minimum(sizes, limit), table.size)] * relevant / sizes)
    kinds, inverse = np.unique(np.column_stack([relevant, drawn, limit]), axis=0, return_inverse=True)
    columns = [np.ascontiguousarray(column) for column in kinds.T]
    places = 1 if credit.part == "first" else int(relevant.max(initial=1))
    sums = np.empty(len(kinds))
    inputs = (*columns, places, credit.part == "place", table)
    run_kernel(random_order_sums, len(kinds), inputs, sums, size=GROUPS_PER_BLOCK)
    return np.asarray(sums[inverse.ravel()])


@njit(nogil=True, cache=True)
def random_order_sums(
    begin: int, end: int, relevant: Int64, drawn: Int64, limit: Int64, items: int, by_place: bool, credit: Float,
    out: Float,
) -> None:  # fmt: skip
    """Fill ``out[s]`` with the expected sum of credits of target set s if all its items are in random order.

    In a set of S items, R of them relevant, the i-th relevant one has rank p with probability C(p-1, i-1) C(S-p, R-i) /
    C(S, R).

    - ``begin``, ``end``: sets s in ``begin`` to ``end`` - 1 are computed
    - ``relevant``, ``drawn``: for each set, the numbers of relevant items and of others, which are ranked together
    - ``limit``: for each set, the last rank with credit
    - ``items``: only the best ``items`` relevant items of a set add to the sum
    - ``by_place``: whether the credit of the i-th relevant item is multiplied by i
    - ``credit[r - 1]``: what a relevant item at rank r adds
    """
    for row in range(begin, end):
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

    A set has relevant items, ranked together with draws, with replacement, from candidates of two different masses.

    - ``begin``, ``end``: sets s in ``begin`` to ``end`` - 1 are computed
    - ``offsets``: the candidates of set s are the classes ``offsets[s]:offsets[s + 1]``
    - ``number``, ``mass``: class c has ``number[c]`` candidates of mass ``mass[c]`` each
    - ``relevant``, ``drawn``: for each set, the numbers of relevant items and of draws
    - ``limit``: for each set, the last rank with credit
    - ``by_place``: for each metric, whether the credit of the i-th relevant item is multiplied by i
    - ``only_first``: whether only the best relevant item adds to the sum
    - ``credit``: for each metric and rank, what a relevant item at that rank adds
    - ``logs[x]``, ``parts[x]``: log(x!) and 1 / x

    Of k candidates above an item, the mass has the same distribution for every relevant item; only the probability of k
    differs. So it is spread over the nodes of ``_places.spread_over_nodes`` once for each k, and the probabilities of
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

    All ``m`` relevant items are in random order with all candidates. Numbers k of candidates above an item are visited
    in blocks (see ``_places``), until no item gets credit any more.

    - ``number``, ``mass``: each of the two classes c has ``number[c]`` candidates of mass ``mass[c]`` each
    - ``q``: the number of draws
    - ``in_reach``: for each node, the probability of so few hits that an item can get credit
    - ``logs[x]``: log(x!)
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
    """Add to the row of each relevant item in ``above`` the vector ``here``, times the probability of a position.

    For the i-th of ``m`` relevant items, it is the probability that ``k`` of ``n`` candidates are above the item.
    Return the probability for the last row.

    - ``here``: the distribution of the mass of k candidates, as probabilities at nodes (fixed masses)
    - ``weight``: a factor of all that is added
    - ``low``, ``high``: only the nodes from ``low`` up to ``high`` of ``here`` are not zero
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
