"""The compiled loop of biased matrix factorisation.

``tests/unit/models/test_ratings.py`` compares it with a plain loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

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


@njit(nogil=True, cache=True)
def step(
    user: int, item: int, rating: float, mean: float, rate: float, reg: float,
    user_bias: Float, item_bias: Float, user_factors: Float, item_factors: Float,
) -> float:  # fmt: skip
    """Move biases and factors of a user and an item towards one rating, and return the error before the step.

    ``mean``, ``rate`` and ``reg`` are as in :func:`descend`. Biases and factors (rows, factors) are changed in place.
    """
    error = rating - predicted(user, item, mean, user_bias, item_bias, user_factors, item_factors)
    user_bias[user] += rate * (error - reg * user_bias[user])
    item_bias[item] += rate * (error - reg * item_bias[item])
    for factor in range(user_factors.shape[1]):
        mine, its = user_factors[user, factor], item_factors[item, factor]
        user_factors[user, factor] += rate * (error * its - reg * mine)
        item_factors[item, factor] += rate * (error * mine - reg * its)
    return error


@njit(nogil=True, cache=True)
def predicted(
    user: int, item: int, mean: float, user_bias: Float, item_bias: Float, user_factors: Float, item_factors: Float
) -> float:
    """Return the predicted rating of a user for an item: mean, both biases, and the product of both factors."""
    total = mean + user_bias[user] + item_bias[item]
    for factor in range(user_factors.shape[1]):
        total += user_factors[user, factor] * item_factors[item, factor]
    return total
