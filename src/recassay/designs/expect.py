"""The exact worth of a system under a design: expectation and variance over draws and orders of ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.standings import Standings
from recassay.designs.counted import counted
from recassay.designs.credit import COUNTED, credit_of
from recassay.designs.grammar import Design
from recassay.designs.moments import Moments, moments_of
from recassay.designs.pooling import Pooled
from recassay.designs.sets import Sets, Short, sets_of
from recassay.metrics.base import Metric

Float = NDArray[np.float64]
Users = Literal["all", "with_relevant"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One metric under one design.

    ``values`` (and ``weights``) are per query of the standings, NaN where there is nothing to judge; ``zeros`` more
    users count with a value of 0. ``mean`` is over all of them, ``variance`` that of the mean over draws and orders of
    ties (NaN where it has no closed form), ``random`` the mean of a system that orders at random and ``best`` the
    largest there can be. ``by_bin`` is the mean of each popularity bin.
    """

    values: Float
    weights: Float
    zeros: int
    mean: float
    variance: float
    random: float
    best: float
    undefined: int
    by_bin: Mapping[int, float]

    @property
    def corrected(self) -> float:
        """(mean - random) / (best - random): 0 for chance, 1 for the best order there is; NaN if these are one."""
        span = self.best - self.random
        return (self.mean - self.random) / span if span > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class Judged:
    """One system under one design: metrics by heading, and what the target sets look like.

    ``sets`` is their number, ``users`` the number of users the mean is over, ``zeros`` of them with a value of 0 for
    want of a relevant item, ``short`` the sets with fewer candidates than asked for. ``rho`` is the mean share of
    relevant items in a set: the exact precision of a random order, unless draws may repeat an item. ``t`` is the
    harmonic mean of the sizes of the sets. Both are over the users that the mean is over: a user without a
    relevant item has a set of non-relevant ones.
    ``bins`` describes popularity bins.
    """

    design: Design
    outcomes: Mapping[str, Outcome]
    sets: int
    users: int
    short: int
    zeros: int
    rho: float
    t: float
    bins: pl.DataFrame | None = None


def expect(
    standings: Standings,
    design: Design,
    metrics: Mapping[str, Metric],
    *,
    users: Users = "all",
    short: Short = "error",
    variance: bool = True,
    threads: int | None = None,
) -> Judged:
    """Every metric under a design, exactly, without drawing anything.

    ``users="all"``: where all relevant items of a user stand together, users without a relevant item count 0.
    ``short="all"`` takes whatever candidates there are where they are fewer than the design draws.
    """
    groups = sets_of(standings, design, short)
    return pooled(
        standings, design, groups, moments_by(standings, design, groups, metrics, variance, threads), users, variance
    )


def moments_by(
    standings: Standings,
    design: Design,
    groups: Sets,
    metrics: Mapping[str, Metric],
    variance: bool,
    threads: int | None,
) -> dict[str, Moments]:
    """Moments of every metric in every group."""
    credited = {heading: credit_of(metric) for heading, metric in metrics.items() if not isinstance(metric, COUNTED)}
    moments = moments_of(standings, design, groups, credited, variance, threads)
    for heading, metric in metrics.items():
        if heading not in moments:
            moments[heading] = counted(standings, design, groups, metric)
    return {heading: moments[heading] for heading in metrics}


def pooled(
    standings: Standings, design: Design, groups: Sets, moments: Mapping[str, Moments], users: Users, variance: bool
) -> Judged:
    """From the moments of groups to means, and what the target sets look like."""
    zeros = zeros_of(standings, design, groups, users)
    found = Pooled.of(design, groups, moments, zeros, bare_sets(standings, design, zeros))
    queries = standings.queries.len()
    return judged_of(found, design, variance, {name: by_query(groups, one, queries) for name, one in moments.items()})


def zeros_of(standings: Standings, design: Design, groups: Sets, users: Users) -> int:
    """Users who count 0 for want of a relevant item."""
    if users != "all" or design.relevant != "AR" or design.bins:
        return 0
    return max(standings.users, standings.queries.len()) - groups.owner.size


def bare_sets(standings: Standings, design: Design, zeros: int) -> NDArray[np.int64]:
    """Sizes of the target sets of users who count 0: non-relevant candidates and nothing else, where there are any."""
    if not zeros or design.base not in standings.pool:
        return np.empty(0, np.int64)
    asked = standings.pool[design.base][standings.relevant == 0]
    sizes = np.concatenate([asked, standings.others.get(design.base, np.empty(0, np.int64))])
    sizes = sizes[sizes > 0]
    if design.n is None:
        return sizes
    return np.full(sizes.size, design.n) if design.with_replacement else np.minimum(sizes, design.n)


def by_query(groups: Sets, moments: Moments, queries: int) -> tuple[Float, Float]:
    """Values and weights of queries; NaN without a set in which the metric is defined."""
    defined = ~np.isnan(moments.mean)
    weight = np.where(defined, groups.weight, 0.0)
    weights = np.bincount(groups.owner, weights=weight, minlength=queries).astype(np.float64)
    sums = np.bincount(groups.owner, weights=weight * np.where(defined, moments.mean, 0.0), minlength=queries)
    return np.divide(sums, weights, out=np.full(queries, np.nan), where=weights > 0), weights


def judged_of(found: Pooled, design: Design, variance: bool, columns: Mapping[str, tuple[Float, Float]]) -> Judged:
    """What target sets add up to, as means; ``columns`` are values and weights of queries, by heading."""
    outcomes = {
        heading: Outcome(
            *columns[heading],
            zeros=found.zeros,
            mean=found.mean_of(heading, "values"),
            variance=found.variance(heading) if variance else float("nan"),
            random=found.mean_of(heading, "random"),
            best=found.mean_of(heading, "best"),
            undefined=sums.undefined,
            by_bin=found.by_bin(heading),
        )
        for heading, sums in found.metrics.items()
    }
    return Judged(
        design,
        outcomes,
        sets=found.sets,
        users=found.users,
        short=found.short,
        zeros=found.zeros,
        rho=found.rho,
        t=found.t,
        bins=found.described() if design.bins else None,
    )
