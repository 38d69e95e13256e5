"""What one system is worth against samples of every size, added up over groups of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from recassay.data.identity import id_keys
from recassay.data.layout import readonly, stretch_of
from recassay.data.standings import Standings
from recassay.designs.credit import credit_of
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.sampled import _kernels
from recassay.sampled.law import Law
from recassay.threads import each_block

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]

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


def measured(
    standings: Standings,
    law: Law,
    sizes: Sequence[int],
    metrics: Mapping[str, Metric],
    groups: Int64,
    *,
    base: str,
    threads: int | None = None,
) -> Measured:
    """The worth of a system under a law for every size, in rising order; one beyond a pool takes all of it.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> from recassay.metrics.registry import parse_metrics
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> standings = ra.play(ra.models.Popular(), fold, ra.protocols.next_item()).standings
    >>> law, hit = Law("uniform", replace=False), parse_metrics("hit@5")
    >>> measured(standings, law, [5, 20], hit, grouped(standings), base="AI").mean.round(3).tolist()
    [[0.9], [0.433]]
    """
    group = groups[stretch_of(standings.offsets)]
    order = np.argsort(group, kind="stable")
    n_groups = int(groups.max(initial=-1)) + 1
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    counts, weights = _candidates(standings, base, order), _weights(standings, law, base, order)
    code = _kernels.AGAIN if law.replace else _kernels.TWO if law.approximate else _kernels.PLAIN
    arrays = (*weights, *counts) if law.replace else (*counts, *weights)
    asked = np.array(sizes, np.int64)
    largest = int(asked.max() if law.replace else np.minimum(asked.max(), counts[2].max(initial=0)))
    credit = credits(metrics, largest + 1)
    whole = np.arange(max(largest, int(counts[2].max(initial=0))) + 4.0)
    logs, parts = readonly(gammaln(whole + 1)), readonly(1 / np.maximum(whole, 1))
    auc = any(isinstance(metric, AUC) for metric in metrics.values())
    sums = np.zeros((n_groups, asked.size, credit.shape[0] + 1))
    ready = tuple(readonly(one) for one in (group[order], *arrays, asked))
    kernels: Any = _kernels  # compiled functions do not tell their parameters

    def work(begin: int, end: int) -> Float:
        spread = np.zeros((asked.size, credit.shape[0] + 1))
        kernels.worth(
            int(bounds[begin]), int(bounds[end]), *ready, code, readonly(credit), logs, parts, auc, sums, spread
        )
        return spread

    at_once = max(1, CASES_PER_BLOCK * n_groups // max(order.size, 1))
    spread = np.sum(each_block(work, n_groups, size=at_once, threads=threads), axis=0)
    own = iter(range(credit.shape[0]))
    columns = [-1 if isinstance(metric, AUC) else next(own) for metric in metrics.values()]
    return Measured(sums[:, :, columns], np.diff(bounds), spread[:, columns])


def credits(metrics: Mapping[str, Metric], ranks: int) -> Float:
    """What every metric but AUC credits a lone relevant item with at ranks 1, 2, ..., as far as anything is earned."""
    chosen = [credit_of(metric) for metric in metrics.values() if not isinstance(metric, AUC)]
    alone = np.ones(1, np.int64)
    cuts = [1 if one.cut_at_relevant else min(one.cut or ranks, ranks) for one in chosen]
    table = np.zeros((len(chosen), max(cuts, default=1)))
    for row, (one, cut) in enumerate(zip(chosen, cuts, strict=True)):
        table[row, :cut] = one.table(cut) / one.norm(alone)[0]
    return table


def _candidates(standings: Standings, base: str, order: Int64) -> tuple[Float, Float, Float]:
    """Numbers of candidates above, level with, and in all, of each case in turn."""
    if base not in standings.above:
        have = ", ".join(standings.above)
        raise UsageError("U102", f"there are no standings among '{base}'", where=standings.name, hint=f"one of {have}")
    pool = standings.pool[base][stretch_of(standings.offsets)]
    above, tied, all_ = (one[order].astype(np.float64) for one in (standings.above[base], standings.tied[base], pool))
    return above, tied, all_


def _weights(standings: Standings, law: Law, base: str, order: Int64) -> tuple[Float, Float, Float]:
    """What candidates weigh in the draw: their popularity, or 1 each."""
    if law.by == "uniform":
        return _candidates(standings, base, order)
    if base not in standings.mass:
        raise UsageError("U119", "the standings hold no popularity mass", where=standings.name, hint="play it again")
    whole = standings.mass[base][stretch_of(standings.offsets)]
    above, tied = standings.mass_above[base], standings.mass_tied[base]
    heavy, equal, mass = (one[order].astype(np.float64) for one in (above, tied, whole))
    return heavy, equal, mass
