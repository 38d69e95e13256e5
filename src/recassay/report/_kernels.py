"""Counts of values of units; NaN is no value. Each is held to a line of NumPy by the tests."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def extent(values: Floats) -> tuple[float, float]:
    """The least and the largest value; infinities the wrong way round where there is none."""
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:  # noqa: PLR0124 (no NaN)
            low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True, nogil=True)
def reached(values: Floats, low: float, step: float, steps: int, same: float) -> NDArray[np.int64]:
    """How many values are at least ``low``, ``low + step``, ..., up to ``steps`` steps; ``same`` is what rounding adds.

    All values are at least ``low``, and at most ``steps`` steps above.
    """
    counts = np.zeros(steps + 1, np.int64)
    for value in values:
        if value == value:  # noqa: PLR0124 (no NaN)
            counts[min(int((value - low) / step + same), steps)] += 1
    for at in range(steps - 1, -1, -1):
        counts[at] += counts[at + 1]
    return counts


@njit(cache=True, nogil=True)
def duel(left: Floats, right: Floats) -> tuple[int, int, int]:
    """For how many units the left value is larger, the same, smaller."""
    more, equal, less = 0, 0, 0
    for one, other in zip(left, right):  # noqa: B905 (numba knows no strict)
        more += one > other
        equal += one == other
        less += one < other
    return more, equal, less
