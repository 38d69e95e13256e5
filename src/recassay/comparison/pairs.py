"""The units (usually users) on which two systems are compared, and the scores without the users that findings name.

Of a pair, each unit contributes to the difference of means. A verdict computed again without the users, or the order of
ties, that a finding names shows whether the finding can change it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from recassay.arrays import Bool, Float
from recassay.metrics.registry import known_metric
from recassay.results.scores import CODES, Scores, Summary, users_without
from recassay.stats.intervals import drop_unweighted_infinities, mean_of

TIES, OTHER_USERS = "T001", "C013"
FEWEST = 2  # users that a verdict needs


class ComparableScores(Protocol):
    """A protocol for the values that a comparison reads: one per system, metric and unit (usually a user)."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the names of the systems, in the order of the report."""

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """Return the metrics that have a value per unit, usually per user."""

    def values(self, system: str, metric: str) -> Float:
        """Return one value per unit (usually a user), NaN where undefined."""

    def weights(self, system: str, metric: str) -> Float | None:
        """Return one weight per unit (usually a user), or None if all units have equal weight."""


class PairMetric(NamedTuple):
    """Two systems ``a`` and ``b``, and the metric by which they are compared."""

    metric: str
    a: str
    b: str


@dataclass(frozen=True)
class PairedUnits:
    """The units on which two systems are compared, with each unit's contribution to the mean of either system.

    ``dropped`` counts units where a system has no value. If both systems have the same weights, ``ratio`` has the
    weighted difference and the weight of each unit, else None.
    """

    pair_metric: PairMetric
    dropped: int
    shares_a: Float  # the plain means of these are the two (weighted) means
    shares_b: Float
    ratio: tuple[Float, Float] | None  # differences and weights, when both systems share their weights

    @property
    def infinite(self) -> int:
        """Return the number of units (usually users) with an infinite value."""
        return int(np.count_nonzero(np.isinf(self.shares_a) | np.isinf(self.shares_b)))

    @property
    def differences(self) -> Float:
        """Return the contribution of each unit (usually a user) to the difference of the means."""
        return _difference(self.shares_a, self.shares_b)


def pair_up(scores: ComparableScores, pair_metric: PairMetric) -> PairedUnits:
    """Return the units (usually users) on which both systems of a pair have a value, with each unit's contributions.

    A unit contributes to the mean of either system, and to the difference of the means.
    """
    metric, a, b = pair_metric
    keep = common_units(scores, pair_metric)
    values_a, values_b = scores.values(a, metric)[keep], scores.values(b, metric)[keep]
    weights = shared_weights(scores, pair_metric, keep)
    return PairedUnits(
        pair_metric=pair_metric,
        dropped=int(keep.size - np.count_nonzero(keep)),
        shares_a=_contributions(values_a, _kept(scores.weights(a, metric), keep)),
        shares_b=_contributions(values_b, _kept(scores.weights(b, metric), keep)),
        ratio=None
        if weights is None
        else (drop_unweighted_infinities(_difference(values_a, values_b), weights), weights),
    )


