"""Mean and variance of a metric over the draws of target sets, and what a random and a perfect order would get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly, stretch_of
from recassay.data.standings import Standings
from recassay.designs import _kernels, _places
from recassay.designs.classes import Classes
from recassay.designs.credit import Credit
from recassay.designs.grammar import Design
from recassay.designs.sets import Sets, begins_level
from recassay.portable.elementary import log_gamma
from recassay.threads import each_block

Float = NDArray[np.float64]

GROUPS_PER_BLOCK = 256
SHALLOW = 20  # down to this rank all relevant items of a set are followed jointly, whatever it costs
STEPS = 400_000  # and further down, if it takes no more steps than this for a set


@dataclass(frozen=True, eq=False)
class Moments:
    """Of each group: mean and variance of its value, the mean of a random order, and the largest value."""

    mean: Float
    variance: Float
    random: Float
    best: Float


def moments_of(
    standings: Standings,
    design: Design,
    groups: Sets,
    credits: Mapping[str, Credit],
    variance: bool,
    threads: int | None,
) -> dict[str, Moments]:
    """Moments of all metrics that are credits by rank; those with the same last rank share a walk."""
    apart = design.relevant == "1R"
    relevant = np.ones_like(groups.relevant) if apart else groups.relevant
    sizes = relevant + groups.drawn
    largest = int(sizes.max(initial=1))
    found: dict[str, Moments] = {}
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
        mean, second = sums_of(design, groups, only_first, share, table, limit, variance, threads)
        chance = None
        if groups.whole is not None:
            chance = _random_again(design, groups, [credits[heading] for heading in headings], table, limit, threads)
        for column, heading in enumerate(headings):
            credit = credits[heading]
            own = _norm(standings, groups, credit, relevant, apart)
            norm = own * groups.relevant if apart else own  # the mean over a user's sets
            scaled = mean[:, column] / norm
            spread = np.maximum(second[:, column] / norm**2 - scaled**2, 0.0)
            spread[spread < 1e-13 * np.maximum(scaled**2, 1e-300)] = 0.0  # rounding of what cannot vary
            random = chance[column] if chance is not None else _random(credit, relevant, groups, table[column], limit)
            best = _best(credit, relevant, table[column], limit)
            if credit.weight is not None and not apart:  # weights sum to the norm
                random, best = random / relevant, np.ones_like(best)
                own = np.ones_like(own)
                spread[_unequal(standings, groups, credit)] = np.nan
            found[heading] = Moments(scaled, spread, random / own, best / own)
    return found


def sums_of(
    design: Design,
    groups: Sets,
    only_first: bool,
    share: Float,
    table: Float,
    limit: NDArray[np.int64],
    variance: bool,
    threads: int | None,
) -> tuple[Float, Float]:
    """Means and second moments of the sums of credits; a second moment is NaN where it would cost too much."""
    n, apart, again = groups.owner.size, design.relevant == "1R", design.with_replacement
    limited = bool((limit < table.shape[1]).any())
    alike = np.bincount(stretch_of(groups.offsets), weights=groups.tied > 0, minlength=n) > 0
    single = np.full(n, only_first) | (groups.relevant == 1)
    if not variance and not limited:  # a mean of a sum is the sum of means: nothing to follow, but through ties
        jointly = alike
    elif limited or table.shape[1] <= SHALLOW:
        jointly = np.ones(n, np.bool_)
    else:
        jointly = _cheap(groups, table.shape[1], variance)
    by_place = alike & again  # means over places are exact; what items have in common is followed beside them
    if again:
        jointly = jointly & ~(by_place & (single | (not variance)))
    moments, means = np.zeros((n, 2, table.shape[0])), np.zeros((n, 2, table.shape[0]))
    read, logs, parts = _read(groups, with_replacement=again)
    share, table, limit, jointly = readonly(share), readonly(table), readonly(limit), readonly(jointly)
    one_by_one = readonly(~jointly | by_place)
    kernels: Any = _kernels  # compiled functions do not tell their parameters

    def work(begin: int, end: int) -> None:
        if one_by_one[begin:end].any():
            kernels.alone(
                begin, end, one_by_one, *read, again, apart, only_first, share, table, limit, logs, parts, means
            )
        if jointly[begin:end].any():
            kernels.walk(
                begin, end, jointly, *read, again, apart, only_first, share, table, limit, logs, moments
            )  # fmt: skip

    each_block(work, n, size=GROUPS_PER_BLOCK, threads=threads)
    both = by_place & jointly
    moments[both, 1] += means[both, 0] ** 2 - moments[both, 0] ** 2
    moments[one_by_one, 0] = means[one_by_one, 0]
    moments[~jointly, 1] = np.where(single, 1.0, np.nan)[~jointly, None] * means[~jointly, 1]
    return moments[:, 0], moments[:, 1]


def _read(groups: Sets, *, with_replacement: bool) -> tuple[tuple[Any, ...], Float, Float]:
    """Groups as kernels read them, and logarithms of factorials and quotients 1 / x as far as a law needs them."""
    # Where nothing says what tied candidates weigh, nobody reads their means: they weigh together what they weigh.
    classes = Classes.alike(groups.tied > 0, groups.tied) if groups.level is None else groups.level
    most = int(groups.drawn.max(initial=0))
    if not with_replacement:
        most = max(most, int(groups.pool.max(initial=0)))
    most = max(most, _places.FEW * int(classes.number.max(initial=0)) + int(groups.ties.max(initial=0)) + 1)
    whole = np.arange(most + 4.0)
    read = (
        groups.offsets, groups.above, groups.tied, groups.ties, groups.pool, groups.drawn, classes.offsets,
        classes.number, classes.mass,
    )  # fmt: skip
    ready = tuple(readonly(np.ascontiguousarray(one)) for one in read)
    return ready, readonly(log_gamma(whole + 1)), readonly(1 / np.maximum(whole, 1))


def _random_again(
    design: Design, groups: Sets, credits: Sequence[Credit], table: Float, limit: NDArray[np.int64],
    threads: int | None,
) -> Float:  # fmt: skip
    """The expected sums of credits, a row per metric, when all items are in random order and draws may repeat.

    A random order is one in which all candidates tie with all relevant items.
    """
    assert groups.whole is not None
    relevant = np.ones_like(groups.relevant) if design.relevant == "1R" else groups.relevant
    rows, inverse = np.arange(relevant.size), np.arange(relevant.size)
    if design.by == "uniform":  # then many groups are one
        kinds = np.column_stack([relevant, groups.drawn, limit, groups.pool.astype(np.int64)])
        _, rows, inverse = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    top = np.minimum(limit[rows], table.shape[1])
    pairs = np.maximum(np.minimum(relevant[rows], top), 1)  # the others are beyond the last rank that earns anything
    of = np.repeat(rows, pairs)
    offsets = np.append(0, np.cumsum(pairs))
    tied = replace(
        groups,
        offsets=offsets,
        above=np.zeros(of.size),
        tied=groups.pool[of],
        ties=(relevant[of] - 1).astype(np.int32),
        pool=groups.pool[rows],
        drawn=groups.drawn[rows],
        level=groups.whole.take(of),
    )
    place = np.arange(of.size) - np.repeat(offsets[:-1], pairs) + 1.0
    share = np.stack([place if one.part == "place" else np.ones(of.size) for one in credits], axis=1)
    only_first = credits[0].part == "first"
    moments = np.zeros((rows.size, 2, table.shape[0]))
    read, logs, parts = _read(tied, with_replacement=True)
    chosen = np.ones(rows.size, np.bool_)
    kernels: Any = _kernels

    def work(begin: int, end: int) -> None:
        kernels.alone(
            begin, end, readonly(chosen), *read, True, False, only_first, readonly(share), readonly(table),
            readonly(limit[rows]), logs, parts, moments,
        )  # fmt: skip

    each_block(work, rows.size, size=GROUPS_PER_BLOCK, threads=threads)
    found: Float = moments[inverse.ravel(), 0].T
    return found


def _cheap(groups: Sets, ranks: int, variance: bool) -> NDArray[np.bool_]:
    """Groups whose relevant items can be followed jointly down to ranks that are far away."""
    if not variance:
        return np.zeros(groups.owner.size, np.bool_)
    sampled = groups.drawn < groups.pool
    states = np.where(sampled, np.minimum(ranks, 10 * np.sqrt(groups.drawn) + 1), 1.0)
    of = stretch_of(groups.offsets)
    room = np.minimum(np.minimum(groups.tied, groups.drawn[of]), ranks)
    tangled = np.where(groups.tied > 0, states[of] ** 2 * np.where(groups.ties > 0, room**2, room), 0.0)
    work = groups.relevant * states**2 + np.bincount(of, weights=tangled, minlength=groups.owner.size)
    cheap: NDArray[np.bool_] = work <= STEPS
    return cheap


def _shares(standings: Standings, groups: Sets, credit: Credit, apart: bool) -> Float:
    """What each pair's credit is multiplied by; a weight means nothing to an item that stands alone."""
    if credit.weight is not None and not apart:
        weight = credit.weight(standings.popularity[standings.item[groups.order]])
        of_level = np.cumsum(begins_level(groups.ties, groups.offsets))  # tied items are exchangeable: their mean
        return (np.bincount(of_level, weights=weight) / np.maximum(np.bincount(of_level), 1))[of_level]
    return np.ones(groups.order.size) if apart else credit.parts(groups.offsets)


