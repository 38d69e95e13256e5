"""Constants as pairs of doubles (the nearest double, and the rest), computed by Python's decimal arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

DIGITS = Context(prec=50)
LOG_STEPS = 128  # logarithms are tabulated at i / 128
EXP_STEPS = 64  # powers of two are tabulated at i / 64
LEAST, MOST = 90, 182  # i / 128 from below sqrt(1/2) to above sqrt(2)

Pair = tuple[float, float]


def pair(value: Decimal) -> Pair:
    """Return the double nearest to ``value``, and the double nearest to the difference of ``value`` from it.

    >>> pair(Decimal("0.5"))
    (0.5, 0.0)
    """
    upper = float(value)
    return upper, float(DIGITS.subtract(value, Decimal(upper)))


def pairs(values: Iterable[Decimal]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two arrays: the double nearest to each value, and the double nearest to what that one lacks."""
    upper, lower = zip(*(pair(value) for value in values), strict=True)
    return np.array(upper), np.array(lower)


def _few_bits(value: float, bits: int) -> float:
    """Return a double between 1/2 and 1 rounded down to its first ``bits`` bits.

    Its products with small integers are exact.
    """
    return float(int(value * 2**bits)) / float(2**bits)


_LN2 = DIGITS.ln(Decimal(2))
LN2_HEAD = _few_bits(float(_LN2), 36)
LN2_TAIL = pair(DIGITS.subtract(_LN2, Decimal(LN2_HEAD)))  # ln 2 = LN2_HEAD + these two
LN2 = pair(_LN2)
PER_LN2 = pair(DIGITS.divide(Decimal(1), _LN2))
LOG_UPPER, LOG_LOWER = pairs(DIGITS.ln(DIGITS.divide(Decimal(max(i, 1)), Decimal(LOG_STEPS))) for i in range(MOST + 1))
EXP_UPPER, EXP_LOWER = pairs(
    DIGITS.exp(DIGITS.divide(DIGITS.multiply(_LN2, Decimal(i)), Decimal(EXP_STEPS))) for i in range(EXP_STEPS)
)
THIRD, FIFTH = pair(DIGITS.divide(Decimal(2), Decimal(3))), pair(DIGITS.divide(Decimal(2), Decimal(5)))
SIXTH, TWENTY_FOURTH = pair(DIGITS.divide(Decimal(1), Decimal(6))), pair(DIGITS.divide(Decimal(1), Decimal(24)))
HUNDRED_TWENTIETH = pair(DIGITS.divide(Decimal(1), Decimal(120)))
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
HALF_LOG_2PI = pair(DIGITS.divide(DIGITS.ln(DIGITS.multiply(Decimal(2), PI)), Decimal(2)))
