"""From values per unit to a summary: intervals of every mean, from resamples that all systems share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.intervals import Uncertainty, intervals
from recassay.data.finding import Finding
from recassay.data.scores import Scores, Summary, Values
from recassay.diagnose.base import Stored, Uncut, diagnose
from recassay.engine.local import Job, Judgement, Report
from recassay.portable import elementary

ENOUGH = 10  # users: fewer may have the same values by chance
CELLS = 16_000_000  # values stacked for one call to intervals; bounds memory, not bits

Key = tuple[str, str]  # system, heading
Bounds = dict[Key, tuple[float, float]]


def assemble(
    job: Job,
    judged: Mapping[str, Judgement],
    uncertainty: Uncertainty,
    profile: str | None,
    cells: int = CELLS,
    units: pl.Series | None = None,
) -> Scores:
    """The scores of all systems, with intervals and what was found; ``units`` are those of the truth unless given."""
    per_unit = {(name, heading): column for name, one in judged.items() for heading, column in one.values.items()}
    weights = {(name, heading): column for name, one in judged.items() for heading, column in one.weights.items()}
    powers = {heading: metric.power for heading, metric in job.unit_metrics.items()}
    bounds = bounds_of(per_unit, weights, uncertainty, powers, job.threads, job.progress, cells)
    rows = [row for one in judged.values() for row in one.rows]
    nothing = (float("nan"), float("nan"))
    bounded = [(row, *bounds.get((row.system, row.metric), nothing)) for row in rows]
    return Scores(
        units=job.truth.queries if units is None else units,
        systems=tuple(judged),
        metrics=tuple(job.metrics),
        per_unit=per_unit,
        per_unit_weights=weights,
        rows=tuple(replace(row, low=low, high=high) for row, low, high in bounded),
        findings=said_once([finding for one in judged.values() for finding in one.findings] + same_values(judged))
        + of_lengths(rows),
        settings=settings_of(job, uncertainty, profile),
    )


def same_values(judged: Mapping[str, Judgement]) -> list[Finding]:
    """C012 of systems that have the same value for every user; not of a few users, where that may be chance."""

    def same(one: Judgement, other: Judgement) -> bool:
        pairs = [(column, other.values[heading]) for heading, column in one.values.items()]
        return all(len(a) >= ENOUGH and np.array_equal(a, b, equal_nan=True) for a, b in pairs) and bool(pairs)

    alike = [("", a, b) for a, b in itertools.combinations(judged, 2) if same(judged[a], judged[b])]
    return list(diagnose(Stored((), tuple(alike))))


def of_lengths(rows: Iterable[Summary]) -> tuple[Finding, ...]:
    """What is found in the lengths of lists that metrics without a cut-off looked at."""
    about = ({"metric": row.metric, "system": row.system, "parameters": row.parameters} for row in rows)
    return diagnose(Uncut.of(about))


def settings_of(job: Job, uncertainty: Uncertainty, profile: str | None) -> dict[str, Any]:
    """What must be known to get the same numbers again."""
    return {
        "profile": profile,
        "conventions": asdict(job.conventions),
        "metrics": {heading: str(metric) for heading, metric in job.metrics.items()},
        "interval": asdict(uncertainty),
        "train": job.context.train is not None,
    }


def bounds_of(
    per_unit: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    uncertainty: Uncertainty,
    powers: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Report | None = None,
    cells: int = CELLS,
) -> Bounds:
    """Bounds of every mean; ``powers`` by heading are 1 unless given. Columns on the same units share resamples."""
    if uncertainty.method is None:
        return {}
    alike: dict[tuple[bytes, bool], list[Key]] = {}
    for key, column in per_unit.items():
        alike.setdefault((np.packbits(np.isnan(column)).tobytes(), key in weights), []).append(key)
    bounds: Bounds = {}
    for (_, weighted), keys in alike.items():
        defined = ~np.isnan(per_unit[keys[0]])
        width = max(1, min(cells, CELLS) // max(int(defined.sum()), 1))
        for begin in range(0, len(keys), width):
            group = keys[begin : begin + width]
            power = np.array([1.0 if powers is None else powers[heading] for _, heading in group])
            low, high = intervals(
                _raised([per_unit[key][defined] for key in group], power),
                np.column_stack([weights[key][defined] for key in group]) if weighted else None,
                method=uncertainty.method,
                level=uncertainty.level,
                resamples=uncertainty.resamples,
                seed=uncertainty.seed,
                threads=threads,
                progress=_resampling(progress),
            )
            for key, below, above, raised in zip(group, low.tolist(), high.tolist(), power.tolist(), strict=True):
                bounds[key] = rooted(below, above, raised)
    return bounds


def _raised(columns: list[Values], powers: Values) -> Values:
    """Return columns side by side, each raised to its power."""
    raised = (one if power == 1 else elementary.power(one, power) for one, power in zip(columns, powers, strict=True))
    return np.column_stack(list(raised))


def rooted(low: float, high: float, power: float) -> tuple[float, float]:
    """Bounds of a mean of powers as bounds of its root.

    >>> rooted(-1.0, 4.0, 2.0)
    (0.0, 2.0)
    """
    return (low, high) if power == 1 else tuple(elementary.power(np.maximum([low, high], 0.0), 1 / power).tolist())


def _resampling(report: Report | None) -> Callable[[int, int], None] | None:
    return None if report is None else lambda done, of: report("resampling users", done, of)


def said_once(findings: list[Finding]) -> tuple[Finding, ...]:
    """What is found for several systems alike is said once, with their names."""
    systems: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        systems.setdefault((finding.code, finding.detail), []).append(finding)
    merged = [
        replace(same[0], system=", ".join(dict.fromkeys(finding.system for finding in same)))
        for same in systems.values()
    ]
    return tuple(sorted(merged, key=lambda finding: finding.code))
