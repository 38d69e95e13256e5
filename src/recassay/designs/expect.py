"""Exact expectation and variance of metrics under a design, over random draws and random orders of ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from recassay.arrays import Float, Int64
from recassay.data.standings import Standings
from recassay.designs.count_moments import count_moments
from recassay.designs.grammar import Design
from recassay.designs.moments import CreditMoments, credit_moments
from recassay.designs.random_order import RandomOrders
from recassay.designs.sets import Short, TargetSets, base_in, target_sets
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit, formula_of
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.stats.exact_sums import ExactSum

Users = choices.DesignUsers
Key = tuple[Any, ...]  # a name, or a metric's heading and a name; then the number of a bin


@dataclass(frozen=True, eq=False)
class MetricOutcome:
    """The result of one metric for one system under one design.

    ``values`` and ``weights`` have an entry per query. A target set holds the candidates that relevant items are ranked
    in; a value is NaN if the query has no target set or the metric is undefined. ``zeros`` is the number of further
    users, who count with a value of 0. ``mean`` is over all users. ``variance`` is that of the mean, over random draws
    and random orders of ties (NaN if it has no closed form). ``random`` is the mean if all items are in random order,
    and ``best`` the largest possible mean. ``undefined`` is the number of groups of target sets in which the metric is
    undefined, and ``by_bin`` the mean in each popularity bin.
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
        """Return (mean - random) / (best - random): 0 for a random order, 1 for the best; NaN if both are equal."""
        span = self.best - self.random
        return (self.mean - self.random) / span if span > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class DesignResult:
    """The results of one system under one design: ``outcomes`` by metric (``ndcg@10``), and statistics of target sets.

    ``sets`` is the number of sets, and ``short`` the number of those with fewer candidates than the design draws.
    ``users`` is the number of users in the mean; ``zeros`` of them have no relevant item and count 0. A target set
    holds the candidates that relevant items are ranked in. ``rho`` is the mean share of relevant items in a set: the
    exact precision of a random order, unless draws may repeat an item. ``t`` is the harmonic mean of the sizes of the
    sets. Both are over the users in the mean; the set of a user without a relevant item has only other items. ``bins``
    is a table of the popularity bins (None if the design has none).
    """

    design: Design
    outcomes: Mapping[str, MetricOutcome]
    sets: int
    users: int
    short: int
    zeros: int
    rho: float
    t: float
    bins: pl.DataFrame | None = None


@checks_types
def expect(
    standings: Standings,
    design: Design,
    metrics: Mapping[str, Metric],
    *,
    users: Users = "all",
    short: Short = "error",
    variance: bool = True,
    threads: int | None = None,
    random_orders: RandomOrders | None = None,
) -> DesignResult:
    """Return the expected value of every metric under a design, in closed form, without drawing samples.

    It is exact, but for draws by popularity with replacement where an item ties with more than seven candidates of
    different popularity: two popularities then replace them all.

    ``standings`` have, for each relevant item, the numbers of candidates ranked above it and tied with it. With
    ``users="all"``, users without a relevant item count 0 where all relevant items of a user share a target set (AR
    designs without bins); with ``users="with_relevant"``, they are left out. With ``short="all"``, a user with fewer
    candidates than the design draws gets all of them; with ``"error"``, such a user raises U120. Without ``variance``,
    the variances are NaN. ``random_orders`` is a cache of each metric's value when all items are in random order: pass
    the same one for all systems that answer the same queries, so that they are computed once.
    """
    groups = target_sets(standings, design, short)
    moments = group_moments(standings, design, groups, metrics, variance, threads, random_orders)
    return pool_moments(standings, design, groups, moments, users, variance)


