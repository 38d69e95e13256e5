"""Values of units over several folds: each unit's weighted mean over the folds that it is in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from recassay.portable import elementary
from recassay.stats.resampling import Floats

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
    return elementary.power(value, 1 / power) if power != 1 else value, weight


def defined_weights(values: Floats, weights: Floats | None) -> Floats:
    """Return the weight of every value, 0 if the value is NaN; ``weights`` None means that all others are 1."""
    defined = ~np.isnan(values)
    return defined.astype(np.float64) if weights is None else np.where(defined, weights, 0.0)
