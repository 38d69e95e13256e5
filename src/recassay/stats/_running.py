"""Compiled loops over the values of a stream that cannot be written as operations on whole arrays.

``tests/property/test_over_time.py`` compares each with a readable version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Floats = NDArray[np.float64]


@njit(nogil=True, cache=True)
def running_sums(values: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sums of the first 0, 1, 2, ... values, and the rounding error of each (Neumaier's summation).

    The sum of a range is the difference of the two rounded sums plus the difference of the two errors. It is correct to
    within one unit in the last place, however late in the stream the range lies. A running sum does not depend on later
    values. For zeros and ones there is no rounding error.
    """
    rounded, left = np.zeros(values.size + 1), np.zeros(values.size + 1)
    for j in range(values.size):
        before, value = rounded[j], values[j]
        after = before + value
        large, small = (before, value) if abs(before) >= abs(value) else (value, before)
        rounded[j + 1], left[j + 1] = after, left[j] + ((large - after) + small)
    return rounded, left


@njit(nogil=True, cache=True)
def faded_sums(values: Floats, fading: float) -> Floats:
    """Return the exponentially fading sum up to each value: S_j = x_j + f S_(j-1), with f = ``fading``."""
    sums = np.empty(values.size)
    last = 0.0
    for j in range(values.size):
        last = values[j] + fading * last
        sums[j] = last
    return sums