def group_moments(
    standings: Standings,
    design: Design,
    groups: TargetSets,
    metrics: Mapping[str, Metric],
    variance: bool,
    threads: int | None,
    chance: RandomOrders | None = None,
) -> dict[str, CreditMoments]:
    """Return the mean and variance of each metric in each group of target sets, as a dict by the metric's heading.

    A group has the relevant items of a query that are ranked against the same candidates. Without ``variance``, only
    means are computed where that is cheaper. ``chance`` is a cache of each metric's value when items are in random
    order: pass the same one for systems that answer the same queries.
    """
    formulas = {heading: formula_of(metric) for heading, metric in metrics.items()}
    credited = {heading: formula for heading, formula in formulas.items() if isinstance(formula, Credit)}
    moments = credit_moments(standings, design, groups, credited, variance, threads, chance or RandomOrders())
    for heading, metric in metrics.items():
        if heading not in moments:
            moments[heading] = count_moments(standings, design, groups, metric)
    return {heading: moments[heading] for heading in metrics}


def pool_moments(
    standings: Standings,
    design: Design,
    groups: TargetSets,
    moments: Mapping[str, CreditMoments],
    users: Users,
    variance: bool,
) -> DesignResult:
    """Return the result of a design: means of all metrics over the target sets, and statistics of these sets.

    ``moments`` have the mean and variance of each metric in each group of target sets (``groups``). With
    ``users="all"``, users without a relevant item count 0. Without ``variance``, the variance of each mean is NaN. A
    target set holds the candidates that relevant items are ranked in.
    """
    queries = standings.queries.len()
    columns = {heading: query_means(groups, of_metric, queries) for heading, of_metric in moments.items()}
    return DesignTotals.of(standings, design, groups, moments, users).result(design, variance, columns)


def sizes_without_relevant(standings: Standings, design: Design, zeros: int) -> Int64:
    """Return the numbers of candidates of the users without a relevant item, for those who have any candidates.

    ``zeros`` is the number of such users; the array is empty if it is 0. A size is the number of candidates that the
    design draws, or of all candidates if it takes all.
    """
    base, none = base_in(standings, design), np.empty(0, np.int64)
    if not zeros or base not in standings.pool:
        return none
    sizes = np.concatenate([standings.pool[base][standings.relevant == 0], standings.others.get(base, none)])
    sizes = sizes[sizes > 0]
    if design.n is None:
        return sizes
    return np.full(sizes.size, design.n) if design.with_replacement else np.minimum(sizes, design.n)


def query_means(groups: TargetSets, moments: CreditMoments, queries: int) -> tuple[Float, Float]:
    """Return (value, weight) of each query: the mean of the metric over the query's target sets, and its weight.

    A target set holds the candidates that relevant items are ranked in. ``queries`` is the number of queries. The value
    is NaN if the metric is defined in none of the query's sets.
    """
    defined = ~np.isnan(moments.mean)
    weight = np.where(defined, groups.weight, 0.0)
    weights = np.bincount(groups.owner, weights=weight, minlength=queries).astype(np.float64)
    sums = np.bincount(groups.owner, weights=weight * np.where(defined, moments.mean, 0.0), minlength=queries)
    return np.divide(sums, weights, out=np.full(queries, np.nan), where=weights > 0), weights


