"""The compiled loop of biased matrix factorisation.

``tests/unit/models/test_ratings.py`` compares it with a plain loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.base._biased_step import step

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def descend(
    users: Int32, items: Int32, ratings: Float, order: Int64, mean: float, rate: float, reg: float,
    user_bias: Float, item_bias: Float, user_factors: Float, item_factors: Float,
) -> float:  # fmt: skip
    """Learn each rating once, in ``order``, and return the sum of squared errors, each before its step.

    Rating r is ``ratings[r]`` of user ``users[r]`` for item ``items[r]``, and ``mean`` is the mean of all. ``rate`` is
    the learning rate and ``reg`` the penalty. Biases and factors (rows, factors) are changed in place.
    """
    total = 0.0
    for row in order:
        error = step(
            users[row], items[row], ratings[row], mean, rate, reg, user_bias, item_bias, user_factors, item_factors
        )
        total += error * error
    return total
