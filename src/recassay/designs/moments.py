"""Mean and variance of a metric over the draws of target sets, and its values for a random and for the best order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import row_groups, run_kernel
from recassay.data.standings import Standings
from recassay.designs import _joint, _single
from recassay.designs.grammar import Design
from recassay.designs.random_order import GROUPS_PER_BLOCK, RandomOrders
from recassay.designs.sets import TargetSets, begins_level
from recassay.metrics.credit import Credit

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


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics that are computed together, because their credit ends at the same rank.

    - ``credits``: the credit of each metric, as a dict by the metric's heading
    - ``relevant``: for each group, the number of relevant items that are ranked together
    - ``table``: for each metric and rank, the credit
    - ``limit``: for each group, the last rank with credit
    - ``only_first``: whether only the best relevant item gets credit
    """

    credits: Mapping[str, Credit]
    relevant: Int64
    table: Float
    limit: Int64
    only_first: bool

    @classmethod
    def each(cls, design: Design, groups: TargetSets, credits: Mapping[str, Credit]) -> list[Family]:
        """Return the metrics ``credits`` in families that are computed together.

        ``groups`` are the target sets of the design: the candidates that relevant items are ranked among.
        """
        apart = design.relevant == "1R"
        relevant = np.ones_like(groups.relevant) if apart else groups.relevant
        largest = int((relevant + groups.drawn).max(initial=1))
        families: dict[tuple[int, bool, bool], dict[str, Credit]] = {}
        for heading, credit in credits.items():
            deepest = int(relevant.max(initial=1)) if credit.cut_at_relevant else largest
            key = (min(deepest, credit.cut or deepest), credit.cut_at_relevant, credit.part == "first" and not apart)
            families.setdefault(key, {})[heading] = credit
        return [
            cls(
                members, relevant, np.stack([credit.table(last) for credit in members.values()]),
                relevant if at_relevant else np.full(groups.owner.size, last), only_first,
            )
            for (last, at_relevant, only_first), members in families.items()
        ]  # fmt: skip


def credit_moments(
    standings: Standings,
    design: Design,
    groups: TargetSets,
    credits: Mapping[str, Credit],
    variance: bool,
    threads: int | None,
    random_orders: RandomOrders,
) -> dict[str, CreditMoments]:
    """Return mean and variance, as a dict by heading, of the metrics that sum a credit for each relevant item's rank.

    Without ``variance``, only means are computed where that is cheaper. ``random_orders`` caches the value of each
    metric for items in random order, for the next system with the same queries.
    """
    apart, known = design.relevant == "1R", random_and_best(standings, design, groups, credits, threads, random_orders)
    found = {}
    for family in Family.each(design, groups, credits):
        weightings = [
            _credit_weights(standings, groups, credit, family.relevant, apart) for credit in family.credits.values()
        ]
        share = np.stack([own for own, _, _ in weightings], axis=1)
        mean, second = credit_sums(
            design, groups, family.only_first, share, family.table, family.limit, variance, threads
        )
        for column, (heading, (_, norm, unequal)) in enumerate(zip(family.credits, weightings, strict=True)):
            scaled = mean[:, column] / norm
            spread = np.maximum(second[:, column] / norm**2 - scaled**2, 0.0)
            spread[spread < 1e-13 * np.maximum(scaled**2, 1e-300)] = 0.0  # rounding errors of values that cannot vary
            spread[unequal] = np.nan  # unknown
            found[heading] = CreditMoments(scaled, spread, *known[heading])
    return found


def random_and_best(
    standings: Standings,
    design: Design,
    groups: TargetSets,
    credits: Mapping[str, Credit],
    threads: int | None,
    random_orders: RandomOrders,
) -> dict[str, tuple[Float, Float]]:
    """Return (random, best) for each metric, as a dict by heading, with an entry per group of target sets.

    ``random`` is the mean if all items are in random order, and ``best`` the largest possible value.
    """
    apart, found = design.relevant == "1R", {}
    for family in Family.each(design, groups, credits):
        sums = random_orders.sums(
            standings, design, groups, family.relevant, list(family.credits.values()), family.table, family.limit,
            threads,
        )  # fmt: skip
        for (heading, credit), random, table in zip(family.credits.items(), sums, family.table, strict=True):
            if credit.weight is not None and not apart:  # the weights sum to the norm
                found[heading] = random / family.relevant, np.ones(random.size)
            else:
                norm = np.maximum(credit.norm(family.relevant), 1e-300)
                found[heading] = random / norm, _best_credit_sums(credit, family.relevant, table, family.limit) / norm
    return found


