"""What the systems of a study are worth: fold by fold, and over all folds.

Over folds every (user, fold) counts as it does in its fold. A user's value is the weighted mean of the user's values,
its weight the sum of their weights; so the mean is that of all (user, fold) together, and the interval, which draws
users, draws each with all their folds: what a user does in one fold is no news in the next.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.intervals import intervals, means
from recassay.data.assay import Worth
from recassay.data.scores import PLACES, Scores, Summary, Values
from recassay.portable import elementary
from recassay.study.schema import Judge

Key = tuple[str, str]  # system, metric
COUNTS = ("missing", "short", "duplicate", "undefined")
BESIDE = ("rho", "t", "random", "best", "corrected", "sd_draws", "sets", "unlisted")


@dataclass(frozen=True, eq=False)
class Verdict:
    """Scores under one design, and what a design says beside each mean (nothing, where lists were scored).

    ``users`` has the user of every unit where units are no users, and ``times`` its time where it has one.
    """

    scores: Scores
    worth: Mapping[Key, Worth] = field(default_factory=dict)
    users: pl.Series | None = None
    times: pl.Series | None = None

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """The values of all units as a table."""
        table = self.scores.frame(**identity)
        if self.users is not None:
            table = table.with_columns(user=self._of_all(self.users))
        if self.times is not None:
            table.insert_column(table.columns.index("user") + 1, self._of_all(self.times).alias("time"))
        return table

    def _of_all(self, column: pl.Series) -> pl.Series:
        """A column of units, once for every system."""
        return pl.concat([column] * len(self.scores.systems))

    def of(self, systems: Sequence[str]) -> Verdict:
        """The verdict on some of the systems."""
        scores = self.scores
        return dataclasses.replace(
            self,
            scores=dataclasses.replace(
                scores,
                systems=tuple(systems),
                per_unit={key: one for key, one in scores.per_unit.items() if key[0] in systems},
                per_unit_weights={key: one for key, one in scores.per_unit_weights.items() if key[0] in systems},
                rows=tuple(row for row in scores.rows if row.system in systems),
            ),
            worth={key: one for key, one in self.worth.items() if key[0] in systems},
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row per system and metric, ready for JSON."""
        found = []
        for row in self.scores.rows:
            worth = self.worth.get((row.system, row.metric))
            beside = {} if worth is None else {name: worth.to_dict()[name] for name in BESIDE}
            found.append({"system": row.system, "metric": row.metric, **row.to_dict(), **beside})
        return found


def pooled(
    folds: Sequence[Verdict], judge: Judge, *, powers: Mapping[str, float], threads: int | None = None
) -> Verdict:
    """The same systems in several folds as one; a metric of the whole catalogue has its mean over folds.

    ``n`` counts users; ``missing`` and the like are sums over folds.
    """
    if len(folds) == 1:
        return folds[0]
    scores = [one.scores for one in folds]
    units = pl.concat([one.units for one in scores]).unique().sort()
    places = [units.search_sorted(one.units).to_numpy() for one in scores]
    keys = [(row.system, row.metric) for row in scores[0].rows]
    merged = {
        key: _merged(scores, places, units.len(), key, powers.get(key[1], 1.0))
        for key in keys
        if key[1] in scores[0].unit_metrics
    }
    values, weights = {key: one for key, (one, _) in merged.items()}, {key: one for key, (_, one) in merged.items()}
    bounds = _bounds(values, weights, judge, powers, threads)
    rows = []
    for key in keys:
        row = _summed([one.row(*key) for one in scores])
        if key in bounds:
            mean, low, high = bounds[key]
            row = dataclasses.replace(row, mean=mean, low=low, high=high, n=int((weights[key] > 0).sum()))
        rows.append(row)
    worth = {
        key: _worth(row, [one.worth[key] for one in folds], [_weight(one, key) for one in scores])
        for key, row in zip(keys, rows, strict=True)
        if key in folds[0].worth
    }
    whole = dataclasses.replace(
        scores[0], units=units, per_unit=values, per_unit_weights=weights, rows=tuple(rows), findings=()
    )
    return Verdict(whole, worth)


