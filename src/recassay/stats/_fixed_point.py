"""A compiled loop that adds doubles of many groups as integers; ``tests/property/test_exact.py`` compares it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

LIMBS = 6  # integers per sum, each 32 bits above the one before
LOWEST = 96  # the lowest bit of a sum is 2^-96


@njit(nogil=True, cache=True)
def add_by_group(
    groups: NDArray[np.int64], values: NDArray[np.float64], counts: NDArray[np.int64], limbs: NDArray[np.int64]
) -> None:
    """Add each row of ``values`` (n, m), and its squares, to the sums of its group, in place.

    ``groups`` is the group of each row. ``counts`` (groups, m) counts the values that are below 2^31 in size and not
    NaN; others are left out. ``limbs`` (groups, m, 2, LIMBS) holds the sums and the sums of squares as integers of
    several limbs of 32 bits. A value is rounded to a multiple of 2^-96 before it is added.
    """
    for row in range(values.shape[0]):
        group = groups[row]
        for column in range(values.shape[1]):
            value = values[row, column]
            if not abs(value) < 2.0**31:
                continue
            counts[group, column] += 1
            if value == 0.0:
                continue
            for power in range(2):
                term = value if power == 0 else value * value
                fraction, exponent = math.frexp(abs(term))
                significand = np.int64(fraction * 2.0**53)
                shift = exponent - 53 + 96
                if shift < 0:
                    significand = (
                        np.int64(np.rint(math.ldexp(fraction, exponent + 96))) if shift > -120 else np.int64(0)
                    )
                    shift = 0
                sign = -1 if term < 0 else 1
                limb, inside = shift // 32, shift % 32
                low = (significand & 0xFFFFFFFF) << inside
                high = (significand >> 32) << inside
                middle = (low >> 32) + high
                limbs[group, column, power, limb] += sign * (low & 0xFFFFFFFF)
                limbs[group, column, power, limb + 1] += sign * (middle & 0xFFFFFFFF)
                if middle >> 32:
                    limbs[group, column, power, limb + 2] += sign * (middle >> 32)
