"""Exact sampled metrics for draws by popularity without replacement.

They need the weight of every candidate above and below each item. Standings do not have these weights, so the scores of
the systems are computed again. The work grows with the square of the number of candidates. For more than MOST
candidates :mod:`recassay.sampled.measure` has an approximation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly, row_groups
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.engine.ranks.blocks import BLOCK_ROWS
from recassay.engine.ranks.play import RunSource
from recassay.engine.ranks.standings import block_scorer, score_queries
from recassay.metrics.base import Metric
from recassay.metrics.credit import counts_pairs
from recassay.models.base.capabilities import gives_scores
from recassay.sampled import _successive
from recassay.sampled.measure import MeasuredSystem, credit_table
from recassay.threads import each_block, one_library_thread

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]

MOST = 2_000  # candidates


def why_not_exact(systems: Mapping[str, Any], base: str) -> str:
    """Return the reason why these systems cannot be measured exactly, as text; empty if they can.

    ``systems`` are runs, or their standings (counts of candidates above each relevant item), by name. ``base`` names
    the set of candidates that are drawn from, such as all items (``AI``).
    """
    for name, system in systems.items():
        standings: Any = system.standings if isinstance(system, Run) else system
        if base in standings.pool and int(standings.pool[base].max(initial=0)) > MOST:
            return f"there are up to {int(standings.pool[base].max()):,} candidates, more than {MOST:,}"
        if not (
            isinstance(system, Run) and isinstance(system.source, RunSource) and gives_scores(system.source.fitted)
        ):
            return f"the scores of '{name}' cannot be computed again"
        if base not in system.source.task.bases:
            return f"there are no standings for the candidates '{base}'"
    return ""


def measure_exactly(
    run: Run, standings: Standings, groups: Int64, base: str, sizes: Sequence[int], metrics: Mapping[str, Metric],
    *, threads: int | None = None,
) -> MeasuredSystem:  # fmt: skip
    """Return exact expectations of a system's metrics over samples of each of ``sizes`` candidates.

    Candidates are drawn by popularity without replacement from the set ``base``, such as all items (``AI``).
    ``standings`` give the relevant items of each query and its number of candidates; the scores are computed again by
    the model of ``run``. The result has sums of expected values over the relevant items of each group of users;
    ``groups[q]`` is the group of query q.
    """
    source: Any = run.source
    task, rows = source.task, block_scorer(source.task, source.fitted, run.name)
    sample_sizes = np.array(sizes, np.int64)
    largest = min(int(sample_sizes.max()), int(standings.pool[base].max(initial=0)))
    credit, auc = credit_table(metrics, largest + 1), any(counts_pairs(metric) for metric in metrics.values())
    weights = task.weight[task.item].astype(np.float64)
    inside = np.repeat(task.member[task.bases.index(base)], np.diff(task.cells)) & (weights > 0)
    place = np.empty_like(task.item)
    place[task.item] = np.arange(place.size, dtype=np.int32)
    mean, variance = (np.zeros((standings.pairs, sample_sizes.size, credit.shape[0] + 1)) for _ in range(2))
    kernels: Any = _successive  # mypy does not see the parameters of compiled functions

    def work(begin: int, end: int) -> None:
        table = score_queries(rows, task, begin, end)
        for query in range(begin, end):
            free, line = inside.copy(), table[query - begin]
            for lists in (task.seen, task.relevant):
                free[lists.places[lists.offsets[query] : lists.offsets[query + 1]]] = False
            order = np.argsort(weights[free], kind="stable")
            weight, score = weights[free][order], line[free][order]
            for pair in range(standings.offsets[query], standings.offsets[query + 1]):
                level = line[place[standings.item[pair]]]
                parts = (weight[score > level], weight[score == level], weight[score < level])
                arguments = tuple(readonly(array) for array in (*parts, sample_sizes, credit))
                kernels.expected_credit(*arguments, auc, mean[pair], variance[pair])

    with one_library_thread():
        each_block(work, task.users.size, size=BLOCK_ROWS, threads=threads)
    group = groups[row_groups(standings.offsets)]
    own = iter(range(credit.shape[0]))
    columns = [-1 if counts_pairs(metric) else next(own) for metric in metrics.values()]
    sums = np.zeros((int(groups.max(initial=-1)) + 1, *mean.shape[1:]))
    np.add.at(sums, group, mean)
    counts = np.bincount(group, minlength=len(sums))
    return MeasuredSystem(sums[:, :, columns], counts, variance.sum(axis=0)[:, columns])