@dataclass(frozen=True, eq=False)
class DesignTotals:
    """Exact sums over the target sets of a design; the sums of chunks of users add up exactly.

    The means of the result follow from them. A key of ``sums`` names what is summed (see :meth:`of`), such as
    ``("sets",)`` or ``("ndcg@10", "mean")``. Sums over one popularity bin have its number at the end of the key.
    """

    sums: Mapping[Key, ExactSum]

    @classmethod
    def of(
        cls, standings: Standings, design: Design, groups: TargetSets, moments: Mapping[str, CreditMoments],
        users: Users,
    ) -> DesignTotals:  # fmt: skip
        """Return the sums of a design for a chunk of users: counts of target sets, and sums of each metric's moments.

        A target set holds the candidates that relevant items are ranked in, and a group the relevant items ranked in
        the same candidates. ``moments`` has the mean, variance, ... of each metric, with an entry per group, NaN where
        the metric is undefined. With ``users="all"``, users without a relevant item count 0.
        """
        all_users = max(standings.users, standings.queries.len())
        zeros = all_users - groups.owner.size if design.counts_zeros(users) else 0
        bare = sizes_without_relevant(standings, design, zeros)
        apart, weight = design.relevant == "1R", groups.weight
        many, relevant = (groups.relevant, 1) if apart else (np.ones_like(groups.relevant), groups.relevant)
        sizes = relevant + groups.drawn
        columns: dict[Key, ArrayLike] = {
            ("sets",): many,
            ("owners",): [np.unique(groups.owner).size],
            ("zeros",): [zeros],
            ("short",): [groups.short],
            ("weights",): weight,
            ("shares",): weight * (relevant / np.maximum(sizes, 1)),  # of relevant items
            ("sized",): np.append(weight, bare.size),  # the number of sets, also of those without a relevant item
            ("inverse",): np.append(weight / sizes, 1 / bare),
        }
        for number in np.unique(groups.bin).tolist() if design.bins else ():
            inside = groups.bin == number
            columns |= {("sets", number): many[inside], ("inverse", number): (many / sizes)[inside]}
        for heading, one in moments.items():
            defined = ~np.isnan(one.mean)
            parts = {"weights": weight, "mean": weight * one.mean}
            parts |= {"random": weight * one.random, "best": weight * one.best, "variance": weight**2 * one.variance}
            columns |= {(heading, name): part[defined] for name, part in parts.items()}
            columns[heading, "undefined"] = [np.count_nonzero(~defined)]
            for number in np.unique(groups.bin[defined]).tolist():
                inside = defined & (groups.bin == number)
                columns |= {(heading, name, number): parts[name][inside] for name in ("weights", "mean")}
        return cls({key: ExactSum.of(column) for key, column in columns.items()})

    def __add__(self, other: DesignTotals) -> DesignTotals:
        zero = ExactSum()
        return DesignTotals(
            {key: self.sums.get(key, zero) + other.sums.get(key, zero) for key in {**self.sums, **other.sums}}
        )

    def result(
        self, design: Design, variance: bool, columns: Mapping[str, tuple[Float, Float]]
    ) -> DesignResult:  # fmt: skip
        """Return the means of all metrics under a design, and its statistics, from the sums.

        ``columns`` maps the heading of a metric to (values, weights) of the queries. Without ``variance``, the variance
        of each mean is NaN.
        """
        sums, zeros = self.sums, self.sums["zeros",]
        counts = {name: int(float(sums[name,])) for name in ("sets", "owners", "zeros", "short")}
        in_bins = sorted(key[1] for key in sums if key[0] == "sets" and len(key) > 1)
        outcomes = {}
        for heading, of_queries in columns.items():
            weights = sums[heading, "weights"] + zeros
            spread = float(sums[heading, "variance"]) / float(weights) ** 2 if variance and float(weights) else np.nan
            numbers = sorted(key[2] for key in sums if key[:2] == (heading, "mean") and len(key) > 2)
            outcomes[heading] = MetricOutcome(
                *of_queries,
                zeros=counts["zeros"],
                mean=sums[heading, "mean"] / weights,
                variance=spread,
                random=sums[heading, "random"] / weights,
                best=sums[heading, "best"] / weights,
                undefined=int(float(sums[heading, "undefined"])),
                by_bin={b: sums[heading, "mean", b] / sums[heading, "weights", b] for b in numbers},
            )
        table = {
            "bin": in_bins,
            "sets": [int(float(sums["sets", b])) for b in in_bins],
            "1/t": [sums["inverse", b] / sums["sets", b] for b in in_bins],
        }
        return DesignResult(
            design,
            outcomes,
            sets=counts["sets"],
            users=counts["owners"] + counts["zeros"],
            short=counts["short"],
            zeros=counts["zeros"],
            rho=sums["shares",] / (sums["weights",] + zeros),
            t=sums["sized",] / sums["inverse",],
            bins=pl.DataFrame(table) if design.bins else None,
        )
