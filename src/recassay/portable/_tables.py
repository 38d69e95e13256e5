"""Constants as pairs of doubles (the nearest double, and the rest), computed by Python's decimal arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from itertools import accumulate, repeat

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


def _logs(most: int) -> list[Decimal]:
    """Return the logarithms of 1, 2, ..., ``most``, with that of 1 at position 0 too.

    That of a composite number is the sum of those of two factors, which is sooner computed.
    """
    found = [Decimal(0), Decimal(0)]
    for number in range(2, most + 1):
        factor = next((one for one in range(2, math.isqrt(number) + 1) if number % one == 0), number)
        rest = found[number // factor]
        found.append(DIGITS.add(found[factor], rest) if factor < number else DIGITS.ln(Decimal(number)))
    return found


_LN2 = DIGITS.ln(Decimal(2))
LN2_HEAD = _few_bits(float(_LN2), 36)
LN2_TAIL = pair(DIGITS.subtract(_LN2, Decimal(LN2_HEAD)))  # ln 2 = LN2_HEAD + these two
LN2 = pair(_LN2)
PER_LN2 = pair(DIGITS.divide(Decimal(1), _LN2))
_LOGS = _logs(MOST)
LOG_UPPER, LOG_LOWER = pairs(DIGITS.subtract(_LOGS[max(i, 1)], _LOGS[LOG_STEPS]) for i in range(MOST + 1))
_ROOT = DIGITS.exp(DIGITS.divide(_LN2, Decimal(EXP_STEPS)))
EXP_UPPER, EXP_LOWER = pairs(accumulate(repeat(_ROOT, EXP_STEPS - 1), DIGITS.multiply, initial=Decimal(1)))
THIRD, FIFTH = pair(DIGITS.divide(Decimal(2), Decimal(3))), pair(DIGITS.divide(Decimal(2), Decimal(5)))
SIXTH, TWENTY_FOURTH = pair(DIGITS.divide(Decimal(1), Decimal(6))), pair(DIGITS.divide(Decimal(1), Decimal(24)))
HUNDRED_TWENTIETH = pair(DIGITS.divide(Decimal(1), Decimal(120)))
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
HALF_LOG_2PI = pair(DIGITS.divide(DIGITS.ln(DIGITS.multiply(Decimal(2), PI)), Decimal(2)))
