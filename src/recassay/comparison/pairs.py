"""The units (usually users) on which two systems are compared, and each unit's contribution to the
difference of means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from recassay.metrics.registry import known_metric
from recassay.results.scores import Summary
from recassay.stats.intervals import Flags, drop_unweighted_infinities
from recassay.stats.resampling import Floats


class ComparableScores(Protocol):
    """A protocol for the values that a comparison reads: one per system, metric and unit (usually a user)."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the names of the systems, in the order of the report."""

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """Return the metrics that have a value per unit, usually per user."""

    def values(self, system: str, metric: str) -> Floats:
        """Return one value per unit (usually a user), NaN where undefined."""

    def weights(self, system: str, metric: str) -> Floats | None:
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
    shares_a: Floats  # the plain means of these are the two (weighted) means
    shares_b: Floats
    ratio: tuple[Floats, Floats] | None  # differences and weights, when both systems share their weights

    @property
    def infinite(self) -> int:
        """Return the number of units (usually users) with an infinite value."""
        return int(np.count_nonzero(np.isinf(self.shares_a) | np.isinf(self.shares_b)))

    @property
    def differences(self) -> Floats:
        """Return the contribution of each unit (usually a user) to the difference of the means."""
        return _less(self.shares_a, self.shares_b)


def pair_up(scores: ComparableScores, pair_metric: PairMetric) -> PairedUnits:
    """Return the units (usually users) on which both systems of a pair have a value, with what each unit contributes.

    A unit contributes to the mean of either system, and to the difference of the means.
    """
    metric, a, b = pair_metric
    keep = common_units(scores, pair_metric)
    values_a, values_b = scores.values(a, metric)[keep], scores.values(b, metric)[keep]
    weights = shared_weights(scores, pair_metric, keep)
    return PairedUnits(
        pair_metric=pair_metric,
        dropped=int(keep.size - np.count_nonzero(keep)),
        shares_a=_shares(values_a, _kept(scores.weights(a, metric), keep)),
        shares_b=_shares(values_b, _kept(scores.weights(b, metric), keep)),
        ratio=None if weights is None else (drop_unweighted_infinities(_less(values_a, values_b), weights), weights),
    )


def _less(a: Floats, b: Floats) -> Floats:
    """Return a - b, elementwise; NaN where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return a - b


def common_units(scores: ComparableScores, pair_metric: PairMetric) -> Flags:
    """Return, for each unit (usually a user), whether it has a value for both systems of a pair."""
    metric, a, b = pair_metric
    return ~(np.isnan(scores.values(a, metric)) | np.isnan(scores.values(b, metric)))


def shared_weights(scores: ComparableScores, pair_metric: PairMetric, keep: Flags) -> Floats | None:
    """Return the weights of the units that ``keep`` marks, if both systems have the same weights there, else None.

    Units are usually users.
    """
    metric, a, b = pair_metric
    weights_a, weights_b = _kept(scores.weights(a, metric), keep), _kept(scores.weights(b, metric), keep)
    if weights_a is None or weights_b is None or not np.array_equal(weights_a, weights_b):
        return None
    return weights_a


def _kept(weights: Floats | None, keep: Flags) -> Floats | None:
    return None if weights is None else weights[keep]


def _shares(values: Floats, weights: Floats | None) -> Floats:
    """Return one number per unit (usually a user) so that their plain mean is the weighted mean of ``values``.

    It is v, or w v / mean(w) with weights; all are NaN if mean(w) is 0.
    """
    if weights is None:
        return values
    mean = weights.mean() if weights.size else np.nan
    if mean == 0:
        return np.full_like(values, np.nan)
    shares: Floats = weights * drop_unweighted_infinities(values, weights) / mean
    return shares


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
    found: dict[str, FirstTwo] = {}
    rows: dict[str, list[Summary]] = {}
    for row in getattr(scores, "rows", ()):
        if row.higher_is_better is not None and not math.isnan(row.mean):
            rows.setdefault(row.metric, []).append(row)
    for metric in scores.unit_metrics:
        if len(rows.get(metric, ())) > 1 and judges(metric):
            higher = bool(rows[metric][0].higher_is_better)
            first, second, *_ = sorted(rows[metric], key=lambda row: row.mean, reverse=higher)
            found[metric] = FirstTwo(first.system, second.system, higher)
    return found


def judges(metric: str) -> bool:
    """Return whether a metric says how good a system is; False if it only describes its lists.

    >>> judges("ndcg@10"), judges("ild@10"), judges("my own number")
    (True, False, True)
    """
    known = known_metric(metric)
    return known is None or not known.describes
