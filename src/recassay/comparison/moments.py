"""Means and what analytic intervals are made of, as sums over units that add up to the same bits in any order.

Two passes over the values: the first finds the mean (:class:`Totals`), the second how the units spread around it
(:class:`Spread`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from recassay.comparison.resampling import Floats
from recassay.data.exact import Exact

WIDEST = 1000  # exponents of the powers of two that influences are scaled by


class Moments(Protocol):
    """What an analytic interval is made of; L_i is the change of the mean per share of weight moved to unit i."""

    @property
    def estimate(self) -> float:
        """The mean."""

    @property
    def units(self) -> int:
        """How many there are, with a weight or without."""

    @property
    def squares(self) -> float:
        """Sum of L_i^2."""

    @property
    def acceleration(self) -> float:
        """A sixth of the skewness of the estimate."""

    @property
    def curvature(self) -> float:
        """k in t + lambda sigma / (1 + lambda k): 0 for a plain mean."""


def with_weight(values: Floats, weights: Floats) -> Floats:
    """Return values with 0 for what is infinite and has no weight: it adds nothing to any sum.

    >>> with_weight(np.array([np.inf, 2.0, np.inf]), np.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 2.0, inf]
    """
    idle = (weights == 0) & np.isinf(values)
    return np.where(idle, 0.0, values) if idle.any() else values


def standard_error(moments: Moments) -> float:
    """sqrt(sum L_i^2 / (n (n - 1))): for a plain mean that is sd / sqrt(n)."""
    return float(np.sqrt(moments.squares / (moments.units * (moments.units - 1))))


def acceleration_of(squares: float, cubes: float) -> float:
    """Sum of cubes over 6 times (sum of squares)^1.5; 0 where nothing has any influence."""
    return 0.0 if squares == 0 else float(cubes / (6 * squares * np.sqrt(squares)))


def curvature_of(units: int, squares: float, crossed: float, mean_weight: float) -> float:
    """sum L_i w_i / (n^2 sigma mean(w)), with sigma = sqrt(sum L_i^2) / n; 0 where nothing has any influence."""
    if squares == 0:
        return 0.0
    sigma = np.sqrt(squares) / units
    return float(crossed / (units**2 * sigma * mean_weight))


@dataclass(frozen=True, slots=True)
class Totals:
    """What values v with weights w add up to, and how far they reach; without weights every unit weighs 1.

    >>> some, others = Totals.of(np.array([1.0, 4.0]), np.array([2.0, 0.0])), Totals.of(np.array([2.5]))
    >>> (some + others).mean, (some + others).plain
    (1.5, 2.5)
    """

    units: int
    counted: int  # units with a weight
    values: Exact  # sum of v
    weights: Exact  # sum of w
    products: Exact  # sum of w v
    least: float  # v with a weight
    greatest: float
    heaviest: float  # w

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Totals:
        """Of the values of some units, none of which is NaN."""
        units, sum_of_values = values.size, Exact.of(values)
        if weights is None:
            least, greatest = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
            return cls(units, units, sum_of_values, Exact.of(units), sum_of_values, least, greatest, 1.0)
        has_weight, values = weights > 0, with_weight(values, weights)
        return cls(
            units,
            int(has_weight.sum()),
            sum_of_values,
            Exact.of(weights),
            Exact.of(weights * values),
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
        """sum(w v) / sum(w), rounded once; NaN without weight."""
        return self.products / self.weights

    @property
    def plain(self) -> float:
        """The mean if all units counted the same."""
        return self.values / Exact.of(self.units)

    @property
    def mean_weight(self) -> float:
        """mean(w); NaN without weight, where there is no mean."""
        return self.weights / Exact.of(self.units) or math.nan

    @property
    def constant(self) -> bool:
        """Whether two units or more with a weight hold one value only."""
        return self.counted > 1 and self.least == self.greatest

    @property
    def varying(self) -> bool:
        """Whether two units or more with a weight hold several values."""
        return self.counted > 1 and self.least < self.greatest


@dataclass(frozen=True, slots=True)
class Spread:
    """How units spread around their mean: sums of L_i = w_i (v_i - mean) / mean(w), the :class:`Moments` of the mean.

    Sums are of L_i times a power of two near the inverse of the largest one there can be, lest cubes leave the range
    of a float; the power follows from the totals, and so is that of all parts.

    >>> values = np.array([0.5, 0.62, 0.3, 0.81])
    >>> totals = Totals.of(values)
    >>> spread = Spread.of(values[:1], None, totals) + Spread.of(values[1:], None, totals)
    >>> spread.estimate, round(spread.standard_error, 6)
    (0.5575, 0.106956)
    """

    estimate: float
    mean_weight: float
    scale: float
    units: int
    second: Exact  # sum of (scale L)^2
    third: Exact  # sum of (scale L)^3
    crossed: Exact  # sum of (scale L) w; nothing where all weigh the same

    @classmethod
    def of(cls, values: Floats, weights: Floats | None, totals: Totals) -> Spread:
        """Of the values of some units, given what all add up to; without weights it is that of the plain mean."""
        values = values if weights is None else with_weight(values, weights)
        estimate = totals.plain if weights is None else totals.mean
        mean_weight = 1.0 if weights is None else totals.mean_weight
        farthest = max(totals.greatest - estimate, estimate - totals.least)
        if weights is not None:
            farthest *= totals.heaviest / mean_weight
        scale = 2.0 ** -min(max(math.frexp(farthest)[1], -WIDEST), WIDEST)
        with np.errstate(invalid="ignore"):  # what is infinite has no spread
            influence = values - estimate if weights is None else weights * (values - estimate) / mean_weight
            scaled = influence * scale
            squares = scaled**2
            cubes = squares * scaled
            crossed = Exact() if weights is None else Exact.of(scaled * weights)
        return cls(estimate, mean_weight, scale, values.size, Exact.of(squares), Exact.of(cubes), crossed)

    def __add__(self, other: Spread) -> Spread:
        return replace(
            self,
            units=self.units + other.units,
            second=self.second + other.second,
            third=self.third + other.third,
            crossed=self.crossed + other.crossed,
        )

    @property
    def squares(self) -> float:
        """Sum of L_i^2."""
        return float(self.second) / self.scale / self.scale

    @property
    def acceleration(self) -> float:
        """A sixth of the skewness of the estimate."""
        return acceleration_of(float(self.second), float(self.third))

    @property
    def curvature(self) -> float:
        """k in t + lambda sigma / (1 + lambda k): 0 for a plain mean."""
        return curvature_of(self.units, float(self.second), float(self.crossed), self.mean_weight)

    @property
    def standard_error(self) -> float:
        """Of the mean; 0 for fewer than two units."""
        return standard_error(self) if self.units > 1 else 0.0
