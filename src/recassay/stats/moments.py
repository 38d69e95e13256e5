"""Exact sums over units for means and analytic intervals; partial sums of chunks add up to the same bits in any order.

There are two passes over the values. The first finds the mean (:class:`Totals`), the second the spread of the units
around it (:class:`InfluenceSums`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.stats.exact_sums import ExactSum
from recassay.stats.resampling import Floats

WIDEST = 1000  # largest exponent (in size) of the power of two that influences are scaled by


class IntervalMoments(NamedTuple):
    """What an analytic confidence interval of a mean (``estimate``) over ``units`` is computed from.

    L_i, the influence of unit i, is the change of the mean per share of weight moved to the unit. ``squares`` is the
    sum of L_i^2, and ``acceleration`` the BCa acceleration, a sixth of the skewness of the estimate. ``curvature`` is k
    in the bounds of ``intervals.abc``, 0 for a mean without weights.
    """

    estimate: float
    units: int
    squares: float
    acceleration: float
    curvature: float

    @property
    def standard_error(self) -> float:
        """Return sqrt(sum L_i^2 / (n (n - 1))), which for a plain mean is sd / sqrt(n); 0 for fewer than two units."""
        return float(np.sqrt(self.squares / (self.units * (self.units - 1)))) if self.units > 1 else 0.0


def drop_unweighted_infinities(values: Floats, weights: Floats) -> Floats:
    """Return the values with 0 in place of infinite values of weight 0, whose product would be NaN.

    >>> drop_unweighted_infinities(np.array([np.inf, 2.0, np.inf]), np.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 2.0, inf]
    """
    unweighted = (weights == 0) & np.isinf(values)
    return np.where(unweighted, 0.0, values) if unweighted.any() else values


def acceleration_from_sums(squares: float, cubes: float) -> float:
    """Return the BCa acceleration: (sum of cubes) / (6 (sum of squares)^1.5) of the influences; 0 if all are 0."""
    return 0.0 if squares == 0 else float(cubes / (6 * squares * np.sqrt(squares)))


def curvature_from_sums(units: int, squares: float, crossed: float, mean_weight: float) -> float:
    """Return the curvature k of ``intervals.abc``: sum L_i w_i / (n^2 sigma mean(w)); 0 if no unit has any influence.

    L_i is the influence of unit i, w_i its weight and sigma = sqrt(sum L_i^2) / n. ``squares`` is sum L_i^2,
    ``crossed`` is sum L_i w_i, and ``mean_weight`` is mean(w).
    """
    if squares == 0:
        return 0.0
    sigma = np.sqrt(squares) / units
    return float(crossed / (units**2 * sigma * mean_weight))


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums and ranges of values v with weights w, over units; without weights every unit has weight 1.

    The totals of several chunks of units add up.

    >>> first, second = Totals.of(np.array([1.0, 4.0]), np.array([2.0, 0.0])), Totals.of(np.array([2.5]))
    >>> (first + second).mean, (first + second).unweighted_mean
    (1.5, 2.5)
    """

    units: int
    counted: int  # units with a weight above 0
    values: ExactSum  # sum of v
    weights: ExactSum  # sum of w
    products: ExactSum  # sum of w v
    least: float  # smallest v with a weight above 0
    greatest: float  # largest v with a weight above 0
    heaviest: float  # largest w

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Totals:
        """Return the totals of the values of a chunk of units, none of which is NaN."""
        units, sum_of_values = values.size, ExactSum.of(values)
        if weights is None:
            least, greatest = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
            return cls(units, units, sum_of_values, ExactSum.of(units), sum_of_values, least, greatest, 1.0)
        has_weight, values = weights > 0, drop_unweighted_infinities(values, weights)
        return cls(
            units,
            int(has_weight.sum()),
            sum_of_values,
            ExactSum.of(weights),
            ExactSum.of(weights * values),
            float(values.min(initial=np.inf, where=has_weight)),
            float(values.max(initial=-np.inf, where=has_weight)),
            float(weights.max(initial=0.0)),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.units + other.units,
            self.counted + other.counted,
            self.values + other.values,
            self.weights + other.weights,
            self.products + other.products,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            max(self.heaviest, other.heaviest),
        )

    @property
    def mean(self) -> float:
        """Return sum(w v) / sum(w), rounded once; NaN if sum(w) is 0."""
        return self.products / self.weights

    @property
    def unweighted_mean(self) -> float:
        """Return the mean of the values with equal weights."""
        return self.values / ExactSum.of(self.units)

    @property
    def mean_weight(self) -> float:
        """Return mean(w); NaN if it is 0, since there is no weighted mean then."""
        return self.weights / ExactSum.of(self.units) or math.nan

    @property
    def constant(self) -> bool:
        """Return whether at least two units have a weight and all their values are equal."""
        return self.counted > 1 and self.least == self.greatest

    @property
    def varying(self) -> bool:
        """Return whether at least two units have a weight and their values differ."""
        return self.counted > 1 and self.least < self.greatest


