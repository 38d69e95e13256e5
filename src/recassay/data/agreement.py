"""How alike two orders are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def kendall(left: ArrayLike, right: ArrayLike) -> float:
    """Kendall's tau-b of two lists of numbers: pairs in the same order less pairs in opposite order, over the root of
    the pairs not tied on the left times those not tied on the right.

    NaN where one of the lists has all equal numbers, or fewer than two.

    >>> kendall([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    >>> kendall([1, 2, 3], [1, 1, 2]) == 2 / (3 * 2) ** 0.5
    True
    """
    signs = [np.sign(np.subtract.outer(values, values)) for values in (np.asarray(left), np.asarray(right))]
    untied = np.prod([float(np.abs(sign).sum()) for sign in signs])
    return float((signs[0] * signs[1]).sum() / np.sqrt(untied)) if untied else float("nan")
