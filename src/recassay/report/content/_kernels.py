"""Compiled counts of values per unit (such as a user); NaN means that a unit has no value.

Tests compare each with a line of NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def value_range(values: Floats) -> tuple[float, float]:
    """Return the smallest and the largest value that is not NaN; (inf, -inf) if there is none."""
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:  # noqa: PLR0124 (not NaN)
            low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True, nogil=True)
def count_reaching(values: Floats, low: float, step: float, steps: int, tolerance: float) -> NDArray[np.int64]:
    """Return how many values are at least each of the thresholds ``low``, ``low + step``, ..., ``low + steps * step``.

    The result has ``steps`` + 1 counts. All values must lie between the first and the last threshold; NaN is not
    counted. A value up to ``tolerance`` steps below a threshold counts as reaching it, because of rounding errors.
    """
    counts = np.zeros(steps + 1, np.int64)
    for value in values:
        if value == value:  # noqa: PLR0124 (not NaN)
            counts[min(int((value - low) / step + tolerance), steps)] += 1
    for at in range(steps - 1, -1, -1):
        counts[at] += counts[at + 1]
    return counts


@njit(cache=True, nogil=True)
def count_larger_equal_smaller(left: Floats, right: Floats) -> tuple[int, int, int]:
    """Return for how many users (or other units) the left value is larger than, equal to, and below the right one.

    ``left`` and ``right`` are the values of two systems for the same units; a unit where one is NaN is not counted.
    """
    more, equal, less = 0, 0, 0
    for a, b in zip(left, right):  # noqa: B905 (numba does not support strict)
        more += a > b
        equal += a == b
        less += a < b
    return more, equal, less
