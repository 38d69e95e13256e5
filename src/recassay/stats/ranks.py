"""Comparison of numbers up to rounding errors, and the mid-ranks and signed ranks of the rank tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recassay.stats.resampling import Floats

# Before they are compared, numbers are rounded to this many decimals relative to the largest value they were computed
# from: 0.1 + 0.2 must tie with 0.3, 0.50 - 0.45 with 0.40 - 0.35, and 5e8 - 4e8 with 4e8 - 3e8.
DIGITS = 10


def rounded(values: ArrayLike, axis: int = -1) -> Floats:
    """Return values for comparison: numbers that differ by no more than rounding errors become equal.

    They are divided by the largest finite absolute value along ``axis`` and rounded to :data:`DIGITS` decimals.

    >>> rounded([0.1 + 0.2, 0.3, 0.6]).tolist()
    [0.5, 0.5, 1.0]
    """
    numbers = np.asarray(values, np.float64)
    size = np.abs(numbers)
    largest = np.max(size, axis=axis, keepdims=True, where=np.isfinite(size), initial=0.0)
    return np.round(numbers / np.where(largest > 0, largest, 1.0), DIGITS)


def mid_ranks(x: Floats) -> Floats:
    """Return ranks from 1; values that are equal up to rounding share the mean of their ranks.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(rounded(x), return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def signed_ranks(d: Floats, *, scale: float = 1.0, rank_zeros: bool = False) -> Floats:
    """Return the sign of each difference times the mid-rank of its absolute value, without the zeros.

    Zeros are dropped before ranking, or with ``rank_zeros`` after it (Pratt 1959). ``scale`` is the largest of the
    values that the differences were computed from; smaller differences than its rounding errors count as zero. An
    infinite difference ranks above all others.

    >>> signed_ranks(np.array([0.2, 0.0, -0.1])).tolist()
    [2.0, -1.0]
    >>> signed_ranks(np.array([0.2, 0.0, -0.1]), rank_zeros=True).tolist()
    [3.0, -2.0]
    """
    d = np.round(d / scale, DIGITS) if scale > 0 else d
    if not rank_zeros:
        d = d[d != 0]
    ranks: Floats = (np.sign(d) * mid_ranks(np.abs(d)))[d != 0]
    return ranks
