"""Scores of all systems from the values of users: means, intervals from resamples that systems share, and findings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks import diagnose
from recassay.metrics.base import Metric
from recassay.results.finding import Finding
from recassay.results.first_hits import FirstHits
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
    findings = [finding for result in judged.values() for finding in result.findings]
    rows = [row for result in judged.values() for row in result.rows]
    return finish(
        units,
        job.metrics,
        rows,
        {(name, heading): column for name, result in judged.items() for heading, column in result.values.items()},
        {(name, heading): column for name, result in judged.items() for heading, column in result.weights.items()},
        uncertainty,
        threads=job.threads,
        progress=job.progress,
        cells=cells,
        findings=merge_findings([*findings, *table_findings(rows, _same_values(judged))]),
        settings=_settings(job, uncertainty, profile),
        first_hits=_first_hits(job, judged, units),
        named={name: one.named for name, one in judged.items()},
        tie_orders={
            (name, job.main_metric): one.tie_orders for name, one in judged.items() if one.tie_orders is not None
        },
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
    clusters: NDArray[np.int64] | None = None,
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
    rows, columns, shares = list(rows), values, weights
    if clusters is not None and clusters.size:
        size = int(clusters.max()) + 1
        pooled = {
            key: pooled_values([(clusters, column, defined_weights(column, None))], size, powers[key[1]])
            for key, column in values.items()
        }
        columns, shares = ({key: pair[at] for key, pair in pooled.items()} for at in (0, 1))
    bounds = _bounds(columns, shares, how, powers, threads, progress, cells)
    keys = ((row.system, row.metric) for row in rows)
    bounded = (
        replace(row, low=bounds[key][0], high=bounds[key][1]) if key in bounds else row
        for row, key in zip(rows, keys, strict=True)
    )
    systems = tuple(dict.fromkeys(row.system for row in rows))
    return Scores(units, systems, tuple(metrics), values, weights, tuple(bounded), **more)


def _first_hits(job: Job, judged: Mapping[str, Judgement], units: pl.Series) -> FirstHits | None:
    found = {name: one.first_hits for name, one in judged.items() if one.first_hits is not None}
    return FirstHits(units, found, job.first_hits_from) if job.first_hits_from is not None else None


def _same_values(judged: Mapping[str, Judgement]) -> list[tuple[str, str, str]]:
    """Return pairs of systems with the same value for every user, for finding C012.

    There is none if the users are so few that this may be chance.
    """

    def same(left: Judgement, right: Judgement) -> bool:
        pairs = [(column, right.values[heading]) for heading, column in left.values.items()]
        return all(len(a) >= ENOUGH_USERS and np.array_equal(a, b, equal_nan=True) for a, b in pairs) and bool(pairs)

    return [("", a, b) for a, b in itertools.combinations(judged, 2) if same(judged[a], judged[b])]


def table_findings(rows: Iterable[Summary], same: Iterable[tuple[str, str, str]] = ()) -> tuple[Finding, ...]:
    """Return findings about the table of all systems: other users, and lists of other lengths, than another system has.

    ``same`` are pairs of systems with the same values, each with its place as text.
    """
    rows = list(rows)
    if len({row.system for row in rows}) < 2:
        return ()
    about = [
        {
            "metric": row.metric,
            "system": row.system,
            "parameters": row.parameters,
            **{name: getattr(row, name) for name in Summary.COUNTS},
        }
        for row in rows
    ]
    return (*diagnose("table", rows=about, same=list(same)), *diagnose("list lengths", rows=about))


def _settings(job: Job, uncertainty: Uncertainty, profile: str | None) -> dict[str, Any]:
    """Return the settings with which the scores can be reproduced."""
    return {
        "profile": profile,
        "conventions": asdict(job.conventions),
        "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
        "interval": asdict(uncertainty),
        "train": job.context.train is not None,
    }


def _bounds(
    per_unit: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    uncertainty: Uncertainty,
    powers: Mapping[str, float],
    threads: int | None,
    progress: StageProgress | None,
    cells: int,
) -> dict[Key, tuple[float, float]]:
    """Return the bounds (low, high) of every mean, by (system, metric); nothing if intervals are not wanted.

    ``per_unit`` and ``weights`` are the values and weights of all units. The mean of a metric is a power mean with the
    exponent in ``powers``. Systems and metrics that are defined for the same units share resamples.
    """
    method = uncertainty.method
    if method is None:
        return {}
    defined = {key: _defined(column) for key, column in per_unit.items()}
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

    def bounds_of(begin: int, end: int) -> dict[Key, tuple[float, float]]:
        found: dict[Key, tuple[float, float]] = {}
        for keys in groups[begin:end]:
            mask = defined[keys[0]]
            rows = slice(None) if mask is None else mask  # a slice copies nothing
            power = np.array([powers[heading] for _, heading in keys])
            low, high = intervals(
                _raised([per_unit[key][rows] for key in keys], power),
                np.column_stack([weights[key][rows] for key in keys]) if keys[0] in weights else None,
                method=method,
                level=uncertainty.level,
                resamples=uncertainty.resamples,
                seed=uncertainty.seed,
                threads=threads,
                progress=_resampling(progress),
            )
            for key, below, above, raised in zip(keys, low.tolist(), high.tolist(), power.tolist(), strict=True):
                found[key] = root_bounds(below, above, raised)
        return found

    size = 1 if analytic else max(1, len(groups))  # resampling has threads of its own
    found = each_block(bounds_of, len(groups), size=size, threads=threads)
    return {key: bounds for some in found for key, bounds in some.items()}


def standard_error(values: Values) -> float:
    """Return the standard error of the mean of defined values; 0 for fewer than two, NaN if one is infinite."""
    defined = values[~np.isnan(values)]
    if np.isinf(defined).any():
        return float("nan")
    return float(defined.std(ddof=1) / np.sqrt(defined.size)) if defined.size > 1 else 0.0


def _defined(column: Values) -> NDArray[np.bool_] | None:
    """Return a mask of the users who have a value; None if all have one, which their sum shows in one pass."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
        total = column.sum()
    return ~np.isnan(column) if np.isnan(total) else None


def _raised(columns: list[Values], powers: Values) -> Values:
    """Return a table with a column for each of ``columns``, its values raised to the column's power."""
    raised = (values if power == 1 else values**power for values, power in zip(columns, powers, strict=True))
    return np.stack(list(raised)).T if len(columns) > 1 else next(raised)[:, None]


def root_bounds(low: float, high: float, power: float) -> tuple[float, float]:
    """Return the bounds of a power mean, from the bounds ``low`` and ``high`` of the mean of the values to that power.

    >>> root_bounds(-1.0, 4.0, 2.0)
    (0.0, 2.0)
    """
    return (low, high) if power == 1 else (max(low, 0.0) ** (1 / power), max(high, 0.0) ** (1 / power))


def _resampling(report: StageProgress | None) -> Callable[[int, int], None] | None:
    return None if report is None else lambda done, of: report("resampling users", done, of)


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
