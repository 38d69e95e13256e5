"""A loop over doubles that takes them apart: significands added up, in whole numbers, by exponent.

Held to fractions in ``tests/property/test_exact.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXPONENTS = 2048  # that a double can have; with the last it is infinite or NaN
FRACTION = (1 << 52) - 1  # bits of the significand that are written down
LEADING = 1 << 52  # and the one that is not, but for the smallest numbers
LOWER = (1 << 32) - 1


@njit(nogil=True, cache=True)
def by_exponent(values: NDArray[np.float64], bits: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Signed significands added up by exponent, the lower 32 bits apart from the upper; and the sum of what has none.

    ``bits`` are the values as they lie in memory, at most 2^31 of them: so many halves have room in 64 bits.
    """
    halves = np.zeros((EXPONENTS, 2), np.int64)
    beyond = 0.0
    for place in range(values.size):
        exponent = (bits[place] >> 52) & (EXPONENTS - 1)
        if exponent == EXPONENTS - 1:
            beyond += values[place]
            continue
        significand = bits[place] & FRACTION
        if exponent > 0:
            significand |= LEADING
        if bits[place] < 0:
            significand = -significand
        halves[exponent, 0] += significand >> 32
        halves[exponent, 1] += significand & LOWER
    return halves, beyond
