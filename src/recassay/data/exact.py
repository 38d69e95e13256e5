"""Sums of numbers that add up in any order: nothing is rounded until the sum is read.

Floating-point addition rounds, so that a sum depends on how its terms were cut and in which order they came. But every
double is a whole multiple of the smallest one there is, and whole numbers add up exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.data._significands import by_exponent

ONE = 1 << 1074  # in units of the smallest double
TOGETHER = 1 << 31  # values whose significands add up within 64 bits


@dataclass(frozen=True, slots=True)
class Exact:
    """The sum of some doubles: ``quanta`` times 2^-1074, the smallest one, and ``beyond``: what is infinite or NaN.

    Read as a float it is rounded once, to the nearest. So ``float(Exact.of(x))`` is ``math.fsum(x)``, save that a sum
    too large for a float is infinite, and that what is infinite or NaN adds up as in floats.

    >>> float(Exact.of([1e100, 1.0]) + Exact.of([-1e100]))
    1.0
    >>> Exact.of([0.1, 0.2]) + Exact.of([0.3]) == Exact.of([0.3, 0.1]) + Exact.of([0.2])
    True
    """

    quanta: int = 0
    beyond: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> Exact:
        """The sum of some values."""
        doubles = np.ascontiguousarray(values, np.float64).ravel()
        blocks = (doubles[begin : begin + TOGETHER] for begin in range(0, doubles.size, TOGETHER))
        return sum((_of_block(block) for block in blocks), cls())

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.quanta + other.quanta, self.beyond + other.beyond)

    def __float__(self) -> float:
        if self.beyond:
            return self.beyond if math.isinf(self.beyond) else math.nan  # NaN has a sign, which hangs on the order
        return _nearest(self.quanta, ONE)

    def __truediv__(self, other: Exact) -> float:
        """The quotient, rounded once; NaN where it is divided by 0.

        >>> Exact.of([0.5, 1.5]) / Exact.of([3.0]), Exact.of([1.0]) / Exact()
        (0.6666666666666666, nan)
        """
        if self.beyond or other.beyond:
            return float(self) / float(other) if other != Exact() else math.nan
        return _nearest(self.quanta, other.quanta) if other.quanta else math.nan


def _of_block(doubles: NDArray[np.float64]) -> Exact:
    halves, beyond = by_exponent(doubles, doubles.view(np.int64))
    quanta = 0
    for exponent in np.flatnonzero(halves.any(axis=1)).tolist():
        upper, lower = halves[exponent].tolist()
        quanta += ((upper << 32) + lower) << max(exponent - 1, 0)  # significands of exponents 0 and 1 count alike
    return Exact(quanta, beyond)


def _nearest(top: int, bottom: int) -> float:
    try:
        return top / bottom  # of whole numbers Python rounds the quotient once, however long they are
    except OverflowError:
        return math.inf if (top < 0) == (bottom < 0) else -math.inf