def _unequal(standings: Standings, groups: Sets, credit: Credit) -> NDArray[np.bool_]:
    """Groups in which tied items weigh differently: their mean weight gives the mean of a sum, not its variance."""
    assert credit.weight is not None
    weight = credit.weight(standings.popularity[standings.item[groups.order]])
    same = np.isclose(weight, _shares(standings, groups, credit, apart=False), rtol=1e-12, atol=0.0)
    found: NDArray[np.bool_] = np.bincount(stretch_of(groups.offsets), weights=~same, minlength=groups.owner.size) > 0
    return found


def _norm(
    standings: Standings,
    groups: Sets,
    credit: Credit,
    relevant: NDArray[np.int64],
    apart: bool,
) -> Float:
    """What the sum of credits of one set is divided by."""
    if credit.weight is not None and not apart:
        weight = credit.weight(standings.popularity[standings.item[groups.order]])
        total = np.bincount(stretch_of(groups.offsets), weights=weight, minlength=groups.owner.size)
        return np.where(total > 0, total, np.nan)
    return np.maximum(credit.norm(relevant), 1e-300)


def _random(credit: Credit, relevant: NDArray[np.int64], groups: Sets, table: Float, limit: NDArray[np.int64]) -> Float:
    """The expected sum of credits when relevant and drawn items are in random order, before the norm."""
    drawn = groups.drawn
    sizes = relevant + drawn
    if credit.part == "each":  # every rank holds a relevant item with chance R / size
        earned = np.append(0.0, np.cumsum(table))
        at: Float = earned[np.minimum(np.minimum(sizes, limit), table.size)]
        return at * relevant / sizes
    kinds, inverse = np.unique(np.column_stack([relevant, drawn, limit]), axis=0, return_inverse=True)
    columns = [np.ascontiguousarray(column) for column in kinds.T]
    places = 1 if credit.part == "first" else int(relevant.max(initial=1))
    sums = np.empty(len(kinds))

    def work(begin: int, end: int) -> None:
        many, others, last = (readonly(column[begin:end]) for column in columns)
        _kernels.shuffle(many, others, last, places, credit.part == "place", readonly(table), sums[begin:end])

    each_block(work, len(kinds), size=GROUPS_PER_BLOCK)
    found: Float = sums[inverse.ravel()]
    return found


def _best(credit: Credit, relevant: NDArray[np.int64], table: Float, limit: NDArray[np.int64]) -> Float:
    """The sum of credits when all relevant items stand on top, before the norm."""
    part = {"each": 1.0, "first": 0.0, "place": 1.0}[credit.part]
    steps = np.arange(1, table.size + 1) * 1.0 if credit.part == "place" else np.full(table.size, part)
    if table.size and credit.part == "first":
        steps[0] = 1.0
    sums = np.append(0.0, np.cumsum(steps * table))
    return sums[np.minimum(np.minimum(relevant, limit), table.size)]
