"""How alike two orders are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def kendall(left: ArrayLike, right: ArrayLike) -> float:
    """Kendall's tau-b of two lists of numbers: pairs in the same order less pairs in opposite order, over the root of
    the pairs not tied on the left times those not tied on the right.

    NaN where one of the lists has all equal numbers, or fewer than two.

    >>> kendall([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    >>> kendall([1, 2, 3], [1, 1, 2]) == 2 / (3 * 2) ** 0.5
    True
    """
    return float(taus(left, right)[1])


def taus(left: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Kendall's tau-a and tau-b along the last axis; tau-a divides by all pairs, tied or not.

    >>> [tau.round(6).tolist() for tau in taus([[1, 2, 3], [1, 2, 3]], [[1, 3, 2], [1, 1, 2]])]
    [[0.333333, 0.666667], [0.333333, 0.816497]]
    """
    one, other = signs(left), signs(right)
    pairs = one.shape[-1]
    agree = (one * other).sum(axis=-1)
    untied = (one != 0).sum(axis=-1) * (other != 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(agree, float(pairs)), agree / np.sqrt(untied.astype(np.float64))


def signs(values: ArrayLike) -> NDArray[Any]:
    """For every pair of places along the last axis whether the second number is larger (1), the same (0) or smaller."""
    numbers = np.asarray(values, np.float64)
    first, second = np.triu_indices(numbers.shape[-1], 1)
    return np.sign(numbers[..., second] - numbers[..., first]).astype(np.int64)
