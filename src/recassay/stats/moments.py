"""What an analytic confidence interval of a mean is computed from: moments of the influence of units on the mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.stats.resampling import Floats

Fold = tuple[NDArray[np.int64], Floats, Floats]  # positions of its units among all, their values, their weights


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


def pooled_values(folds: Iterable[Fold], size: int, power: float = 1.0) -> tuple[Floats, Floats]:
    """Return (values, weights) of ``size`` units: each unit's power mean over folds, and its sum of weights.

    A fold is (positions of its units, their values, their weights), and ``power`` 1 is the arithmetic mean. A unit may
    occur several times in a fold. A value of weight 0 is not used, and a unit without weight has the value NaN.

    >>> first = np.array([0, 1]), np.array([0.5, 1.0]), np.array([1.0, 1.0])
    >>> second = np.array([1, 2]), np.array([0.0, np.nan]), np.array([3.0, 0.0])
    >>> values, weights = pooled_values([first, second], 3)
    >>> values.tolist(), weights.tolist()
    ([0.5, 0.25, nan], [1.0, 4.0, 0.0])
    """
    places, values, counts = (np.concatenate(column) for column in zip(*folds, strict=True))
    total = np.bincount(places, np.where(counts > 0, values, 0.0) ** power * counts, size)
    weight: Floats = np.bincount(places, counts, size).astype(np.float64)
    value = np.full(size, np.nan)
    np.divide(total, weight, out=value, where=weight > 0)
    return value if power == 1 else value ** (1 / power), weight


def defined_weights(values: Floats, weights: Floats | None) -> Floats:
    """Return the weight of every value, 0 if the value is NaN; ``weights`` None means that all others are 1."""
    defined = ~np.isnan(values)
    return defined.astype(np.float64) if weights is None else np.where(defined, weights, 0.0)
