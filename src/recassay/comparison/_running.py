"""Loops over the values of a stream that have no form as operations on whole arrays.

Each has a readable twin in ``tests/property/test_over_time.py`` that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(nogil=True, cache=True)
def running_sums(values: Floats) -> tuple[Floats, Floats]:
    """The sum of the first 0, 1, 2, ... values: rounded, and what the rounding left out (Neumaier's sum, kept apart).

    Differences of two such pairs are sums of stretches to the last bit but one, however far down the stream they lie,
    and the sum up to a place does not hang on what comes later. Zeros and ones have nothing to round.
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
    """S_j = x_j + f S_(j-1)."""
    sums = np.empty(values.size)
    last = 0.0
    for j in range(values.size):
        last = values[j] + fading * last
        sums[j] = last
    return sums
