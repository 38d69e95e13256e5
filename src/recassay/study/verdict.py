"""What the systems of a study are worth: fold by fold, and over all folds.

Over folds every (user, fold) counts as it does in its fold. A user's value is the weighted mean of the user's values,
its weight the sum of their weights; so the mean is that of all (user, fold) together, and the interval, which draws
users, draws each with all their folds: what a user does in one fold is no news in the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.intervals import intervals, means
from recassay.data.scores import Scores, Summary, Values
from recassay.study.schema import Judge

COUNTS = ("missing", "short", "duplicate", "undefined")


def pooled(folds: Sequence[Scores], judge: Judge, *, powers: Mapping[str, float], threads: int | None = None) -> Scores:
    """The scores of the same systems in several folds as one; a metric of the whole catalogue has its mean over folds.

    ``n`` counts users, ``missing`` and the like are sums over folds.
    """
    if len(folds) == 1:
        return folds[0]
    units = pl.concat([one.units for one in folds]).unique().sort()
    places = [units.search_sorted(one.units).to_numpy() for one in folds]
    first, values, weights, rows = folds[0], {}, {}, []
    for heading in first.metrics:
        for system in first.systems:
            row = _summed([one.row(system, heading) for one in folds])
            if heading in first.unit_metrics:
                power = powers.get(heading, 1.0)
                key = (system, heading)
                values[key], weights[key] = _merged(folds, places, units.len(), key, power)
                row = _bounded(row, values[key], weights[key], judge, power, threads)
            rows.append(row)
    order = {key: place for place, key in enumerate((row.system, row.metric) for row in first.rows)}
    rows.sort(key=lambda row: order[row.system, row.metric])
    return dataclasses.replace(
        first, units=units, per_unit=values, per_unit_weights=weights, rows=tuple(rows), findings=()
    )


def _merged(
    folds: Sequence[Scores], places: Sequence[NDArray[np.int64]], size: int, key: tuple[str, str], power: float
) -> tuple[Values, Values]:
    total, weight = np.zeros(size), np.zeros(size)
    for one, place in zip(folds, places, strict=True):
        column, own = one.values(*key), one.weights(*key)
        defined = ~np.isnan(column)
        counts = defined.astype(np.float64) if own is None else np.where(defined, own, 0.0)
        np.add.at(total, place, np.where(defined, column, 0.0) ** power * counts)
        np.add.at(weight, place, counts)
    value = np.full(size, np.nan)
    np.divide(total, weight, out=value, where=weight > 0)
    return value ** (1 / power), weight


def _bounded(row: Summary, values: Values, weights: Values, judge: Judge, power: float, threads: int | None) -> Summary:
    defined = ~np.isnan(values)
    table, share = values[defined, None] ** power, weights[defined, None]
    mean = float(means(table, share)[0]) ** (1 / power)
    low = high = float("nan")
    if judge.interval != "none" and defined.any():
        bounds = intervals(
            table, share, method=judge.interval, level=judge.level, resamples=judge.resamples, seed=judge.seed,
            threads=threads,
        )  # fmt: skip
        low, high = (max(float(bound[0]), 0.0) ** (1 / power) if power != 1 else float(bound[0]) for bound in bounds)
    return dataclasses.replace(row, mean=mean, low=low, high=high, n=int(defined.sum()))


def _summed(rows: Sequence[Summary]) -> Summary:
    """Counts added up, and the plain mean over folds, for metrics that have no value per unit."""
    counts = {name: sum(getattr(row, name) for row in rows) for name in ("n", *COUNTS)}
    mean = float(np.mean([row.mean for row in rows]))
    return dataclasses.replace(rows[0], mean=mean, low=float("nan"), high=float("nan"), **counts)
