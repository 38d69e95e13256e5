"""Counter-based random numbers for compiled loops.

A number depends only on the key it is drawn for, never on the order of calls, so threads and block sizes do not change
results. Readable reference versions are in ``tests/property/test_hashes.py``; ``mix`` of whole arrays is
:func:`recassay.columnar.identity.mix`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

MIDDLE = np.array([
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
])  # fmt: skip
OUTER = np.array([
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
])  # fmt: skip
FAR = np.array([
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
])  # fmt: skip


@njit(nogil=True, cache=True, inline="always")
def mix(key: np.uint64) -> np.uint64:
    """Return the hash of a key: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(nogil=True, cache=True, inline="always")
def unit(key: np.uint64) -> float:
    """Return a random number above 0 and at most 1, made of the hash ``key`` (its upper 53 bits)."""
    return (np.float64(key >> np.uint64(11)) + 0.5) * 2.0**-53


@njit(nogil=True, cache=True, inline="always")
def below(key: np.uint64, bound: int) -> np.int64:
    """Return a random whole number from 0 to bound - 1, made of the hash ``key`` (its upper 32 bits).

    The bias is at most bound / 2^32.
    """
    return np.int64(((key >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(nogil=True, cache=True)
def normal(key: np.uint64) -> np.float64:
    """Return a standard normal random number, made of the hash ``key`` by the quantile function.

    Reference: Wichura, Algorithm AS 241, Applied Statistics 37 (1988).
    """
    p = (np.float64(key >> np.uint64(12)) + 0.5) * 2.0**-52  # 0 and 1 cannot occur
    q = p - 0.5
    if abs(q) <= 0.425:
        return np.float64(q * _ratio(0.180625 - q * q, MIDDLE))
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    x = _ratio(r - 1.6, OUTER) if r <= 5.0 else _ratio(r - 5.0, FAR)
    return np.float64(-x if q < 0.0 else x)


@njit(nogil=True, cache=True)
def _ratio(x: float, table: NDArray[np.float64]) -> float:
    """Return the quotient of two polynomials of degree 7 at x.

    The two rows of ``table`` are their coefficients, that of the highest power first.
    """
    top, bottom = 0.0, 0.0
    for i in range(8):
        top = top * x + table[0, i]
        bottom = bottom * x + table[1, i]
    return top / bottom
