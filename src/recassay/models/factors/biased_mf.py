"""Biased matrix factorisation: it predicts ratings, and ranks items by the predicted rating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, FittedFactors, rating_values
from recassay.models.factors import _biased_mf
from recassay.rng import derive

SPREAD = 0.1  # the largest factor at the start


@dataclass(frozen=True, repr=False)
class BiasedMF(BuiltIn):
    """Biased matrix factorisation: the score of an item is its predicted rating m + b_u + b_i + p_u . q_i.

    m is the mean rating; biases b and factors p and q are learned by stochastic gradient descent. In each of ``epochs``
    every rating is learned once, in random order: with the error e of its prediction, b_u += ``rate`` (e - ``reg``
    b_u), the same for b_i, p_u += ``rate`` (e q_i - ``reg`` p_u) and q_i += ``rate`` (e p_u - ``reg`` q_i), with the
    factors before the step. Factors start at random within 0.1.

    Edges: a user or item without ratings has no bias and no factors. Items are ranked by predicted rating, so an item
    with few and high ratings can be first: papers that compare such models report that this ranks poorly. A log without
    ratings raises I307. The order of rows does not matter.

    >>> import polars as pl
    >>> rows = [(1, "a", 5), (1, "b", 1), (2, "a", 5), (2, "c", 1), (3, "b", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    >>> fitted = BiasedMF(factors=2, epochs=200, rate=0.05).fit(log)
    >>> fitted.scores(np.array([2], np.int32)).argmax(axis=1).tolist()
    [0]

    Reference: Koren, Bell and Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
    """

    name: ClassVar[str] = "BiasedMF"
    reads_ratings: ClassVar[bool | None] = True

    factors: int = 50
    epochs: int = 20
    rate: float = 0.005
    reg: float = 0.02
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 if a count is below 1, the rate is not positive or the regularisation is negative."""
        self.at_least(1, "factors", "epochs")
        self.at_least(0, "reg")
        if self.rate <= 0:
            raise self.refuse("rate", "it must be above 0", "rate=0.005")

    def fit(self, log: Interactions) -> FittedBiasedMF:
        """Learn biases and factors; raise I307 for a log without ratings."""
        require_log(log)
        ratings = rating_values(log, self.name)
        by_id = np.lexsort((ratings, log.items, log.users))  # the order of rows must not matter
        columns = readonly(log.users[by_id]), readonly(log.items[by_id]), readonly(ratings[by_id])
        rng = derive(self.seed, "biased factors")
        factors = [SPREAD * (2 * rng.random((size, self.factors)) - 1) for size in (log.n_users, log.n_items)]
        biases = [np.zeros(log.n_users), np.zeros(log.n_items)]
        mean = float(ratings.sum() / max(ratings.size, 1))
        errors = []
        for _ in range(self.epochs):
            order = readonly(rng.permutation(ratings.size))
            total = _biased_mf.descend(*columns, order, mean, self.rate, self.reg, *biases, *factors)
            errors.append(float(np.sqrt(total / max(ratings.size, 1))))
        factors[0][np.bincount(log.users, minlength=log.n_users) == 0] = 0
        factors[1][np.bincount(log.items, minlength=log.n_items) == 0] = 0
        ones = np.ones(log.n_users), np.ones(log.n_items)
        users = np.column_stack([factors[0], mean + biases[0], ones[0]]).astype(np.float32)
        items = np.column_stack([factors[1], ones[1], biases[1]]).astype(np.float32)
        return FittedBiasedMF(log, users, items, tuple(errors))


@dataclass(frozen=True, eq=False)
class FittedBiasedMF(FittedFactors):
    """A fitted biased factor model: factors with two columns for biases, and the RMSE of training by epoch."""

    errors: tuple[float, ...]

    def predict(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the predicted rating of each pair of a user and an item."""
        predicted: NDArray[np.float32] = (self.user_factors[users] * self.item_factors[items]).sum(axis=1)
        return predicted