def _difference(a: Float, b: Float) -> Float:
    """Return a - b, elementwise; NaN where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return a - b


def common_units(scores: ComparableScores, pair_metric: PairMetric) -> Bool:
    """Return a mask of the units (usually users) that have a value for both systems of a pair."""
    metric, a, b = pair_metric
    return ~(np.isnan(scores.values(a, metric)) | np.isnan(scores.values(b, metric)))


def shared_weights(scores: ComparableScores, pair_metric: PairMetric, keep: Bool) -> Float | None:
    """Return the weights of the units that ``keep`` marks, if both systems have the same weights there, else None.

    Units are usually users.
    """
    metric, a, b = pair_metric
    weights_a, weights_b = _kept(scores.weights(a, metric), keep), _kept(scores.weights(b, metric), keep)
    if weights_a is None or weights_b is None or not np.array_equal(weights_a, weights_b):
        return None
    return weights_a


def _kept(weights: Float | None, keep: Bool) -> Float | None:
    return None if weights is None else weights[keep]


def _contributions(values: Float, weights: Float | None) -> Float:
    """Return a number per unit (usually a user); their plain mean is the weighted mean of ``values``.

    For a value v and a weight w it is w v / mean(w), or v without weights; all are NaN if mean(w) is 0.
    """
    if weights is None:
        return values
    mean = weights.mean() if weights.size else np.nan
    if mean == 0:
        return np.full_like(values, np.nan)
    return np.asarray(weights * drop_unweighted_infinities(values, weights) / mean)


class FirstTwo(NamedTuple):
    """The systems with the best and the second best mean by a metric, and whether more of the metric is better."""

    first: str
    second: str
    higher_is_better: bool


def leaders(scores: ComparableScores) -> dict[str, FirstTwo]:
    """Return the two best systems by each metric that says how good a system is.

    A metric is left out if it only describes lists, if neither more nor less of it is better, or if fewer than two of
    its means are defined.
    """
    first_two: dict[str, FirstTwo] = {}
    rows: dict[str, list[Summary]] = {}
    for row in getattr(scores, "rows", ()):
        if row.higher_is_better is not None and not math.isnan(row.mean):
            rows.setdefault(row.metric, []).append(row)
    for metric in scores.unit_metrics:
        if len(rows.get(metric, ())) > 1 and judges(metric):
            higher = bool(rows[metric][0].higher_is_better)
            first, second, *_ = sorted(rows[metric], key=lambda row: row.mean, reverse=higher)
            first_two[metric] = FirstTwo(first.system, second.system, higher)
    return first_two


def judges(metric: str) -> bool:
    """Return whether a metric says how good a system is; False if it only describes its lists.

    >>> judges("ndcg@10"), judges("ild@10"), judges("my own number")
    (True, False, True)
    """
    known = known_metric(metric)
    return known is None or not known.describes


@dataclass(frozen=True)
class Recheck:
    """The best system without the users that the finding (warning) ``code`` names, tested against the second best.

    ``n`` counts the users with a value for both. ``p`` is adjusted over all pairs of systems.
    """

    code: str
    metric: str
    n: int
    leader: str
    runner_up: str
    mean: float
    difference: float
    p: float
    significant: bool

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Recheck:
        """Return the recheck that a row of :meth:`to_dict` describes."""
        numbers = {name: math.nan if row[name] is None else row[name] for name in ("mean", "difference", "p")}
        return cls(**{**row, **numbers})


def without_findings(scores: Scores, metric: str, leader: str) -> Iterator[tuple[str, Scores]]:
    """Yield (code, scores) for each finding that names users: the scores by one metric without these users.

    A finding is a warning about results, known by its code, such as C010.

    For findings on ties (T001) no users are left out: the leader's tied rows are in the worst order, those of all other
    systems in the best. Nothing is yielded if the scores do not store which users findings name, or for a finding that
    names nearly all users.
    """
    if scores.named is None:
        return
    without = {code: users_without(code, scores.named.values()) for code in CODES}
    known, listed = without["C010"], without["C001"]
    if known is not None and listed is not None and listed[known].all():
        without["C001"] = None  # C010 reports users without a list if all of them have no training events
    for code, kept in without.items():
        if kept is not None and np.count_nonzero(kept) >= FEWEST:
            yield code, scores_of_users(scores, metric, kept)
    defined = np.array([~np.isnan(scores.values(system, metric)) for system in scores.systems])
    common = np.asarray(defined.all(axis=0))
    if (defined.any(axis=0) & ~common).any() and np.count_nonzero(common) >= FEWEST:
        yield OTHER_USERS, scores_of_users(scores, metric, common)
    orders = {
        system: scores.tie_orders[system, metric] for system in scores.systems if (system, metric) in scores.tie_orders
    }
    if any(not np.array_equal(worst, best, equal_nan=True) for worst, best in orders.values()):
        values = {(system, metric): worst if system == leader else best for system, (worst, best) in orders.items()}
        other = replace(scores, per_unit={**scores.per_unit, **values})
        yield TIES, scores_of_users(other, metric, np.ones(common.size, np.bool_))


def scores_of_users(scores: Scores, metric: str, kept: Bool) -> Scores:
    """Return the scores of the users that ``kept`` marks by one metric, without intervals."""
    keys = [(system, metric) for system in scores.systems]
    values = {key: scores.per_unit[key][kept] for key in keys}
    weights = {key: scores.per_unit_weights[key][kept] for key in keys if key in scores.per_unit_weights}
    rows = {(row.system, row.metric): row for row in scores.rows}
    power = float(getattr(known_metric(metric), "power", 1))
    means = {key: mean_of(values[key], weights.get(key), power) for key in keys}
    counts = {key: int(np.count_nonzero(~np.isnan(values[key]))) for key in keys}
    return Scores(
        scores.units.filter(kept),
        scores.systems,
        (metric,),
        values,
        weights,
        tuple(replace(rows[key], mean=means[key], n=counts[key], low=math.nan, high=math.nan) for key in keys),
    )
