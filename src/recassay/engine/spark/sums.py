"""Means and intervals from sums over values in Parquet: one pass for means, one for what intervals are made of.

Sums are exact, so that neither partitions nor files are in the result; the local engine rounds on the way, and differs
in the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from recassay.comparison.intervals import Uncertainty, bounds_of_moments, is_analytic
from recassay.comparison.moments import Spread, Totals
from recassay.data.finding import Finding
from recassay.data.scores import Summary, Values
from recassay.engine.local import Job
from recassay.engine.parts import Order, Tally
from recassay.engine.spark.judge import ORDERS, Key
from recassay.engine.spark.kept import Columns, Kept
from recassay.engine.summary import Bounds, bounds_of, of_lengths, rooted, said_once
from recassay.engine.worth import Worth
from recassay.metrics.base import UnitMetric
from recassay.portable import elementary


def from_sums(
    kept: Kept, job: Job, tallies: Mapping[str, Tally], uncertainty: Uncertainty, few: int
) -> tuple[tuple[Summary, ...], tuple[Finding, ...]]:
    """Means, intervals and findings of all systems; what up to ``few`` users have is resampled if that was asked."""
    metrics = job.unit_metrics
    keys = [key for key in kept.keys if key in kept.there]
    sums: Sums = kept.summed(keys, partial(_first, metrics))
    judged = {
        name: job.verdict(name, WorthOfSums(metrics, name, sums, _errors(kept, metrics, sums)), tally)
        for name, tally in tallies.items()
    }
    bounds = _bounds(kept, metrics, sums, uncertainty, few)
    nothing = (float("nan"), float("nan"))
    rows = [row for one, _ in judged.values() for row in one]
    bounded = [(row, *bounds.get((row.system, row.metric), nothing)) for row in rows]
    return (
        tuple(replace(row, low=low, high=high) for row, low, high in bounded),
        said_once([finding for _, found in judged.values() for finding in found]) + of_lengths(rows),
    )


def bounds_of_kept(kept: Kept, metrics: Mapping[str, UnitMetric], uncertainty: Uncertainty, few: int) -> Bounds:
    """Bounds of the means of all columns that have values."""
    if uncertainty.method is None:
        return {}
    keys = [key for key in kept.keys if key in kept.there]
    return _bounds(kept, metrics, kept.summed(keys, partial(_first, metrics)), uncertainty, few)


@dataclass(frozen=True, eq=False)
class Sums:
    """What values add up to, and how many of them are undefined, by column."""

    totals: Mapping[Key, Totals]
    undefined: Mapping[Key, int]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            {key: one + other.totals[key] for key, one in self.totals.items()},
            {key: one + other.undefined[key] for key, one in self.undefined.items()},
        )


@dataclass(frozen=True, eq=False)
class Spreads:
    """How values spread about their mean, by column."""

    of: Mapping[Key, Spread]

    def __add__(self, other: Spreads) -> Spreads:
        return Spreads({key: one + other.of[key] for key, one in self.of.items()})


class WorthOfSums(Worth):
    """From sums; ``errors`` are standard errors by column, of those that are asked about."""

    def __init__(self, metrics: Mapping[str, UnitMetric], system: str, sums: Sums, errors: Mapping[Key, float]) -> None:
        super().__init__(metrics)
        self.system, self.sums, self.errors = system, sums, errors

    def counts(self, heading: str) -> tuple[int, int]:
        """Units with a value, and without."""
        key = Key(self.system, ("value", heading))
        return self.sums.totals[key].units, self.sums.undefined[key]

    def mean(self, heading: str, order: Order | None = None) -> float:
        """The mean."""
        found = self.sums.totals[Key(self.system, (order or "value", heading))].mean
        power = self.metrics[heading].power
        return found if power == 1 else elementary.power(found, 1 / power)

    def error(self, heading: str) -> float:
        """Of the plain mean."""
        return self.errors[Key(self.system, ("value", heading))]

    @property
    def reordered(self) -> tuple[str, ...]:
        """Headings whose values are known in the other orders of ties."""
        return _reordered(self.sums, self.system)


def _reordered(sums: Sums, system: str) -> tuple[str, ...]:
    return tuple(key.column[1] for key in sums.totals if key.system == system and key.column[0] == ORDERS[0])


def _first(metrics: Mapping[str, UnitMetric], columns: Columns) -> Sums:
    """Sums of the values of some users."""
    named = {key: _defined(metrics, key, columns) for key in columns if key.column[0] != "weight"}
    totals = {key: Totals.of(values, weights) for key, (values, weights) in named.items()}
    return Sums(totals, {key: columns[key].size - named[key][0].size for key in named})


def _second(metrics: Mapping[str, UnitMetric], totals: Mapping[Key, Totals], plain: bool, columns: Columns) -> Spreads:
    """Spreads of the values of some users."""
    found = {}
    for key, total in totals.items():
        values, weights = _defined(metrics, key, columns)
        found[key] = Spread.of(values, None if plain else weights, total)
    return Spreads(found)


def _defined(metrics: Mapping[str, UnitMetric], key: Key, columns: Columns) -> tuple[Values, Values | None]:
    """Values of a column where they are defined, in the power of their metric, and their weights."""
    heading = key.column[1]
    values, weights = columns[key], columns.get(Key(key.system, ("weight", heading)))
    known, power = ~np.isnan(values), metrics[heading].power
    values = values[known] if power == 1 else values[known] ** power
    return values, None if weights is None else weights[known]


def _errors(kept: Kept, metrics: Mapping[str, UnitMetric], sums: Sums) -> dict[Key, float]:
    """Standard errors of metrics whose value depends on the order of ties."""
    systems = dict.fromkeys(key.system for key in sums.totals)
    asked = [Key(system, ("value", heading)) for system in systems for heading in _reordered(sums, system)]
    if not asked:
        return {}
    totals = {key: sums.totals[key] for key in asked}
    spreads: Spreads = kept.summed(asked, partial(_second, metrics, totals, True))
    return {key: spreads.of[key].standard_error for key in asked}


def _bounds(
    kept: Kept, metrics: Mapping[str, UnitMetric], sums: Sums, uncertainty: Uncertainty, few: int
) -> dict[tuple[str, str], tuple[float, float]]:
    """Bounds of every mean: from sums, or by resampling what few users have."""
    if uncertainty.method is None:
        return {}
    method = uncertainty.method
    totals = {key: total for key, total in sums.totals.items() if key.column[0] == "value"}
    analytic = {key: total for key, total in totals.items() if is_analytic(method, total.units, few)}
    bounds: dict[tuple[str, str], tuple[float, float]] = {}
    if analytic:
        asked = _with_weights(kept, analytic)
        spreads: Spreads = kept.summed(asked, partial(_second, metrics, analytic, False))
        for key, total in analytic.items():
            low, high = bounds_of_moments(total, spreads.of[key], method=method, level=uncertainty.level)
            bounds[key.system, key.column[1]] = rooted(low, high, metrics[key.column[1]].power)
    resampled = [key for key in totals if key not in analytic]
    if resampled:
        powers = {heading: metric.power for heading, metric in metrics.items()}
        bounds |= kept.in_one_task(_with_weights(kept, resampled), partial(_resampled, powers, uncertainty))
    return bounds


def _with_weights(kept: Kept, keys: Mapping[Key, Totals] | Sequence[Key]) -> list[Key]:
    weights = (Key(key.system, ("weight", key.column[1])) for key in keys)
    return [*keys, *(key for key in weights if key in kept.there)]


def _resampled(
    powers: Mapping[str, float], uncertainty: Uncertainty, _: pl.Series, columns: Columns
) -> dict[tuple[str, str], tuple[float, float]]:
    values = {(key.system, key.column[1]): column for key, column in columns.items() if key.column[0] == "value"}
    weights = {(key.system, key.column[1]): column for key, column in columns.items() if key.column[0] == "weight"}
    return bounds_of(values, weights, uncertainty, powers, 1)
