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
    relevant items in a set: the exact precision of a random order. ``t`` is the harmonic mean of the sizes of the sets.
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
    credited = {heading: credit_of(metric) for heading, metric in metrics.items() if not isinstance(metric, COUNTED)}
    moments = moments_of(standings, design, groups, credited, variance, threads)
    for heading, metric in metrics.items():
        if heading not in moments:
            moments[heading] = counted(standings, design, groups, metric)
    return pooled(standings, design, groups, {heading: moments[heading] for heading in metrics}, users, variance)


def pooled(
    standings: Standings, design: Design, groups: Sets, moments: Mapping[str, Moments], users: Users, variance: bool
) -> Judged:
    """From the moments of groups to means, and what the target sets look like."""
    apart = design.relevant == "1R"
    relevant = np.ones_like(groups.relevant) if apart else groups.relevant
    sizes = relevant + groups.drawn
    zeros = 0
    if users == "all" and design.relevant == "AR" and not design.bins:
        zeros = max(standings.users, standings.queries.len()) - groups.owner.size
    pool = Pool(standings, groups, zeros)
    outcomes = {heading: pool.outcome(one, variance) for heading, one in moments.items()}
    shares = relevant / np.maximum(sizes, 1)
    total = pool.weight_sum
    return Judged(
        design,
        outcomes,
        sets=int(groups.relevant.sum()) if apart else groups.owner.size,
        users=int(np.unique(groups.owner).size) + zeros,
        short=groups.short,
        zeros=zeros,
        rho=float((groups.weight * shares).sum() / total) if total else float("nan"),
        t=float(groups.weight.sum() / (groups.weight / sizes).sum()) if groups.owner.size else float("nan"),
        bins=_bins(design, groups, sizes) if design.bins else None,
    )


class Pool:
    """From groups to users to one mean."""

    def __init__(self, standings: Standings, groups: Sets, zeros: int) -> None:
        self.standings, self.groups, self.zeros = standings, groups, zeros
        self.weight_sum = float(groups.weight.sum()) + zeros

    def outcome(self, moments: Moments, variance: bool) -> Outcome:
        """The mean of all groups, undefined ones left out."""
        groups, queries = self.groups, self.standings.queries.len()
        defined = ~np.isnan(moments.mean)
        weight = np.where(defined, groups.weight, 0.0)
        weights = np.bincount(groups.owner, weights=weight, minlength=queries).astype(np.float64)
        sums = np.bincount(groups.owner, weights=weight * np.where(defined, moments.mean, 0.0), minlength=queries)
        total = float(weight.sum()) + self.zeros
        spread = float((weight**2 * np.where(defined, moments.variance, 0.0)).sum())
        return Outcome(
            values=np.divide(sums, weights, out=np.full(queries, np.nan), where=weights > 0),
            weights=weights,
            zeros=self.zeros,
            mean=float(sums.sum() / total) if total else float("nan"),
            variance=spread / total**2 if variance and total else float("nan"),
            random=float((weight * np.where(defined, moments.random, 0.0)).sum() / total) if total else float("nan"),
            best=float((weight * np.where(defined, moments.best, 0.0)).sum() / total) if total else float("nan"),
            undefined=int((~defined).sum()),
            by_bin=self._by_bin(weight, moments.mean),
        )

    def _by_bin(self, weight: Float, mean: Float) -> dict[int, float]:
        sums = np.bincount(self.groups.bin, weights=weight * np.where(weight > 0, mean, 0.0))
        weights = np.bincount(self.groups.bin, weights=weight)
        return {int(b): float(sums[b] / weights[b]) for b in np.flatnonzero(weights)}


def _bins(design: Design, groups: Sets, sizes: NDArray[np.int64]) -> pl.DataFrame:
    """A row per bin that has a target set: how many sets, and 1/t."""
    sets = groups.relevant if design.relevant == "1R" else np.ones_like(groups.relevant)
    frame = pl.DataFrame({"bin": groups.bin, "sets": sets, "inverse": sets / sizes})
    summed = frame.group_by("bin").agg(pl.col("sets").sum(), pl.col("inverse").sum()).sort("bin")
    return summed.select("bin", "sets", (pl.col("inverse") / pl.col("sets")).alias("1/t"))
