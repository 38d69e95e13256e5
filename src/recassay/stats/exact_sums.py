"""Exact sums of doubles, rounded only when they are read, so that the order of addition does not matter.

Floating-point addition rounds, so a sum depends on the order and grouping of its terms. But every double is an integer
multiple of the smallest double, and integers add up exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.stats._significands import sum_by_exponent

ONE = 1 << 1074  # the number 1 in units of the smallest double
TOGETHER = 1 << 31  # number of values whose significands add up within 64 bits


@dataclass(frozen=True, slots=True)
class ExactSum:
    """An exact sum of doubles, stored as a whole number of the smallest double, 2^-1074.

    ``quanta`` is that whole number, and ``beyond`` the sum of the infinite and NaN values. Conversion to float rounds
    once, to the nearest. So ``float(ExactSum.of(x))`` is ``math.fsum(x)``, with two exceptions. A sum too large for a
    float is infinite, and infinite or NaN values add up as floats do.

    >>> float(ExactSum.of([1e100, 1.0]) + ExactSum.of([-1e100]))
    1.0
    >>> ExactSum.of([0.1, 0.2]) + ExactSum.of([0.3]) == ExactSum.of([0.3, 0.1]) + ExactSum.of([0.2])
    True
    """

    quanta: int = 0
    beyond: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> ExactSum:
        """Return the exact sum of the values."""
        doubles = np.ascontiguousarray(values, np.float64).ravel()
        blocks = (doubles[begin : begin + TOGETHER] for begin in range(0, doubles.size, TOGETHER))
        return sum((_of_block(block) for block in blocks), cls())

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.quanta + other.quanta, self.beyond + other.beyond)

    def __float__(self) -> float:
        if self.beyond:
            # NaN has a sign, which depends on the order of addition: return the plain one
            return self.beyond if math.isinf(self.beyond) else math.nan
        return _nearest(self.quanta, ONE)

    def __truediv__(self, other: ExactSum) -> float:
        """Return the quotient, rounded once; NaN on division by 0.

        >>> ExactSum.of([0.5, 1.5]) / ExactSum.of([3.0]), ExactSum.of([1.0]) / ExactSum()
        (0.6666666666666666, nan)
        """
        if self.beyond or other.beyond:
            return float(self) / float(other) if other != ExactSum() else math.nan
        return _nearest(self.quanta, other.quanta) if other.quanta else math.nan


def _of_block(doubles: NDArray[np.float64]) -> ExactSum:
    halves, beyond = sum_by_exponent(doubles, doubles.view(np.int64))
    quanta = 0
    for exponent in np.flatnonzero(halves[:, 0] | halves[:, 1]).tolist():
        upper, lower = halves[exponent].tolist()
        quanta += ((upper << 32) + lower) << max(exponent - 1, 0)  # exponents 0 and 1 have the same unit
    return ExactSum(quanta, beyond)


def _nearest(top: int, bottom: int) -> float:
    try:
        return top / bottom  # Python rounds the quotient of integers once, whatever their size
    except OverflowError:
        return math.inf if (top < 0) == (bottom < 0) else -math.inf