@dataclass(frozen=True, slots=True)
class InfluenceSums:
    """Sums over units from which an analytic confidence interval of a mean follows, see :class:`IntervalMoments`.

    They are the sums of the squares and cubes of L_i = w_i (v_i - mean) / mean(w), the influence of unit i on the mean.
    Each L_i is scaled by a power of two near the inverse of the largest possible L_i, so that cubes stay in the range
    of a float. The power follows from the totals, so it is the same for all chunks of units, whose sums add up.

    >>> values = np.array([0.5, 0.62, 0.3, 0.81])
    >>> totals = Totals.of(values)
    >>> sums = InfluenceSums.of(values[:1], None, totals) + InfluenceSums.of(values[1:], None, totals)
    >>> sums.estimate, round(sums.moments.standard_error, 6)
    (0.5575, 0.106956)
    """

    estimate: float
    mean_weight: float
    scale: float
    units: int
    second: ExactSum  # sum of (scale L)^2
    third: ExactSum  # sum of (scale L)^3
    crossed: ExactSum  # sum of (scale L) w; empty without weights

    @classmethod
    def of(cls, values: Floats, weights: Floats | None, totals: Totals) -> InfluenceSums:
        """Return the sums of powers of the influence L_i of units on a mean, over a chunk of units.

        The mean is that over all units, from their ``totals``; it is weighted if there are ``weights``.
        """
        values = values if weights is None else drop_unweighted_infinities(values, weights)
        estimate = totals.unweighted_mean if weights is None else totals.mean
        mean_weight = 1.0 if weights is None else totals.mean_weight
        farthest = max(totals.greatest - estimate, estimate - totals.least)
        if weights is not None:
            farthest *= totals.heaviest / mean_weight
        scale = 2.0 ** -min(max(math.frexp(farthest)[1], -WIDEST), WIDEST)
        with np.errstate(invalid="ignore"):  # infinite values have no spread
            influence = values - estimate if weights is None else weights * (values - estimate) / mean_weight
            scaled = influence * scale
            squares = scaled**2
            cubes = squares * scaled
            crossed = ExactSum() if weights is None else ExactSum.of(scaled * weights)
        return cls(estimate, mean_weight, scale, values.size, ExactSum.of(squares), ExactSum.of(cubes), crossed)

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return replace(
            self,
            units=self.units + other.units,
            second=self.second + other.second,
            third=self.third + other.third,
            crossed=self.crossed + other.crossed,
        )

    @property
    def moments(self) -> IntervalMoments:
        """Return what an analytic interval of the mean is computed from."""
        squares, cubes, crossed = float(self.second), float(self.third), float(self.crossed)
        return IntervalMoments(
            self.estimate,
            self.units,
            squares / self.scale / self.scale,
            acceleration_from_sums(squares, cubes),
            curvature_from_sums(self.units, squares, crossed, self.mean_weight),
        )


Fold = tuple[NDArray[np.int64], Floats, Floats]  # positions of its units among all, their values, their weights


def pooled_values(folds: Iterable[Fold], size: int, power: float = 1.0) -> tuple[Floats, Floats]:
    """Return (values, weights) of ``size`` units: each unit's power mean over folds, and its sum of weights.

    A fold is (positions of its units, their values, their weights), and ``power`` 1 is the arithmetic mean. A value of
    weight 0 is not used, and a unit without weight has the value NaN.

    >>> first = np.array([0, 1]), np.array([0.5, 1.0]), np.array([1.0, 1.0])
    >>> second = np.array([1, 2]), np.array([0.0, np.nan]), np.array([3.0, 0.0])
    >>> values, weights = pooled_values([first, second], 3)
    >>> values.tolist(), weights.tolist()
    ([0.5, 0.25, nan], [1.0, 4.0, 0.0])
    """
    total, weight = np.zeros(size), np.zeros(size)
    for places, values, counts in folds:
        total[places] += np.where(counts > 0, values, 0.0) ** power * counts
        weight[places] += counts
    value = np.full(size, np.nan)
    np.divide(total, weight, out=value, where=weight > 0)
    return value if power == 1 else value ** (1 / power), weight


def defined_weights(values: Floats, weights: Floats | None) -> Floats:
    """Return the weight of every value, 0 if the value is NaN; ``weights`` None means that all others are 1."""
    defined = ~np.isnan(values)
    return defined.astype(np.float64) if weights is None else np.where(defined, weights, 0.0)
