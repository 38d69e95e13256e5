"""The metrics of one system for samples of every size, summed over groups of users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int64
from recassay.columnar.identity import id_keys
from recassay.columnar.layout import ranges, readonly, run_kernel
from recassay.data.standings import Standings
from recassay.designs._single import NEGLIGIBLE, add_lone_items
from recassay.designs.count_moments import pair_moments
from recassay.designs.grammar import Design
from recassay.designs.sets import group_items
from recassay.metrics.base import Metric
from recassay.metrics.credit import PairFormula, counts_pairs, credit_of
from recassay.threads import each_block

FEW = 64  # trials up to which the probabilities for two weights are normalised to sum to 1
NODES = np.array([0.0694318442029737, 0.3300094782075719, 0.6699905217924281, 0.9305681557970263])  # Gauss, [0, 1]
WEIGHTS = np.array([0.1739274225687269, 0.3260725774312731, 0.3260725774312731, 0.1739274225687269])
GROUPS = 1024  # more users than this are put into this many groups of equal size
CASES_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """Metric values of one system: ``sums[group, size, metric]`` over the relevant items of a group of users.

    ``counts`` are the numbers of relevant items of the groups. ``spread[size, metric]`` is the sum, over all relevant
    items, of the variance of their value over random draws.
    """

    sums: Float
    counts: Int64
    spread: Float

    @classmethod
    def of(cls, group: Int64, moments: Iterator[tuple[Float, Float]]) -> MeasuredSystem:
        """Return the sums over groups, from (means, variances) of the relevant items for each sample size.

        ``group`` is the group of users that each relevant item belongs to. Both moments are tables (items, metrics).
        """
        sums, spread = [], []
        groups = int(group.max(initial=-1)) + 1
        for mean, variance in moments:
            sums.append([np.bincount(group, weights=column, minlength=groups) for column in mean.T])
            spread.append(variance.sum(axis=0))
        return cls(np.array(sums).transpose(2, 0, 1), np.bincount(group, minlength=groups), np.array(spread))

    @property
    def mean(self) -> Float:
        """Return the mean over relevant items for each sample size (rows) and metric (columns)."""
        mean: Float = self.sums.sum(axis=0) / self.counts.sum()
        return mean

    @property
    def deviation(self) -> Float:
        """Return the standard deviation of the mean over random draws, for each sample size and metric."""
        deviation: Float = np.sqrt(self.spread) / self.counts.sum()
        return deviation


def user_groups(standings: Standings) -> Int64:
    """Return, for each query (user) in ``standings``, the number of its group of users.

    With at most GROUPS queries, each one is a group of its own. Otherwise there are GROUPS groups of about equal size,
    and the id of a query determines its group.
    """
    queries = standings.queries.len()
    if queries <= GROUPS:
        return np.arange(queries)
    group = np.empty(queries, np.int64)
    group[np.argsort(id_keys(standings.queries), kind="stable")] = np.arange(queries) * GROUPS // queries
    return group


def measure_system(
    standings: Standings,
    users: Int64,
    design: Design,
    sizes: Sequence[int],
    metrics: Mapping[str, Metric],
    *,
    threads: int | None = None,
) -> MeasuredSystem:
    """Return the expectation of a system's metrics over samples of each of ``sizes`` (ascending).

    ``design`` says how candidates are drawn and from which set; it has a closed form, and its own number of candidates
    is not used. ``users`` has the group of each query (see :func:`user_groups`). Without replacement, a sample larger
    than the pool has all candidates.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> from recassay.metrics.registry import parse_metrics
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> standings = ra.play(ra.models.Popular(), fold, ra.protocols.next_item()).standings
    >>> users, metrics = user_groups(standings), parse_metrics("hit@5")
    >>> measure_system(standings, users, ra.designs.parse("AI-1R-NN(1)"), [5, 20], metrics).mean.round(3).tolist()
    [[0.874], [0.395]]
    """
    design, values = replace(design, n=max(sizes), resample="per_rating"), list(metrics.values())
    cases = group_items(standings, design, "all")
    again = design.with_replacement
    group, table = users[cases.owner], credit_table(metrics, int(cases.drawn.max(initial=0)) + 1)
    (_, above, tied, _, pool, drawn, *classes), logs, parts = cases.kernel_arguments(with_replacement=again)
    known = [readonly(array) for array in (group, above, tied, pool, drawn, *classes)]
    tables = [readonly(array) for array in (np.array(sizes), np.ones((group.size, len(table))), table)]
    shape, kernel = (int(group.max(initial=-1)) + 1, len(sizes), len(values)), cast(Any, add_lone_items)

    def work(begin: int, end: int) -> tuple[Float, Float]:
        sums, spread = np.zeros(shape), np.zeros(shape[1:])
        kernel(begin, end, *known, again, *tables, logs, parts, sums, spread)
        return sums, spread

    blocks = each_block(work, group.size, size=CASES_PER_BLOCK, threads=threads)
    sums, spread = (np.sum(parts, axis=0) for parts in zip(*blocks, strict=True))
    for column, metric in enumerate(values):
        if isinstance(formula := metric.rank_formula(), PairFormula):
            for place, size in enumerate(sizes):
                pairs = pair_moments(formula, design, replace(cases, drawn=np.minimum(cases.drawn, size)))
                sums[:, place, column] = np.bincount(group, np.nan_to_num(pairs.mean), shape[0])
                spread[place, column] = np.nansum(pairs.variance)
    return MeasuredSystem(sums, np.bincount(group, minlength=shape[0]), spread)


def measure_approximately(
    standings: Standings, users: Int64, design: Design, sizes: Sequence[int], metrics: Mapping[str, Metric], *,
    threads: int | None = None,
) -> MeasuredSystem:  # fmt: skip
    """Return approximate expectations of metrics, for draws by popularity without replacement.

    The parameters are those of :func:`measure_system`. Only two weights are used: all candidates above an item get
    their mean weight, and so do all below it. With ties, the boundary between above and below is put at four Gauss
    nodes among them.
    """
    design = replace(design, n=max(sizes), resample="per_rating")
    uniform = replace(design, by="uniform", replace=False)
    cases, heavy = (group_items(standings, law, "all") for law in (uniform, design))
    nodes = np.where(cases.tied > 0, NODES.size, 1)
    case, node, starts = np.repeat(np.arange(nodes.size), nodes), ranges(0, nodes), np.cumsum(nodes) - nodes
    at = np.where(nodes[case] > 1, NODES[node], 0.0)
    weight = np.where(nodes[case] > 1, WEIGHTS[node], 1.0)[:, None]
    above, load = (one.above[case] + at * one.tied[case] for one in (cases, heavy))
    columns = above, cases.pool[case], load, heavy.pool[case]
    credit = credit_table(metrics, int(cases.drawn.max(initial=0)) + 1)
    pairs = np.array([counts_pairs(metric) for metric in metrics.values()])
    values, times = np.zeros((2, case.size, len(metrics) + 1)), np.zeros(case.size)

    def moments(q: int) -> tuple[Float, Float]:
        inputs = (*columns, q, credit)
        run_kernel(two_weight_moments, case.size, inputs, *values, times, size=CASES_PER_BLOCK, threads=threads)
        first = np.add.reduceat(weight * values[0], starts)
        values[1, :, -1] += (values[0, :, -1] - first[case, -1]) ** 2
        second = np.add.reduceat(weight * values[1], starts)
        mean, variance = first[:, :-1], second[:, :-1] - first[:, :-1] ** 2
        mean[:, pairs], variance[:, pairs] = 1 - first[:, -1:] / q, second[:, -1:] / q**2
        whole = cases.pool <= q  # a sample of all candidates is the full ranking
        ranks = cases.above[whole], cases.above[whole] + cases.tied[whole] + 1
        low, high = (np.minimum(rank, credit.shape[1]).astype(int) for rank in ranks)
        sums = np.pad(np.cumsum([credit, credit**2], axis=2), ((0, 0), (0, 0), (1, 0)))
        of_whole = (sums[:, :, high] - sums[:, :, low]) / (cases.tied[whole] + 1)
        pool, tied = np.maximum(cases.pool[whole], 1), cases.tied[whole]
        mean[whole], variance[whole] = of_whole[0].T, (of_whole[1] - of_whole[0] ** 2).T
        mean[np.ix_(whole, pairs)] = (1 - (ranks[0] + tied / 2) / pool)[:, None]
        variance[np.ix_(whole, pairs)] = (tied * (tied + 2) / 12 / pool**2)[:, None]
        return mean, np.maximum(variance, 0.0)

    return MeasuredSystem.of(users[cases.owner], map(moments, sizes))


def credit_table(metrics: Mapping[str, Metric], ranks: int) -> Float:
    """Return the value of each metric (rows) for a single relevant item at ranks 1, 2, ... (columns); 0 for AUC.

    The table ends at the last rank at which some metric is not 0, or at rank ``ranks``.
    """
    credits = [None if counts_pairs(metric) else credit_of(metric) for metric in metrics.values()]
    cuts = [0 if credit is None else min(credit.cut_of_one or ranks, ranks) for credit in credits]
    table = np.zeros((len(credits), max(cuts, default=1)))
    for row, (credit, cut) in enumerate(zip(credits, cuts, strict=True)):
        if credit is not None:
            table[row, :cut] = credit.of_one(np.arange(1.0, cut + 1))
    return table


@njit(nogil=True, cache=True)
def two_weight_moments(
    begin: int, end: int, above: Float, pool: Float, load: Float, mass: Float, drawn: int, credit: Float, first: Float,
    second: Float, times: Float,
) -> None:  # fmt: skip
    """Fill rows begin..end-1 of ``first`` and ``second`` with means and mean squares over draws by weight.

    A row is a relevant item, a column a metric. Rows with too few candidates are left out.

    - ``above``, ``pool``: the numbers of candidates above the item, and of all candidates
    - ``load``, ``mass``: the total weights of the same candidates
    - ``drawn``: the number of candidates in a sample
    - ``credit[metric, x]``: the value of a metric with x of the sampled candidates above the item
    - ``first``, ``second``: the mean and the mean square of each metric; the last column has mean and variance of x
    - ``times``: lower bounds of the times that :func:`two_weight_probabilities` searches for, updated for a larger
      sample
    """
    chances = np.zeros(credit.shape[1] + 2)
    for row in range(begin, end):
        if drawn >= pool[row]:
            continue
        low, high, mean, variance, times[row] = two_weight_probabilities(
            above[row], pool[row], load[row], mass[row], drawn, times[row], credit.shape[1], chances
        )
        first[row], second[row] = 0.0, 0.0
        first[row, -1], second[row, -1] = mean, variance
        for metric in range(credit.shape[0]):
            for x in range(low, high + 1):
                value = chances[x] * credit[metric, x]
                first[row, metric] += value
                second[row, metric] += value * credit[metric, x]


@njit(nogil=True, cache=True)
def two_weight_probabilities(
    gap: float, pool: float, load: float, mass: float, q: int, time: float, most: int, chances: Float
) -> tuple[int, int, float, float, float]:
    """Fill ``chances[x]`` with the probability that x candidates above an item are drawn, by weight and none twice.

    A draw takes candidates in proportion to their weights. It is computed as if there were only two different weights:
    ``gap`` of ``pool`` candidates are above, with the total weight ``load``; all have the total weight ``mass``. Only x
    below ``most`` are computed. Return the first and the last x computed, mean and variance of x, and the time at which
    ``q`` arrivals are expected; ``time`` is a lower bound of it.

    Every candidate arrives after an exponential time with its weight as the rate; the first q to arrive are the sample.
    Given exactly q arrivals, the number above has about the variance of a product of two normal densities. A binomial
    distribution with this mean and variance is used. Both are exact if all weights are equal.
    """
    rest, light = pool - gap, mass - load
    if gap <= 0 or load <= 0 or rest <= 0 or light <= 0:  # all candidates that can be drawn are on one side
        x = 0 if gap <= 0 or load <= 0 else q
        return (*certain_count(x, most, chances), time)
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
        return (*certain_count(int(np.rint(mean)), most, chances), time)
    chance = max(1 - variance / mean, 1e-12)
    trials = mean / chance
    first, last = binomial_probabilities(trials, chance, most, chances)
    return first, last, mean, variance, time


@njit(nogil=True, cache=True)
def certain_count(x: int, most: int, chances: Float) -> tuple[int, int, float, float]:
    """Write 1 to ``chances[x]``, where ``x`` is the only possible number of sampled candidates above an item.

    Return first and last number (``x``), mean and variance; last is -1 if ``x`` is not below ``most``.
    """
    if x >= most:
        return 0, -1, float(x), 0.0
    chances[x] = 1.0
    return x, x, float(x), 0.0


@njit(nogil=True, cache=True)
def binomial_probabilities(trials: float, chance: float, most: int, chances: Float) -> tuple[int, int]:
    """Fill ``chances[x]``, x < ``most``, with the probability of x hits in ``trials`` trials, each with ``chance``.

    Return the first and the last x that are not negligible. ``trials`` need not be whole. Up to FEW trials, the
    probabilities are normalised to sum to 1.
    """
    top = int(np.ceil(trials))
    mode = max(0, min(int((trials + 1) * chance), top, most - 1))
    ways = math.lgamma(trials + 1) - math.lgamma(mode + 1.0) - math.lgamma(max(trials - mode, 0.0) + 1)
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
