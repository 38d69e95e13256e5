"""The compiled step of biased matrix factorisation, which batch models and models of streams share.

``tests/unit/models/test_ratings.py`` and ``tests/unit/models/incremental/test_biased_mf.py`` compare it with plain
loops.
"""

from __future__ import annotations

from typing import Any

from recassay._kernel_cache import njit
from recassay.arrays import Float


@njit(nogil=True, cache=True)
def step(
    user: int, item: int, rating: float, mean: float, rate: float, reg: float,
    user_bias: Float, item_bias: Float, user_factors: Float, item_factors: Float,
) -> Any:  # fmt: skip
    """Make a gradient step towards one rating; return the error of the predicted rating before the step.

    ``mean`` is the mean of all ratings, ``rate`` the learning rate and ``reg`` the penalty. Row ``user``
    of ``user_bias`` and ``user_factors``, and row ``item`` of those of items, are changed in place.
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
) -> Any:
    """Return the predicted rating of a user for an item: mean, both biases, and the product of both factors.

    ``mean`` is the mean of all ratings; biases and factors have a row per user or item.
    """
    total = mean + user_bias[user] + item_bias[item]
    for factor in range(user_factors.shape[1]):
        total += user_factors[user, factor] * item_factors[item, factor]
    return total
