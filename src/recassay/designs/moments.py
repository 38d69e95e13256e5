"""Mean and variance of a metric over the draws of target sets, and what a random and a perfect order would get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from recassay.data.layout import readonly, stretch_of
from recassay.data.standings import Standings
from recassay.designs import _kernels
from recassay.designs.credit import Credit
from recassay.designs.grammar import Design
from recassay.designs.sets import Sets
from recassay.threads import each_block

Float = NDArray[np.float64]

GROUPS_PER_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Moments:
    """Of each group: mean and variance of its value, the mean of a random order, and the largest value."""

    mean: Float
    variance: Float
    random: Float
    best: Float


def moments_of(
    standings: Standings, design: Design, groups: Sets, credits: Mapping[str, Credit], threads: int | None
) -> dict[str, Moments]:
    """Moments of all metrics that are credits by rank; those with the same last rank share a walk."""
    apart = design.relevant == "1R"
    relevant = np.ones_like(groups.relevant) if apart else groups.relevant
    sizes = relevant + groups.drawn
    largest = int(sizes.max(initial=1))
    found: dict[str, Moments] = {}
    families: dict[tuple[int, bool], list[str]] = {}
    for heading, credit in credits.items():
        last = min(largest if credit.cut is None else credit.cut, largest)
        families.setdefault((last, credit.cut_at_relevant), []).append(heading)
    for (last, at_relevant), headings in families.items():
        limit = relevant if at_relevant else np.full(groups.owner.size, last)
        table = np.stack([credits[heading].table(last) for heading in headings])
        share = np.stack([_shares(standings, groups, credits[heading], apart) for heading in headings], axis=1)
        mean, second = _walk(design, groups, share, table, limit, threads)
        for column, heading in enumerate(headings):
            credit = credits[heading]
            own = _norm(standings, groups, credit, relevant, apart)
            norm = own * groups.relevant if apart else own  # the mean over a user's sets
            scaled = mean[:, column] / norm
            spread = np.maximum(second[:, column] / norm**2 - scaled**2, 0.0)
            spread[spread < 1e-13 * np.maximum(scaled**2, 1e-300)] = 0.0  # rounding of what cannot vary
            random = _random(credit, relevant, groups.drawn, table[column], limit)
            best = _best(credit, relevant, table[column], limit)
            if credit.weight is not None and not apart:  # weights sum to the norm
                random, best = random / relevant, np.ones_like(best)
                own = np.ones_like(own)
            found[heading] = Moments(scaled, spread, random / own, best / own)
    return found


def _walk(
    design: Design, groups: Sets, share: Float, table: Float, limit: NDArray[np.int64], threads: int | None
) -> tuple[Float, Float]:
    mean, second = np.zeros((groups.owner.size, table.shape[0])), np.zeros((groups.owner.size, table.shape[0]))
    most = int(max(groups.pool.max(initial=0), groups.drawn.max(initial=0))) if not design.with_replacement else int(
        groups.drawn.max(initial=0)
    )  # fmt: skip
    logs = gammaln(np.arange(most + 2) + 1.0)
    ties = np.ascontiguousarray(groups.ties)

    def work(begin: int, end: int) -> None:
        _kernels.walk(
            begin, end, readonly(groups.offsets), readonly(groups.above), readonly(groups.tied), readonly(ties),
            readonly(groups.pool), readonly(groups.drawn), design.with_replacement, design.relevant == "1R",
            readonly(share), readonly(table), readonly(limit), readonly(logs), mean, second,
        )  # fmt: skip

    each_block(work, groups.owner.size, size=GROUPS_PER_BLOCK, threads=threads)
    return mean, second


def _shares(standings: Standings, groups: Sets, credit: Credit, apart: bool) -> Float:
    """What each pair's credit is multiplied by; a weight means nothing to an item that stands alone."""
    if credit.weight is not None and not apart:
        weight = credit.weight(standings.popularity[standings.item[groups.order]])
        of_level = np.cumsum(np.append(True, _new_level(groups)[1:])) if weight.size else np.zeros(0, np.int64)
        return (np.bincount(of_level, weights=weight) / np.maximum(np.bincount(of_level), 1))[of_level]
    return np.ones(groups.order.size) if apart else credit.parts(groups.offsets)


def _new_level(groups: Sets) -> NDArray[np.bool_]:
    """Whether a pair stands below the pair before it (tied items are exchangeable, and share their mean weight)."""
    new = np.zeros(groups.order.size, np.bool_)
    new[groups.offsets[:-1]] = True
    left = 0
    for place in np.flatnonzero(groups.ties >= 0) if groups.ties.any() else ():
        if new[place] or left == 0:
            new[place], left = True, int(groups.ties[place])
        else:
            left -= 1
    return new if groups.ties.any() else np.ones(groups.order.size, np.bool_)


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


def _random(
    credit: Credit, relevant: NDArray[np.int64], drawn: NDArray[np.int64], table: Float, limit: NDArray[np.int64]
) -> Float:
    """The expected sum of credits when relevant and drawn items stand in random order, before the norm."""
    kinds, inverse = np.unique(np.column_stack([relevant, drawn, limit]), axis=0, return_inverse=True)
    sums = np.empty(len(kinds))
    for row, (many, others, last) in enumerate(kinds.tolist()):
        earned = table[:last]
        if credit.part == "each":  # every rank holds a relevant item with chance R / size
            sums[row] = earned[: many + others].sum() * many / (many + others)
        else:
            sums[row] = _random_places(credit, many, others, earned)
    return sums[inverse.ravel()]


def _random_places(credit: Credit, many: int, others: int, earned: Float) -> float:
    """The same by place: the i-th relevant item stands at rank p with chance C(p-1, i-1) C(S-p, R-i) / C(S, R)."""
    size = many + others
    ranks = np.arange(1, min(earned.size, size) + 1)
    total = 0.0
    for i in range(1, 2 if credit.part == "first" else many + 1):
        p = ranks[i - 1 :]
        p = p[size - p >= many - i]
        log = (
            gammaln(p) - gammaln(i) - gammaln(p - i + 1) + gammaln(size - p + 1) - gammaln(many - i + 1)
            - gammaln(size - p - many + i + 1) - gammaln(size + 1) + gammaln(many + 1) + gammaln(others + 1)
        )  # fmt: skip
        total += (i if credit.part == "place" else 1) * float((np.exp(log) * earned[p - 1]).sum())
    return total


def _best(credit: Credit, relevant: NDArray[np.int64], table: Float, limit: NDArray[np.int64]) -> Float:
    """The sum of credits when all relevant items stand on top, before the norm."""
    part = {"each": 1.0, "first": 0.0, "place": 1.0}[credit.part]
    steps = np.arange(1, table.size + 1) * 1.0 if credit.part == "place" else np.full(table.size, part)
    if table.size and credit.part == "first":
        steps[0] = 1.0
    sums = np.append(0.0, np.cumsum(steps * table))
    return sums[np.minimum(np.minimum(relevant, limit), table.size)]
