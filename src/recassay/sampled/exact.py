"""Draws by popularity without replacement, exactly: from the weight of every candidate above and below each item.

Standings do not hold these, so the systems are asked for their scores again. The work grows with the square of the
number of candidates; where there are more than MOST, :mod:`recassay.sampled.measure` has an approximation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recassay.data.layout import readonly, stretch_of
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.engine.play import Source
from recassay.engine.standings import score_rows, side_by_side
from recassay.engine.tiles import TILE
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.sampled import _successive
from recassay.sampled.measure import Measured, credits
from recassay.threads import each_block

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]

MOST = 2_000  # candidates


def why_not(systems: Mapping[str, Any], base: str) -> str:
    """Why these systems have no exact law, in words; empty if they have one."""
    for name, one in systems.items():
        standings: Any = one.standings if isinstance(one, Run) else one
        if base in standings.pool and int(standings.pool[base].max(initial=0)) > MOST:
            return f"there are up to {int(standings.pool[base].max()):,} candidates, and more than {MOST:,}"
        if not (isinstance(one, Run) and isinstance(one.source, Source) and _has_scores(one.source)):
            return f"'{name}' cannot be asked for its scores again"
        if base not in one.source.question.bases:
            return f"there are no standings among '{base}'"
    return ""


def _has_scores(source: Source) -> bool:
    return any(hasattr(source.fitted, way) for way in ("scores", "item_factors"))


def measured_exactly(
    run: Run, standings: Standings, groups: Int64, base: str, sizes: Sequence[int], metrics: Mapping[str, Metric],
    *, threads: int | None = None,
) -> Measured:  # fmt: skip
    """The worth of a system for every size of a sample drawn by popularity, without replacement."""
    source: Any = run.source
    question, rows = source.question, score_rows(source.question, source.fitted, run.name)
    asked = np.array(sizes, np.int64)
    largest = min(int(asked.max()), int(standings.pool[base].max(initial=0)))
    credit, auc = credits(metrics, largest + 1), any(isinstance(metric, AUC) for metric in metrics.values())
    weights = question.weight[question.item].astype(np.float64)
    inside = np.repeat(question.member[question.bases.index(base)], np.diff(question.cells)) & (weights > 0)
    place = np.empty_like(question.item)
    place[question.item] = np.arange(place.size, dtype=np.int32)
    mean, variance = (np.zeros((standings.pairs, asked.size, credit.shape[0] + 1)) for _ in range(2))
    kernels: Any = _successive  # compiled functions do not tell their parameters

    def work(begin: int, end: int) -> None:
        table = side_by_side(rows, question.rows, begin, end)
        for query in range(begin, end):
            free, line = inside.copy(), table[query - begin]
            for lists in (question.seen, question.relevant):
                free[lists.places[lists.offsets[query] : lists.offsets[query + 1]]] = False
            order = np.argsort(weights[free], kind="stable")
            weight, score = weights[free][order], line[free][order]
            for pair in range(standings.offsets[query], standings.offsets[query + 1]):
                level = line[place[standings.item[pair]]]
                parts = (weight[score > level], weight[score == level], weight[score < level])
                ready = tuple(readonly(one) for one in (*parts, asked, credit))
                kernels.worth(*ready, auc, mean[pair], variance[pair])

    with threadpool_limits(1):
        each_block(work, question.users.size, size=TILE, threads=threads)
    group = groups[stretch_of(standings.offsets)]
    own = iter(range(credit.shape[0]))
    columns = [-1 if isinstance(metric, AUC) else next(own) for metric in metrics.values()]
    sums = np.zeros((int(groups.max(initial=-1)) + 1, *mean.shape[1:]))
    np.add.at(sums, group, mean)
    counts = np.bincount(group, minlength=len(sums))
    return Measured(sums[:, :, columns], counts, variance.sum(axis=0)[:, columns])