def _merged(
    folds: Sequence[Scores], places: Sequence[NDArray[np.int64]], size: int, key: Key, power: float
) -> tuple[Values, Values]:
    total, weight = np.zeros(size), np.zeros(size)
    for one, place in zip(folds, places, strict=True):
        column, counts = one.values(*key), _weights(one, key)
        total[place] += np.where(counts > 0, column, 0.0) ** power * counts
        weight[place] += counts
    value = np.full(size, np.nan)
    np.divide(total, weight, out=value, where=weight > 0)
    return elementary.power(value, 1 / power) if power != 1 else value, weight


def _weights(scores: Scores, key: Key) -> Values:
    """The weight of every unit; 0 where its value is undefined."""
    own = scores.weights(*key)
    defined = ~np.isnan(scores.values(*key))
    return defined.astype(np.float64) if own is None else np.where(defined, own, 0.0)


def _weight(scores: Scores, key: Key) -> float:
    return float(_weights(scores, key).sum())


def _bounds(
    values: Mapping[Key, Values],
    weights: Mapping[Key, Values],
    judge: Judge,
    powers: Mapping[str, float],
    threads: int | None,
) -> dict[Key, tuple[float, float, float]]:
    """Mean, low and high of every column; columns of equal weights share their resamples."""
    alike: dict[tuple[bytes, float], list[Key]] = {}
    for key, own in weights.items():
        alike.setdefault((own.tobytes(), powers.get(key[1], 1.0)), []).append(key)
    found: dict[Key, tuple[float, float, float]] = {}
    for (_, power), keys in alike.items():
        counted = weights[keys[0]] > 0
        table = np.column_stack([values[key][counted] for key in keys]) ** power
        share = np.repeat(weights[keys[0]][counted, None], len(keys), axis=1)
        low = high = np.full(len(keys), np.nan)
        if judge.method is not None and counted.any():
            how = {"method": judge.method, "level": judge.level, "resamples": judge.resamples, "seed": judge.seed}
            low, high = intervals(table, share, threads=threads, **how)  # type: ignore[arg-type]
        columns = np.column_stack([means(table, share), low, high])
        if power != 1:
            columns = elementary.power(np.maximum(columns, 0), 1 / power)
        found |= {key: (mean, low, high) for key, (mean, low, high) in zip(keys, columns.tolist(), strict=True)}
    return found


def _summed(rows: Sequence[Summary]) -> Summary:
    """Counts added up, and the plain mean over folds, for metrics that have no value per unit."""
    counts = {name: sum(getattr(row, name) for row in rows) for name in ("n", *COUNTS)}
    beside = {
        name: float(np.mean([row.accompanying.get(name, math.nan) for row in rows])) for name in rows[0].accompanying
    }
    mean = float(np.mean([row.mean for row in rows]))
    parameters = dict(rows[0].parameters)
    if PLACES in parameters:
        parameters[PLACES] = max(int(row.parameters.get(PLACES, 0)) for row in rows)  # type: ignore[arg-type]
    return dataclasses.replace(
        rows[0], mean=mean, low=math.nan, high=math.nan, parameters=parameters, accompanying=beside, **counts
    )


def _worth(row: Summary, folds: Sequence[Worth], weights: Sequence[float]) -> Worth:
    """What stands beside a mean, by the weight that each fold has in it; sets and the like are added up."""
    share = np.array(weights) / sum(weights) if sum(weights) else np.full(len(weights), np.nan)

    def mean(name: str) -> float:
        return float(np.sum(share * np.array([getattr(one, name) for one in folds])))

    random, best = mean("random"), mean("best")
    room = best - random
    inverse = float(np.sum(share * np.array([1 / one.t for one in folds])))
    return dataclasses.replace(
        folds[0],
        mean=row.mean,
        low=row.low,
        high=row.high,
        n=row.n,
        sd_draws=math.sqrt(float(np.sum((share * np.array([one.sd_draws for one in folds])) ** 2))),
        random=random,
        best=best,
        corrected=(row.mean - random) / room if room else float("nan"),
        rho=mean("rho"),
        t=1 / inverse if inverse else float("nan"),
        **{name: sum(getattr(one, name) for one in folds) for name in ("sets", "short", "unlisted", "undefined")},
    )
