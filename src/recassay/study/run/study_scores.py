"""Scores of the systems of a study, on one fold or over all folds.

Over folds, every pair of user and fold has the weight that it has in its fold. A user's value is the weighted mean of
the user's values, and the weight is the sum of their weights. So the mean over users is the mean over all pairs. The
interval resamples users with all their folds, because values of one user in different folds are not independent.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.engine.finish import finish
from recassay.engine.lists.groups import ItemGroups
from recassay.metrics.base import Metric
from recassay.results.design_scores import DesignScore
from recassay.results.scores import CATALOGUE_ITEMS, PLACES, Marks, Scores, Summary, Values
from recassay.stats.group_means import defined_weights, pooled_values
from recassay.stats.intervals import Uncertainty, mean_of

Key = tuple[str, str]  # system, metric
COUNTS = ("missing", "short", "duplicate", "undefined")
DESIGN_COLUMNS = ("rho", "t", "random", "best", "corrected", "sd_draws", "sets", "unlisted")


@dataclass(frozen=True, eq=False)
class StudyScores:
    """The scores of all systems under one design, on one fold or over all folds.

    ``design_rows`` have the numbers that only designs have, by (system, metric); they are empty for ranked lists. If
    units are not users, ``users`` holds the user of every unit. ``times`` are the times of units that have one.
    """

    scores: Scores
    design_rows: Mapping[Key, DesignScore] = field(default_factory=dict)
    users: pl.Series | None = None
    times: pl.Series | None = None
    item_groups: tuple[ItemGroups, ...] = ()  # of ranked lists, if the study asks for groups of items

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """Return a table with a row per system and user (or other unit) and a column per metric.

        ``identity`` gives further columns, such as the data set.
        """
        table, systems = self.scores.frame(**identity), len(self.scores.systems)
        if self.users is not None:
            table = table.with_columns(user=pl.concat([self.users] * systems))
        if self.times is not None:
            times = pl.concat([self.times] * systems).alias("time")
            table.insert_column(table.columns.index("user") + 1, times)
        return table

    def of(self, systems: Sequence[str], metrics: Sequence[str]) -> StudyScores:
        """Return the scores of these systems by these metrics only."""
        scores = self.scores
        keys = set(itertools.product(systems, metrics))
        return dataclasses.replace(
            self,
            scores=dataclasses.replace(
                scores,
                systems=tuple(systems),
                metrics=tuple(metrics),
                per_unit={key: column for key, column in scores.per_unit.items() if key in keys},
                per_unit_weights={key: column for key, column in scores.per_unit_weights.items() if key in keys},
                rows=tuple(row for row in scores.rows if (row.system, row.metric) in keys),
                named=scores.named and {system: scores.named[system] for system in systems},
                tie_orders={key: orders for key, orders in scores.tie_orders.items() if key in keys},
            ),
            design_rows={key: row for key, row in self.design_rows.items() if key in keys},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per system and metric, ready for JSON."""
        found = []
        for row in self.scores.rows:
            design_row = self.design_rows.get((row.system, row.metric))
            of_design = {} if design_row is None else design_row.to_dict()
            more = {name: of_design[name] for name in DESIGN_COLUMNS if of_design}
            found.append({"system": row.system, "metric": row.metric, **row.to_dict(), **more})
        return found