def credit_sums(
    design: Design,
    groups: TargetSets,
    only_first: bool,
    share: Float,
    table: Float,
    limit: Int64,
    variance: bool,
    threads: int | None,
) -> tuple[Float, Float]:
    """Return means and second moments of the sums of ``share`` x credit over the relevant items of each group.

    Both results have a row per group and a column per metric. A group is a set of relevant items ranked among the same
    candidates; the moments are over random draws of candidates and orders of ties. A second moment is NaN without
    ``variance``, or if it would cost too much.

    - ``only_first``: whether only the best relevant item of a group gets credit
    - ``share``: for each pair of a query and a relevant item, and each metric, a factor of the item's credit
    - ``table``: for each metric and rank, the credit
    - ``limit``: for each group, the last rank with credit
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
        jointly = _has_cheap_variance(groups, table.shape[1])
    jointly = jointly & (groups.relevant > 1) & ~_ties_take_too_long(groups, table.shape[1])
    # With ties and replacement the separate means over positions are exact; the joint walk adds the covariances.
    by_place = has_ties & again
    if again:
        jointly = jointly & ~(by_place & (single | (not variance)))
    one_by_one = ~jointly | by_place
    moments, means = np.zeros((n, 2, table.shape[0])), np.zeros((n, 2, table.shape[0]))
    arrays, logs, parts = groups.kernel_arguments(with_replacement=again)
    inputs = (*arrays, again, apart, only_first, share, table, limit, logs)
    if one_by_one.any():
        run_kernel(
            _single.separate_moments, n, (one_by_one, *inputs, parts), means, size=GROUPS_PER_BLOCK, threads=threads
        )
    if jointly.any():
        run_kernel(_joint.joint_moments, n, (jointly, *inputs), moments, size=GROUPS_PER_BLOCK, threads=threads)
    both = by_place & jointly
    moments[both, 1] += means[both, 0] ** 2 - moments[both, 0] ** 2
    moments[one_by_one, 0] = means[one_by_one, 0]
    moments[~jointly, 1] = np.where(single, 1.0, np.nan)[~jointly, None] * means[~jointly, 1]
    return moments[:, 0], moments[:, 1]


def sampled_values(
    credit: Credit, ranks: Int64, place: Int64, starts: Int64, relevant: Int64, separate: bool, popularity: Int64
) -> Float:
    """Return a table with a row per draw and a column per target set: the value of the set in the draw.

    A target set holds relevant items (pairs of query and item) and the candidates they are ranked among.

    - ``ranks``: for each draw and pair, the rank of the relevant item
    - ``place``: for each draw and pair, the number of relevant items above the item
    - ``starts``, ``relevant``: for each set, its first pair and its number of relevant items
    - ``separate``: whether each relevant item is ranked on its own; the value is then the mean over the items
    - ``popularity``: for each pair, the popularity of the item
    """
    earned = credit.table(int(ranks.max()))[ranks - 1]
    within = np.ones_like(relevant) if separate else relevant  # relevant items of one set
    if credit.cut_at_relevant:
        earned = earned * (ranks <= np.repeat(within, relevant))
    if credit.weight is not None and not separate:
        weight = credit.weight(popularity)
        norm = np.add.reduceat(weight, starts)
        norm = np.where(norm > 0, norm, np.nan)
    else:
        weight = credit.parts_at(place)
        norm = credit.norm(within) * (relevant if separate else 1)
    sums: Float = np.add.reduceat(earned * weight, starts, axis=1)
    value: Float = sums / norm
    return value


def _states_per_step(groups: TargetSets, ranks: int) -> Float:
    """Return, for each group, about how many states (numbers of candidates passed) a step of joint_moments keeps."""
    sampled = groups.drawn < groups.pool
    return np.where(sampled, np.minimum(ranks, 10 * np.sqrt(groups.drawn) + 1), 1.0)


def _ties_are_long(groups: TargetSets, ranks: int) -> Bool:
    """Return, for each group, whether positions within ties cost more steps than all else in joint_moments."""
    positions = np.add.reduceat(np.append(groups.tied + 1.0, 0.0), groups.offsets[:-1])
    steps = positions * np.minimum(ranks, groups.drawn + 1)
    return np.asarray(steps > groups.relevant * _states_per_step(groups, ranks) ** 2)


def _candidates_in_reach(groups: TargetSets, ranks: int) -> Float:
    """Return, for each relevant item, how many candidates of its tie can be above it at a rank with credit."""
    return np.minimum(np.minimum(groups.tied, groups.drawn[row_groups(groups.offsets)]), ranks)


def _ties_take_too_long(groups: TargetSets, ranks: int) -> Bool:
    """Return, for each group, whether ties of several relevant items would take joint_moments too many steps."""
    steps = np.where(groups.ties > 0, (groups.ties + 1) * (_candidates_in_reach(groups, ranks) + 1) ** 2, 0.0)
    return np.asarray(np.maximum.reduceat(np.append(steps, 0.0), groups.offsets[:-1]) > _joint.WORK)


def _has_cheap_variance(groups: TargetSets, ranks: int) -> Bool:
    """Return, for each group, whether its second moment takes at most STEPS steps to compute.

    A group is a set of relevant items ranked among the same candidates, and ``ranks`` is the number of ranks with
    credit.
    """
    states, room, of = _states_per_step(groups, ranks), _candidates_in_reach(groups, ranks), row_groups(groups.offsets)
    of_ties = np.where(groups.tied > 0, states[of] ** 2 * np.where(groups.ties > 0, room**2, room), 0.0)
    work = groups.relevant * states**2 + np.bincount(of, weights=of_ties, minlength=groups.owner.size)
    return np.asarray(work <= STEPS)


def _credit_weights(
    standings: Standings, groups: TargetSets, credit: Credit, relevant: Int64, apart: bool
) -> tuple[Float, Float, Bool]:
    """Return (share, norm, unequal): how the credits of a metric are weighed in each group of relevant items.

    ``share`` is the factor of each relevant item's credit. The metric is the sum of the items' factors times credits,
    divided by ``norm`` (per group): the sum for an ideal list, or the sum of the weights of the items, NaN if that is
    0. Tied items are exchangeable, so they get the mean of their weights; ``unequal`` says for each group whether these
    weights differ. ``relevant`` is the number of relevant items of each group that are ranked together; with ``apart``,
    each is ranked on its own and has the factor 1.
    """
    if credit.weight is None or apart:
        share = np.ones(groups.order.size) if apart else credit.parts(groups.offsets)
        norm = np.maximum(credit.norm(relevant), 1e-300)
        norm = norm * groups.relevant if apart else norm  # 1R: the mean over the sets of a user
        return share, norm, np.zeros(relevant.size, np.bool_)
    group = row_groups(groups.offsets)
    weight = credit.weight(standings.popularity[standings.item[groups.order]])
    total = np.bincount(group, weights=weight, minlength=relevant.size)
    level = np.cumsum(begins_level(groups.ties, groups.offsets))
    share = (np.bincount(level, weights=weight) / np.maximum(np.bincount(level), 1))[level]
    differs = ~np.isclose(weight, share, rtol=1e-12, atol=0.0)
    unequal = np.bincount(group, weights=differs, minlength=relevant.size) > 0
    return share, np.where(total > 0, total, np.nan), unequal


def _best_credit_sums(credit: Credit, relevant: Int64, table: Float, limit: Int64) -> Float:
    """Return, for each group, the sum of credits if its relevant items have the top ranks.

    The sum is not divided by the norm. ``relevant`` is the number of relevant items ranked together, ``table`` is the
    credit at each rank, and ranks beyond ``limit`` (per group) have none.
    """
    sums = np.append(0.0, np.cumsum(credit.parts_at(np.arange(table.size)) * table))
    return sums[np.minimum(np.minimum(relevant, limit), table.size)]
