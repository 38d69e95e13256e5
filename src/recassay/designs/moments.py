"""Mean and variance of a metric over the draws of target sets, and its values for a random and for the best order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly, row_groups
from recassay.data.standings import Standings
from recassay.designs import _kernels
from recassay.designs._arguments import kernel_arguments
from recassay.designs.grammar import Design
from recassay.designs.random_order import GROUPS_PER_BLOCK, RandomOrders
from recassay.designs.sets import TargetSets, begins_level
from recassay.metrics.credit import Credit
from recassay.threads import each_block

Float = NDArray[np.float64]

SHALLOW = 20  # down to this rank all relevant items of a set are computed jointly, whatever the cost
STEPS = 400_000  # further down they are computed jointly if a set takes at most this many steps


@dataclass(frozen=True, eq=False)
class CreditMoments:
    """Mean and variance of one metric, with an entry per group of target sets (the candidates items are ranked in).

    ``mean`` and ``variance`` are over random draws and random orders of ties. ``random`` is the mean if all items are
    in random order, and ``best`` the largest possible value.
    """

    mean: Float
    variance: Float
    random: Float
    best: Float


def credit_moments(
    standings: Standings,
    design: Design,
    groups: TargetSets,
    credits: Mapping[str, Credit],
    variance: bool,
    threads: int | None,
    random_orders: RandomOrders,
) -> dict[str, CreditMoments]:
    """Return, by name, mean and variance of all metrics that sum a credit for the rank of each relevant item.

    Metrics whose credit ends at the same rank are computed together. Without ``variance``, only means are computed
    where that is cheaper. ``random_orders`` caches the value of each metric for items in random order, for the next
    system with the same queries.
    """
    apart = design.relevant == "1R"
    relevant = np.ones_like(groups.relevant) if apart else groups.relevant
    sizes = relevant + groups.drawn
    largest = int(sizes.max(initial=1))
    found: dict[str, CreditMoments] = {}
    families: dict[tuple[int, bool, bool], list[str]] = {}
    for heading, credit in credits.items():
        deepest = int(relevant.max(initial=1)) if credit.cut_at_relevant else largest
        last = min(deepest, credit.cut or deepest)
        only_first = credit.part == "first" and not apart
        families.setdefault((last, credit.cut_at_relevant, only_first), []).append(heading)
    for (last, at_relevant, only_first), headings in families.items():
        limit = relevant if at_relevant else np.full(groups.owner.size, last)
        table = np.stack([credits[heading].table(last) for heading in headings])
        share = np.stack([_shares(standings, groups, credits[heading], apart) for heading in headings], axis=1)
        mean, second = credit_sums(design, groups, only_first, share, table, limit, variance, threads)
        family = [credits[heading] for heading in headings]
        random_sums = random_orders.sums(groups, relevant, family, table, limit, threads)
        for column, heading in enumerate(headings):
            credit = credits[heading]
            own = _norm(standings, groups, credit, relevant, apart)
            norm = own * groups.relevant if apart else own  # 1R: the mean over the sets of a user
            scaled = mean[:, column] / norm
            spread = np.maximum(second[:, column] / norm**2 - scaled**2, 0.0)
            spread[spread < 1e-13 * np.maximum(scaled**2, 1e-300)] = 0.0  # rounding errors of values that cannot vary
            random = random_sums[column]
            best = _best(credit, relevant, table[column], limit)
            if credit.weight is not None and not apart:  # the weights sum to the norm
                random, best = random / relevant, np.ones_like(best)
                own = np.ones_like(own)
                spread[_unequal(standings, groups, credit)] = np.nan
            found[heading] = CreditMoments(scaled, spread, random / own, best / own)
    return found


def credit_sums(
    design: Design,
    groups: TargetSets,
    only_first: bool,
    share: Float,
    table: Float,
    limit: NDArray[np.int64],
    variance: bool,
    threads: int | None,
) -> tuple[Float, Float]:
    """Return means and second moments (groups, metrics) of the sums of ``share`` x credit over relevant items.

    A group is a set of relevant items ranked among the same candidates; the moments are over random draws of candidates
    and orders of ties. ``share`` (pairs of query and relevant item, metrics) is a factor of each item's credit,
    ``table`` (metrics, ranks) is the credit at each rank, and ranks beyond ``limit`` (per group) have none. With
    ``only_first``, only the best relevant item of a group gets credit. A second moment is NaN if it is not wanted
    (``variance``) or would cost too much.
    """
    n, apart, again = groups.owner.size, design.relevant == "1R", design.with_replacement
    limited = bool((limit < table.shape[1]).any())
    has_ties = np.bincount(row_groups(groups.offsets), weights=groups.tied > 0, minlength=n) > 0
    single = np.full(n, only_first) | (groups.relevant == 1)
    if not variance and not limited:  # the mean of a sum is the sum of the means: only ties can be worth the joint walk
        jointly = has_ties & ((table.shape[1] <= SHALLOW) | _ties_are_long(groups, table.shape[1]))
    elif limited or table.shape[1] <= SHALLOW:
        jointly = np.ones(n, np.bool_)
    else:
        jointly = _cheap(groups, table.shape[1])
    # With ties and replacement the separate means over positions are exact; the joint walk adds the covariances.
    by_place = has_ties & again
    if again:
        jointly = jointly & ~(by_place & (single | (not variance)))
    moments, means = np.zeros((n, 2, table.shape[0])), np.zeros((n, 2, table.shape[0]))
    read, logs, parts = kernel_arguments(groups, with_replacement=again)
    share, table, limit, jointly = readonly(share), readonly(table), readonly(limit), readonly(jointly)
    one_by_one = readonly(~jointly | by_place)
    kernels: Any = _kernels  # mypy does not see the parameters of compiled functions

    def work(begin: int, end: int) -> None:
        if one_by_one[begin:end].any():
            kernels.separate_moments(
                begin, end, one_by_one, *read, again, apart, only_first, share, table, limit, logs, parts, means
            )
        if jointly[begin:end].any():
            kernels.joint_moments(
                begin, end, jointly, *read, again, apart, only_first, share, table, limit, logs, moments
            )  # fmt: skip

    each_block(work, n, size=GROUPS_PER_BLOCK, threads=threads)
    both = by_place & jointly
    moments[both, 1] += means[both, 0] ** 2 - moments[both, 0] ** 2
    moments[one_by_one, 0] = means[one_by_one, 0]
    moments[~jointly, 1] = np.where(single, 1.0, np.nan)[~jointly, None] * means[~jointly, 1]
    return moments[:, 0], moments[:, 1]


def _states(groups: TargetSets, ranks: int) -> Float:
    """Return for each group how many states of the joint walk have a probability that matters."""
    sampled = groups.drawn < groups.pool
    return np.where(sampled, np.minimum(ranks, 10 * np.sqrt(groups.drawn) + 1), 1.0)


def _ties_are_long(groups: TargetSets, ranks: int) -> NDArray[np.bool_]:
    """Return whether all positions in the ties of a group are more than the steps of the joint walk, without ties."""
    positions = np.add.reduceat(np.append(groups.tied + 1.0, 0.0), groups.offsets[:-1])
    found: NDArray[np.bool_] = (
        positions * np.minimum(ranks, groups.drawn + 1) > groups.relevant * _states(groups, ranks) ** 2
    )
    return found


def _cheap(groups: TargetSets, ranks: int) -> NDArray[np.bool_]:
    """Return whether the second moment of each group takes at most STEPS steps to compute.

    A group is a set of relevant items ranked among the same candidates, and ``ranks`` is the number of ranks with
    credit.
    """
    states = _states(groups, ranks)
    of = row_groups(groups.offsets)
    room = np.minimum(np.minimum(groups.tied, groups.drawn[of]), ranks)
    of_ties = np.where(groups.tied > 0, states[of] ** 2 * np.where(groups.ties > 0, room**2, room), 0.0)
    work = groups.relevant * states**2 + np.bincount(of, weights=of_ties, minlength=groups.owner.size)
    cheap: NDArray[np.bool_] = work <= STEPS
    return cheap


def _shares(standings: Standings, groups: TargetSets, credit: Credit, apart: bool) -> Float:
    """Return the factor by which each relevant item's credit is multiplied, such as a weight from its popularity.

    A metric is the sum, over relevant items, of the factor times a credit for the item's rank. Tied items get the mean
    of their factors. With ``apart`` each relevant item is ranked on its own, and all factors are 1.
    """
    if credit.weight is not None and not apart:
        weight = credit.weight(standings.popularity[standings.item[groups.order]])
        of_level = np.cumsum(begins_level(groups.ties, groups.offsets))  # tied items are exchangeable: use their mean
        return (np.bincount(of_level, weights=weight) / np.maximum(np.bincount(of_level), 1))[of_level]
    return np.ones(groups.order.size) if apart else credit.parts(groups.offsets)


def _unequal(standings: Standings, groups: TargetSets, credit: Credit) -> NDArray[np.bool_]:
    """Return, for each group of relevant items, whether it has tied items of unequal weight (by popularity).

    The variance of a metric with such weights (``credit.weight``) is then unknown.
    """
    assert credit.weight is not None
    weight = credit.weight(standings.popularity[standings.item[groups.order]])
    same = np.isclose(weight, _shares(standings, groups, credit, apart=False), rtol=1e-12, atol=0.0)
    found: NDArray[np.bool_] = np.bincount(row_groups(groups.offsets), weights=~same, minlength=groups.owner.size) > 0
    return found


def _norm(
    standings: Standings,
    groups: TargetSets,
    credit: Credit,
    relevant: NDArray[np.int64],
    apart: bool,
) -> Float:
    """Return each group's normaliser: the divisor of its sum of credits, such as the sum for an ideal list.

    All relevant items of a group are ranked among the same candidates. ``relevant`` is the number of them that are
    ranked together; with ``apart``, each is ranked on its own. If items have weights, the divisor is the sum of the
    weights of the group, NaN if that is 0.
    """
    if credit.weight is not None and not apart:
        weight = credit.weight(standings.popularity[standings.item[groups.order]])
        total = np.bincount(row_groups(groups.offsets), weights=weight, minlength=groups.owner.size)
        return np.where(total > 0, total, np.nan)
    return np.maximum(credit.norm(relevant), 1e-300)


def _best(credit: Credit, relevant: NDArray[np.int64], table: Float, limit: NDArray[np.int64]) -> Float:
    """Return for each group the sum of credits, before division by the norm, if all relevant items have the top ranks.

    ``relevant`` is the number of relevant items ranked together, ``table`` is the credit at each rank, and ranks beyond
    ``limit`` (per group) have none.
    """
    part = {"each": 1.0, "first": 0.0, "place": 1.0}[credit.part]
    steps = np.arange(1, table.size + 1) * 1.0 if credit.part == "place" else np.full(table.size, part)
    if table.size and credit.part == "first":
        steps[0] = 1.0
    sums = np.append(0.0, np.cumsum(steps * table))
    return sums[np.minimum(np.minimum(relevant, limit), table.size)]