def pool_folds(
    folds: Sequence[StudyScores], how: Uncertainty, *, metrics: Mapping[str, Metric], threads: int | None = None
) -> StudyScores:
    """Return the scores of the same systems over several folds.

    The value of a user who is tested in several folds is the mean over these folds, weighted by the user's weight in
    each of them (1 unless the metric has weights). The mean is then over all users. A metric without values per user
    gets the mean of the folds' means. ``n`` counts users; ``missing`` and similar counts are sums over folds. ``how``
    has the settings of intervals.
    """
    if len(folds) == 1:
        return folds[0]
    scores = [fold.scores for fold in folds]
    units = pl.concat([fold.units for fold in scores]).unique().sort()
    places = [units.search_sorted(fold.units).to_numpy() for fold in scores]
    values, weights, rows = {}, {}, []
    for one in scores[0].rows:
        key, power = (one.system, one.metric), float(getattr(metrics[one.metric], "power", 1))
        row = _summed([fold.row(*key) for fold in scores])
        if one.metric in scores[0].unit_metrics:
            parts = ((at, fold.values(*key), _weights(fold, key)) for fold, at in zip(scores, places, strict=True))
            values[key], weights[key] = pooled_values(parts, units.len(), power)
            mean = mean_of(values[key], weights[key], power)
            row = dataclasses.replace(row, mean=mean, n=int((weights[key] > 0).sum()))
        rows.append(row)
    whole = finish(
        units,
        {heading: metrics[heading] for heading in scores[0].metrics},
        rows,
        values,
        weights,
        how,
        threads=threads,
        settings=scores[0].settings,
        named=_named(scores, places, units.len()),
    )
    design_rows = {}
    for row in whole.rows:
        key = row.system, row.metric
        if key in folds[0].design_rows:
            shares = [float(_weights(fold, key).sum()) for fold in scores]
            design_rows[key] = _pooled_row(row, [fold.design_rows[key] for fold in folds], shares)
    item_groups = [
        ItemGroups.pooled(parts, [fold.units for fold in scores], units)
        for parts in zip(*(fold.item_groups for fold in folds), strict=True)
    ]
    return StudyScores(whole, design_rows, item_groups=tuple(item_groups))


def _named(folds: Sequence[Scores], places: Sequence[NDArray[np.int64]], size: int) -> dict[str, Marks] | None:
    """Return by system which findings name each user in some fold; None if that is unknown of a fold."""
    marks = {system: np.zeros(size, np.uint8) for system in folds[0].systems}
    for fold, at in zip(folds, places, strict=True):
        if fold.named is None:
            return None
        for system, of_fold in fold.named.items():
            marks[system][at] |= of_fold
    return marks


def _weights(scores: Scores, key: Key) -> Values:
    """Return the weight of every user (or other unit) for a system and metric, 0 if its value is undefined."""
    return defined_weights(scores.values(*key), scores.weights(*key))


def _summed(rows: Sequence[Summary]) -> Summary:
    """Return the summary over folds of one metric: sums of the counts, and the unweighted mean of the means."""
    counts = {name: sum(getattr(row, name) for row in rows) for name in ("n", *COUNTS)}
    accompanying = {
        name: float(np.mean([row.accompanying.get(name, math.nan) for row in rows])) for name in rows[0].accompanying
    }
    mean = float(np.mean([row.mean for row in rows]))
    parameters = dict(rows[0].parameters)
    if PLACES in parameters:
        parameters[PLACES] = max(int(row.parameters.get(PLACES, 0)) for row in rows)  # type: ignore[arg-type]
    if len({row.parameters.get(CATALOGUE_ITEMS) for row in rows}) > 1:  # every fold has a catalogue of its own
        del parameters[CATALOGUE_ITEMS]
    return dataclasses.replace(
        rows[0], mean=mean, low=math.nan, high=math.nan, parameters=parameters, accompanying=accompanying, **counts
    )


def _pooled_row(row: Summary, folds: Sequence[DesignScore], weights: Sequence[float]) -> DesignScore:
    """Return the numbers of one system and metric under a design over all folds: weighted means, and sums of counts.

    A design says which items are ranked as candidates. ``row`` has the mean over folds with its interval, and
    ``weights[i]`` is the weight of ``folds[i]``.
    """
    share = np.array(weights) / sum(weights) if sum(weights) else np.full(len(weights), np.nan)

    def mean(name: str) -> float:
        return float(np.sum(share * np.array([getattr(fold, name) for fold in folds])))

    random, best = mean("random"), mean("best")
    room = best - random
    inverse = float(np.sum(share * np.array([1 / fold.t for fold in folds])))
    return dataclasses.replace(
        folds[0],
        mean=row.mean,
        low=row.low,
        high=row.high,
        n=row.n,
        sd_draws=math.sqrt(float(np.sum((share * np.array([fold.sd_draws for fold in folds])) ** 2))),
        random=random,
        best=best,
        corrected=(row.mean - random) / room if room else float("nan"),
        rho=mean("rho"),
        t=1 / inverse if inverse else float("nan"),
        **{name: sum(getattr(fold, name) for fold in folds) for name in ("sets", "short", "unlisted", "undefined")},
    )
