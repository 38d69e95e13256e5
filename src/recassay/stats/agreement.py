"""Kendall's tau: the rank correlation of two lists of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
    """Return Kendall's tau-a and tau-b along the last axis; tau-a divides by all pairs, tied or not.

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
    """Compare every pair of numbers along the last axis: 1 if the second is larger, 0 if equal, -1 if smaller."""
    numbers = np.asarray(values, np.float64)
    first, second = np.triu_indices(numbers.shape[-1], 1)
    found: NDArray[np.int64] = np.sign(numbers[..., second] - numbers[..., first]).astype(np.int64)
    return found
