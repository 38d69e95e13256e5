"""What one system is worth against samples of every size, added up over groups of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.identity import id_keys
from recassay.data.layout import readonly, stretch_of
from recassay.data.standings import Standings
from recassay.designs._places import FEW
from recassay.designs.classes import Classes
from recassay.designs.credit import credit_of
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.portable.elementary import log_gamma
from recassay.sampled import _kernels
from recassay.sampled.law import Law
from recassay.threads import each_block

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]
Counts = Mapping[str, Int64]
Candidates = tuple[Float, Float, Float]

GROUPS = 1024  # users beyond this number are put into so many groups of equal size
CASES_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Measured:
    """``sums[group, size, metric]`` over the relevant items of a group of users, and their ``counts``.

    ``spread[size, metric]`` is the sum of the variances over draws.
    """

    sums: Float
    counts: Int64
    spread: Float

    @property
    def mean(self) -> Float:
        """The mean over relevant items, by size and metric."""
        found: Float = self.sums.sum(axis=0) / self.counts.sum()
        return found

    @property
    def deviation(self) -> Float:
        """The standard deviation of one draw's mean."""
        found: Float = np.sqrt(self.spread) / self.counts.sum()
        return found


def grouped(standings: Standings) -> Int64:
    """The group of every query: its own, or one of many of equal size that its id decides."""
    queries = standings.queries.len()
    if queries <= GROUPS:
        return np.arange(queries)
    group = np.empty(queries, np.int64)
    group[np.argsort(id_keys(standings.queries), kind="stable")] = np.arange(queries) * GROUPS // queries
    return group


@dataclass(frozen=True, eq=False)
class Cases:
    """The relevant items of a system, those of one group of users side by side: ``bounds`` say where each group lies.

    ``counts`` are the numbers of candidates above, level with, and in all, and ``weights`` what these weigh in a draw
    by popularity. ``masses`` has a row for those of the candidates that tie with each (``Standings.tied_masses``).
    """

    group: Int64
    bounds: Int64
    counts: Candidates
    weights: Candidates | None
    masses: Float | None

    @classmethod
    def of(cls, standings: Standings, groups: Int64, base: str) -> Cases:
        """The cases of standings among the candidates of a base set."""
        if base not in standings.above:
            hint = f"one of {', '.join(standings.above)}"
            raise UsageError("U102", f"there are no standings among '{base}'", where=standings.name, hint=hint)
        query = stretch_of(standings.offsets)
        group = groups[query]
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(int(groups.max(initial=-1)) + 2))

        def each(above: Counts, tied: Counts, pool: Counts) -> Candidates:
            first, second, third = (
                one[order].astype(np.float64) for one in (above[base], tied[base], pool[base][query])
            )
            return first, second, third

        counts = each(standings.above, standings.tied, standings.pool)
        weighed = base in standings.mass
        weights = each(standings.mass_above, standings.mass_tied, standings.mass) if weighed else None
        masses = standings.tied_masses[base][order] if base in standings.tied_masses else None
        return cls(group[order], bounds, counts, weights, masses)

    def classes(self, law: Law) -> Classes:
        """What the candidates weigh that tie with each, in draws with replacement; equally much unless it is known."""
        tied = self.counts[1]
        if not law.replace or law.by == "uniform":
            return Classes.alike(tied if law.replace else tied * 0, tied)
        assert self.weights is not None
        return Classes.alike(tied, self.weights[1]) if self.masses is None else Classes.of(self.masses)


def measured(
    cases: Cases, law: Law, sizes: Sequence[int], metrics: Mapping[str, Metric], *, threads: int | None = None
) -> Measured:
    """The worth of a system under a law for every size, in rising order; one beyond a pool takes all of it.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> from recassay.metrics.registry import parse_metrics
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> standings = ra.play(ra.models.Popular(), fold, ra.protocols.next_item()).standings
    >>> law, cases = Law("uniform", replace=False), Cases.of(standings, grouped(standings), "AI")
    >>> measured(cases, law, [5, 20], parse_metrics("hit@5")).mean.round(3).tolist()
    [[0.874], [0.395]]
    """
    counts = cases.counts
    weights = counts if law.by == "uniform" else cases.weights
    if weights is None:
        raise UsageError("U119", "the standings hold no popularity mass", hint="play the systems again")
    code = _kernels.AGAIN if law.replace else _kernels.TWO if law.approximate else _kernels.PLAIN
    asked = np.array(sizes, np.int64)
    pool = int(counts[2].max(initial=0))
    largest = int(asked.max()) if law.replace else min(int(asked.max()), pool)
    credit = credits(metrics, largest + 1)
    classes = cases.classes(law)
    whole = np.arange(max(largest, pool, FEW * int(classes.number.max(initial=0))) + 4.0)
    logs, parts = readonly(log_gamma(whole + 1)), readonly(1 / np.maximum(whole, 1))
    auc = any(isinstance(metric, AUC) for metric in metrics.values())
    groups = cases.bounds.size - 1
    sums = np.zeros((groups, asked.size, credit.shape[0] + 1))
    arrays = (*weights, *counts) if law.replace else (*counts, *weights)
    ready = tuple(readonly(one) for one in (cases.group, *arrays, classes.offsets, classes.number, classes.mass, asked))
    kernels: Any = _kernels  # compiled functions do not tell their parameters

    def work(begin: int, end: int) -> Float:
        first, last = int(cases.bounds[begin]), int(cases.bounds[end])
        spread = np.zeros((asked.size, credit.shape[0] + 1))
        kernels.worth(first, last, *ready, code, readonly(credit), logs, parts, auc, sums, spread)
        return spread

    at_once = max(1, CASES_PER_BLOCK * groups // max(cases.group.size, 1))
    spread = np.sum(each_block(work, groups, size=at_once, threads=threads), axis=0)
    own = iter(range(credit.shape[0]))
    columns = [-1 if isinstance(metric, AUC) else next(own) for metric in metrics.values()]
    return Measured(sums[:, :, columns], np.diff(cases.bounds), spread[:, columns])


def credits(metrics: Mapping[str, Metric], ranks: int) -> Float:
    """What every metric but AUC credits a lone relevant item with at ranks 1, 2, ..., as far as anything is earned."""
    chosen = [credit_of(metric) for metric in metrics.values() if not isinstance(metric, AUC)]
    alone = np.ones(1, np.int64)
    cuts = [1 if one.cut_at_relevant else min(one.cut or ranks, ranks) for one in chosen]
    table = np.zeros((len(chosen), max(cuts, default=1)))
    for row, (one, cut) in enumerate(zip(chosen, cuts, strict=True)):
        table[row, :cut] = one.table(cut) / one.norm(alone)[0]
    return table
