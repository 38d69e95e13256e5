"""Compiled counts of unit values; NaN means that a unit has no value. Tests compare each with a line of NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def value_range(values: Floats) -> tuple[float, float]:
    """Return the smallest and the largest value; (inf, -inf) if there is none."""
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:  # noqa: PLR0124 (not NaN)
            low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True, nogil=True)
def count_reaching(values: Floats, low: float, step: float, steps: int, tolerance: float) -> NDArray[np.int64]:
    """Return the numbers of values that are at least ``low``, ``low + step``, ..., ``low + steps * step``.

    All values must lie in that range. ``tolerance``, in steps, absorbs rounding errors of values on a step.
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
    """Return three numbers of units: left value larger than, equal to, and smaller than the right one."""
    more, equal, less = 0, 0, 0
    for a, b in zip(left, right):  # noqa: B905 (numba does not support strict)
        more += a > b
        equal += a == b
        less += a < b
    return more, equal, less
