"""Means and intervals from sums over values in Parquet: one pass for means, one for the moments of intervals.

Sums are exact, so results depend neither on partitions nor on files. The local back end rounds on the way and differs
in the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from recassay.backends.spark.scoring import Key
from recassay.backends.spark.stored_values import Columns, StoredValues
from recassay.engine.lists.job import Job
from recassay.engine.lists.means import MetricMeans
from recassay.engine.lists.parts import ORDERS, Order, PartialCounts
from recassay.engine.finish import Bounds, interval_bounds, merge_findings, root_bounds, table_findings
from recassay.metrics.base import UnitMetric
from recassay.portable import elementary
from recassay.results.finding import Finding
from recassay.results.scores import Summary, Values
from recassay.stats.intervals import Uncertainty, bounds_from_moments, is_analytic
from recassay.stats.moments import InfluenceSums, Totals


def means_from_sums(
    kept: StoredValues, job: Job, tallies: Mapping[str, PartialCounts], uncertainty: Uncertainty, few: int
) -> tuple[tuple[Summary, ...], tuple[Finding, ...]]:
    """Return means, intervals and findings of all systems from sums over the stored values.

    ``tallies`` are the counts of users and lists of each system. Intervals are resampled if there are at most ``few``
    users, else computed from sums.
    """
    metrics = job.unit_metrics
    keys = [key for key in kept.keys if key in kept.there]
    sums: ColumnSums = kept.summed(keys, partial(_column_sums, metrics))
    judged = {
        name: job.summarise(name, MeansOfSums(metrics, name, sums, _standard_errors(kept, metrics, sums)), tally)
        for name, tally in tallies.items()
    }
    bounds = _bounds(kept, metrics, sums, uncertainty, few)
    nothing = (float("nan"), float("nan"))
    rows = [row for one, _ in judged.values() for row in one]
    bounded = [(row, *bounds.get((row.system, row.metric), nothing)) for row in rows]
    return (
        tuple(replace(row, low=low, high=high) for row, low, high in bounded),
        merge_findings([*(finding for _, found in judged.values() for finding in found), *table_findings(rows)]),
    )


def bounds_of_stored(
    kept: StoredValues, metrics: Mapping[str, UnitMetric], uncertainty: Uncertainty, few: int
) -> Bounds:
    """Return the bounds of the confidence intervals of the means of all columns that have stored values.

    With at most ``few`` users intervals may be resampled, in one task; else they are computed from sums.
    """
    if uncertainty.method is None:
        return {}
    keys = [key for key in kept.keys if key in kept.there]
    return _bounds(kept, metrics, kept.summed(keys, partial(_column_sums, metrics)), uncertainty, few)


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """For each column of values, the sum over users and the number of users with an undefined value.

    The sums of disjoint groups of users add up.
    """

    totals: Mapping[Key, Totals]
    undefined: Mapping[Key, int]

    def __add__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(
            {key: one + other.totals[key] for key, one in self.totals.items()},
            {key: one + other.undefined[key] for key, one in self.undefined.items()},
        )


@dataclass(frozen=True, eq=False)
class ColumnVariation:
    """For each column of values, the sums from which the confidence interval of its mean follows.

    They are sums of powers of each value's influence on the mean, and those of disjoint groups of users add up.
    """

    of: Mapping[Key, InfluenceSums]

    def __add__(self, other: ColumnVariation) -> ColumnVariation:
        return ColumnVariation({key: one + other.of[key] for key, one in self.of.items()})


class MeansOfSums(MetricMeans):
    """Means of one system by metric, computed from sums over users.

    ``errors`` has the standard errors of metrics whose values depend on the order of ties.
    """

    def __init__(
        self, metrics: Mapping[str, UnitMetric], system: str, sums: ColumnSums, errors: Mapping[Key, float]
    ) -> None:
        super().__init__(metrics)
        self.system, self.sums, self.errors = system, sums, errors

    def counts(self, heading: str) -> tuple[int, int]:
        """Return the number of users with a value under the metric called ``heading``, and of those without."""
        key = Key(self.system, ("value", heading))
        return self.sums.totals[key].units, self.sums.undefined[key]

    def mean(self, heading: str, order: Order | None = None) -> float:
        """Return the mean under the metric called ``heading``.

        ``order`` is "pessimistic" or "optimistic" for the mean with tied rows in their worst or best order (None: the
        usual one).
        """
        found = self.sums.totals[Key(self.system, (order or "value", heading))].mean
        power = self.metrics[heading].power
        return found if power == 1 else elementary.power(found, 1 / power)

    def error(self, heading: str) -> float:
        """Return the standard error of the mean under the metric called ``heading``."""
        return self.errors[Key(self.system, ("value", heading))]

    @property
    def tie_order_headings(self) -> tuple[str, ...]:
        """Return the headings of metrics that also have values in the worst and the best order of ties."""
        return _reordered(self.sums, self.system)


def _reordered(sums: ColumnSums, system: str) -> tuple[str, ...]:
    return tuple(key.column[1] for key in sums.totals if key.system == system and key.column[0] == ORDERS[0])


def _column_sums(metrics: Mapping[str, UnitMetric], columns: Columns) -> ColumnSums:
    """Return for each column of values the sum over users, and the number of undefined values.

    ``columns`` hold values and weights of some users by (system, kind, heading), and ``metrics`` are by heading.
    """
    named = {key: _defined_values(metrics, key, columns) for key in columns if key.column[0] != "weight"}
    totals = {key: Totals.of(values, weights) for key, (values, weights) in named.items()}
    return ColumnSums(totals, {key: columns[key].size - named[key][0].size for key in named})


def _column_variation(
    metrics: Mapping[str, UnitMetric], totals: Mapping[Key, Totals], plain: bool, columns: Columns
) -> ColumnVariation:
    """Return sums of powers of users' influences on each mean, from which the intervals of means are computed.

    A user's influence is the deviation of the value from the mean, times the weight. ``columns`` holds the values of
    some of the users, and the sums are over these; those of several groups of users add up. ``totals`` are the sums
    over all users, which give the mean. With ``plain``, weights are ignored.
    """
    found = {}
    for key, total in totals.items():
        values, weights = _defined_values(metrics, key, columns)
        found[key] = InfluenceSums.of(values, None if plain else weights, total)
    return ColumnVariation(found)


def _defined_values(metrics: Mapping[str, UnitMetric], key: Key, columns: Columns) -> tuple[Values, Values | None]:
    """Return (values, weights) of the users with a defined value in the column ``key``; weights may be None.

    The values are raised to the power of the column's metric, which is in ``metrics`` by heading. ``columns`` hold all
    columns by key.
    """
    heading = key.column[1]
    values, weights = columns[key], columns.get(Key(key.system, ("weight", heading)))
    known, power = ~np.isnan(values), metrics[heading].power
    values = values[known] if power == 1 else values[known] ** power
    return values, None if weights is None else weights[known]


def _standard_errors(kept: StoredValues, metrics: Mapping[str, UnitMetric], sums: ColumnSums) -> dict[Key, float]:
    """Return the standard error of the mean for each metric whose value depends on the order of ties.

    ``kept`` are the stored values, and ``sums`` their sums over users.
    """
    systems = dict.fromkeys(key.system for key in sums.totals)
    wanted = [Key(system, ("value", heading)) for system in systems for heading in _reordered(sums, system)]
    if not wanted:
        return {}
    totals = {key: sums.totals[key] for key in wanted}
    spreads: ColumnVariation = kept.summed(wanted, partial(_column_variation, metrics, totals, True))
    return {key: spreads.of[key].moments.standard_error for key in wanted}


def _bounds(
    kept: StoredValues, metrics: Mapping[str, UnitMetric], sums: ColumnSums, uncertainty: Uncertainty, few: int
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the (low, high) of the interval of every mean, by (system, metric); empty if no intervals are wanted.

    ``kept`` are the stored values, and ``sums`` their sums over users. With at most ``few`` users intervals may be
    resampled, in one task; else they are computed from sums.
    """
    if uncertainty.method is None:
        return {}
    method = uncertainty.method
    totals = {key: total for key, total in sums.totals.items() if key.column[0] == "value"}
    analytic = {key: total for key, total in totals.items() if is_analytic(method, total.units, few)}
    bounds: dict[tuple[str, str], tuple[float, float]] = {}
    if analytic:
        wanted = _with_weights(kept, analytic)
        spreads: ColumnVariation = kept.summed(wanted, partial(_column_variation, metrics, analytic, False))
        for key, total in analytic.items():
            low, high = bounds_from_moments(total, spreads.of[key], method=method, level=uncertainty.level)
            bounds[key.system, key.column[1]] = root_bounds(low, high, metrics[key.column[1]].power)
    resampled = [key for key in totals if key not in analytic]
    if resampled:
        powers = {heading: metric.power for heading, metric in metrics.items()}
        bounds |= kept.apply(_with_weights(kept, resampled), partial(_resampled, powers, uncertainty))
    return bounds


def _with_weights(kept: StoredValues, keys: Mapping[Key, Totals] | Sequence[Key]) -> list[Key]:
    weights = (Key(key.system, ("weight", key.column[1])) for key in keys)
    return [*keys, *(key for key in weights if key in kept.there)]


def _resampled(
    powers: Mapping[str, float], uncertainty: Uncertainty, _: pl.Series, columns: Columns
) -> dict[tuple[str, str], tuple[float, float]]:
    values = {(key.system, key.column[1]): column for key, column in columns.items() if key.column[0] == "value"}
    weights = {(key.system, key.column[1]): column for key, column in columns.items() if key.column[0] == "weight"}
    return interval_bounds(values, weights, uncertainty, powers, 1)
