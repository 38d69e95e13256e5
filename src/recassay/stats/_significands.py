"""A compiled loop that adds the significands of doubles as integers, one sum per exponent.

``tests/property/test_exact.py`` compares the result with sums of fractions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

EXPONENTS = 2048  # exponents of a double; the last one marks infinity and NaN
FRACTION = (1 << 52) - 1  # bits of the significand that are stored
LEADING = 1 << 52  # the implicit leading bit; subnormal numbers do not have it
LOWER = (1 << 32) - 1


@njit(nogil=True, cache=True)
def sum_by_exponent(values: NDArray[np.float64], bits: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Return the sums of the signed significands of doubles by exponent, and the sum of infinite and NaN values.

    The first result is (2048, 2): column 0 has the sums of the upper bits of the significands, column 1 those of the
    lower 32 bits. ``bits`` are the values reinterpreted as int64. At most 2^31 values fit: the sums of that many halves
    stay within 64 bits.
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
