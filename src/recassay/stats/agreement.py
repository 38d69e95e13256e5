"""Kendall's tau: the rank correlation of two lists of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.portable.distributions import t_quantile
from recassay.stats.ranks import rounded

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


def kendall_taus(left: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def pair_signs(values: ArrayLike) -> NDArray[np.int64]:
    """Return for every pair of numbers along the last axis 1 if the second is larger, 0 if equal, -1 if smaller.

    Numbers that differ by no more than rounding errors are equal.
    """
    numbers = rounded(values)
    first, second = np.triu_indices(numbers.shape[-1], 1)
    found: NDArray[np.int64] = np.sign(numbers[..., second] - numbers[..., first]).astype(np.int64)
    return found


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
