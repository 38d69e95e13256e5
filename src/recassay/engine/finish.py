"""Scores of all systems from the values of users: means, intervals from resamples that systems share, and findings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.arrays import Bool, Int64
from recassay.checks import diagnose
from recassay.engine.tally import ORDERS
from recassay.metrics.base import Metric
from recassay.results.finding import Finding
from recassay.results.first_hits import FirstHits, SystemHits
from recassay.results.scores import Scores, Summary, Values
from recassay.stats.group_means import defined_weights, pooled_values
from recassay.stats.intervals import Uncertainty, intervals, is_analytic
from recassay.threads import StageProgress, each_block

if TYPE_CHECKING:
    from recassay.engine.lists.job import Job, Judgement

ENOUGH_USERS = 10  # fewer may have the same values by chance
CELLS = 16_000_000  # values per call of intervals: limits memory, has no effect on bits

Key = tuple[str, str]  # system, heading


def assemble(
    job: Job,
    judged: Mapping[str, Judgement],
    units: pl.Series,
    uncertainty: Uncertainty,
    profile: str | None,
    cells: int = CELLS,
) -> Scores:
    """Return the scores of all systems, with intervals and findings.

    ``judged`` has the evaluation of each system by name, ``units`` are the users of the truth, ``profile`` is the name
    of the conventions used (None: no profile), and ``cells`` is the largest number of values that are resampled at
    once.
    """
    values, weights, worst, best = (
        {
            (name, heading): column
            for name, result in judged.items()
            for (of, heading), column in result.columns.items()
            if of == kind
        }
        for kind in ("value", "weight", *ORDERS)
    )
    rows = [row for result in judged.values() for row in result.rows]
    findings = [finding for result in judged.values() for finding in result.findings]
    if len(judged) > 1:
        findings += table_findings(rows, _same_values(judged, values))
    hits = {
        name: SystemHits(result.columns["first", "rank"], result.columns["first", "length"], result.extra)
        for name, result in judged.items()
        if job.first_hits_from is not None
    }
    return finish(
        units,
        job.metrics,
        rows,
        values,
        weights,
        uncertainty,
        threads=job.threads,
        progress=job.progress,
        cells=cells,
        findings=merge_findings(findings),
        settings={
            "profile": profile,
            "conventions": asdict(job.conventions),
            "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
            "interval": asdict(uncertainty),
            "train": job.context.train is not None,
        },
        first_hits=None if job.first_hits_from is None else FirstHits(units, hits, job.first_hits_from),
        named={name: result.named for name, result in judged.items()},
        tie_orders={key: (worst[key], best[key]) for key in worst},
    )


def row_of(key: Key, metric: Metric, mean: float, n: int, **more: Any) -> Summary:
    """Return the row of a system under a metric; ``more`` are counts, parameters and the like of :class:`Summary`."""
    parameters = {**metric.parameters, **more.pop("parameters", {})}
    return Summary(*key, mean, n, higher_is_better=metric.higher_is_better, parameters=parameters, **more)


def finish(
    units: pl.Series,
    metrics: Mapping[str, Metric | None],
    rows: Iterable[Summary],
    values: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    how: Uncertainty,
    *,
    clusters: Int64 | None = None,
    threads: int | None = None,
    progress: StageProgress | None = None,
    cells: int = CELLS,
    **more: Any,
) -> Scores:
    """Return scores: the ``rows`` of all systems, with an interval where a metric has a value for each of the units.

    ``values`` and ``weights`` of units are by system and metric. Values of one cluster, such as all events of a user,
    are not independent and are resampled together; by default each unit is a cluster. ``cells`` is the largest number
    of values that are resampled at once. ``more`` are other fields of :class:`~recassay.results.scores.Scores`.
    """
    powers = {heading: float(getattr(metric, "power", 1)) for heading, metric in metrics.items()}
    columns, shares = values, weights
    if clusters is not None and clusters.size:
        size = int(clusters.max()) + 1
        pooled = {
            key: pooled_values([(clusters, column, defined_weights(column, None))], size, powers[key[1]])
            for key, column in values.items()
        }
        columns, shares = ({key: pair[at] for key, pair in pooled.items()} for at in (0, 1))
    bounds = {} if how.method is None else _bounds(columns, shares, how, powers, threads, progress, cells)
    rows = tuple(replace(row, **bounds.get((row.system, row.metric), {})) for row in rows)
    systems = tuple(dict.fromkeys(row.system for row in rows))
    return Scores(units, systems, tuple(metrics), values, weights, rows, **more)


def _same_values(systems: Iterable[str], values: Mapping[Key, Values]) -> list[tuple[str, str, str]]:
    """Return pairs of systems with the same value for every user, for finding C012.

    There is none if the users are so few that this may be chance.
    """
    metrics = {metric for _, metric in values}
    return [
        ("", a, b)
        for a, b in itertools.combinations(systems, 2)
        if metrics
        and all(values[a, one].size >= ENOUGH_USERS for one in metrics)
        and all(np.array_equal(values[a, one], values[b, one], equal_nan=True) for one in metrics)
    ]


def table_findings(rows: Iterable[Summary], same: Iterable[tuple[str, str, str]] = ()) -> tuple[Finding, ...]:
    """Return findings about the table of all systems: other users, and lists of other lengths, than another system has.

    ``same`` are pairs of systems with the same values, each with its place as text.
    """
    about = [vars(row) for row in rows]
    return (*diagnose("table", rows=about, same=list(same)), *diagnose("list lengths", rows=about))


def _bounds(
    per_unit: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    how: Uncertainty,
    powers: Mapping[str, float],
    threads: int | None,
    progress: StageProgress | None,
    cells: int,
) -> dict[Key, dict[str, Any]]:
    """Return the bounds, ``low`` and ``high``, of every mean by (system, metric).

    ``per_unit`` and ``weights`` are the values and weights of all units. The mean of a metric is a power mean with the
    exponent in ``powers``. Systems and metrics that are defined for the same units share resamples.
    """
    method, defined = str(how.method), {key: _defined(column) for key, column in per_unit.items()}
    alike: dict[tuple[bytes, bool], list[Key]] = {}
    for key, mask in defined.items():
        alike.setdefault((b"" if mask is None else np.packbits(mask).tobytes(), key in weights), []).append(key)
    groups: list[list[Key]] = []
    analytic = True
    for keys in alike.values():
        mask = defined[keys[0]]
        units = per_unit[keys[0]].size if mask is None else int(np.count_nonzero(mask))
        # an analytic method shares nothing between columns, and a table of all of them is a copy
        one_by_one = is_analytic(method, units)
        width = 1 if one_by_one else max(1, min(cells, CELLS) // max(units, 1))
        groups += [keys[begin : begin + width] for begin in range(0, len(keys), width)]
        analytic &= one_by_one
    bounds: dict[Key, dict[str, Any]] = {}

    def fill(begin: int, end: int) -> None:
        for keys in groups[begin:end]:
            mask = defined[keys[0]]
            rows = slice(None) if mask is None else mask  # a slice copies nothing
            raised = [(per_unit[key][rows], powers[key[1]]) for key in keys]
            columns = [values if power == 1 else values**power for values, power in raised]
            low, high = intervals(
                np.stack(columns).T if len(keys) > 1 else columns[0][:, None],
                np.column_stack([weights[key][rows] for key in keys]) if keys[0] in weights else None,
                method=method,
                level=how.level,
                resamples=how.resamples,
                seed=how.seed,
                threads=threads,
                progress=None if progress is None else partial(progress, "resampling users"),
            )
            for key, (_, power), *ends in zip(keys, raised, low.tolist(), high.tolist(), strict=True):
                roots = ends if power == 1 else [max(end, 0.0) ** (1 / power) for end in ends]
                bounds[key] = dict(zip(("low", "high"), roots, strict=True))

    size = 1 if analytic else max(1, len(groups))  # resampling has threads of its own
    each_block(fill, len(groups), size=size, threads=threads)
    return bounds


def _defined(column: Values) -> Bool | None:
    """Return a mask of the users who have a value; None if all have one, which their sum shows in one pass."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
        total = column.sum()
    return ~np.isnan(column) if np.isnan(total) else None


def merge_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by code; those that differ only in their system become one that names all systems."""
    systems: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        systems.setdefault((finding.code, finding.detail), []).append(finding)
    merged = [
        replace(group[0], system=", ".join(dict.fromkeys(finding.system for finding in group)))
        for group in systems.values()
    ]
    return tuple(sorted(merged, key=lambda finding: finding.code))
