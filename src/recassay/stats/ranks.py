"""Comparison of numbers up to rounding errors: mid-ranks and signed ranks of the rank tests, and Kendall's tau."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recassay.arrays import Float, Int64
from recassay.stats.intervals import t_quantile

# Before they are compared, numbers are rounded to this many decimals relative to the largest value they were computed
# from: 0.1 + 0.2 must tie with 0.3, 0.50 - 0.45 with 0.40 - 0.35, and 5e8 - 4e8 with 4e8 - 3e8.
DIGITS = 10


def rounded(values: ArrayLike, axis: int = -1) -> Float:
    """Return values for comparison: numbers that differ by no more than rounding errors become equal.

    They are divided by the largest finite absolute value along ``axis`` and rounded to :data:`DIGITS` decimals.

    >>> rounded([0.1 + 0.2, 0.3, 0.6]).tolist()
    [0.5, 0.5, 1.0]
    """
    numbers = np.asarray(values, np.float64)
    size = np.abs(numbers)
    largest = np.max(size, axis=axis, keepdims=True, where=np.isfinite(size), initial=0.0)
    return np.round(numbers / np.where(largest > 0, largest, 1.0), DIGITS)


def mid_ranks(x: Float) -> Float:
    """Return ranks from 1; values that are equal up to rounding share the mean of their ranks.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(rounded(x), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])


def signed_ranks(d: Float, *, scale: float = 1.0, rank_zeros: bool = False) -> Float:
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
    return np.asarray((np.sign(d) * mid_ranks(np.abs(d)))[d != 0])


FEWEST = 6  # numbers from which the spread of a jackknife says something


def kendall(left: ArrayLike, right: ArrayLike) -> float:
    """Return Kendall's tau-b of two lists of numbers.

    Tau-b is (pairs in the same order - pairs in opposite order) / sqrt(pairs untied in left * pairs untied in right).
    It is NaN if one of the lists has fewer than two numbers or only equal ones.

    >>> kendall([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    >>> kendall([1, 2, 3], [1, 1, 2]) == 2 / (3 * 2) ** 0.5
    True
    """
    return float(kendall_taus(left, right)[1])


def kendall_taus(left: ArrayLike, right: ArrayLike) -> tuple[Float, Float]:
    """Return (tau-a, tau-b), Kendall's tau of ``left`` and ``right`` along the last axis; tau-a divides by all pairs.

    >>> [tau.round(6).tolist() for tau in kendall_taus([[1, 2, 3], [1, 2, 3]], [[1, 3, 2], [1, 1, 2]])]
    [[0.333333, 0.666667], [0.333333, 0.816497]]
    """
    left_signs, right_signs = pair_signs(left), pair_signs(right)
    pairs = left_signs.shape[-1]
    agree = (left_signs * right_signs).sum(axis=-1)
    untied = (left_signs != 0).sum(axis=-1) * (right_signs != 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(agree, float(pairs)), agree / np.sqrt(untied.astype(np.float64))


def pair_signs(values: ArrayLike) -> Int64:
    """Return for every pair of numbers along the last axis 1 if the second is larger, 0 if equal, -1 if smaller.

    Numbers that differ by no more than rounding errors are equal.
    """
    numbers = rounded(values)
    first, second = np.triu_indices(numbers.shape[-1], 1)
    return np.asarray(np.sign(numbers[..., second] - numbers[..., first]), np.int64)


def kendall_interval(left: ArrayLike, right: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """Return (low, high) of an interval of Kendall's tau-b; pairs (left[i], right[i]) are left out in turn (jackknife).

    The interval is tau plus and minus Student's t times the jackknife's standard error, cut at -1 and 1. It treats the
    pairs as a sample of more such pairs. It is NaN for fewer than 6 pairs, or where tau is undefined without one.

    >>> low, high = kendall_interval([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 4, 3, 5, 6, 8, 7])
    >>> round(low, 3), round(high, 3)
    (0.559, 1.0)

    Reference: Arvesen, Jackknifing U-statistics, Annals of Mathematical Statistics 40 (1969).
    """
    a, b = rounded(left), rounded(right)
    n = len(a)
    if n < FEWEST:
        return float("nan"), float("nan")
    signs, others = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    # sums over the pairs that each number is in; a sum over all pairs counts each of them twice
    agree, untied, other_untied = (signs * others).sum(axis=1), np.abs(signs).sum(axis=1), np.abs(others).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (agree.sum() / 2 - agree) / np.sqrt(
            (untied.sum() / 2 - untied) * (other_untied.sum() / 2 - other_untied)
        )
    error = float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
    reach = t_quantile((1 + level) / 2, n - 1) * error
    tau = kendall(a, b)
    return max(-1.0, tau - reach), min(1.0, tau + reach)
