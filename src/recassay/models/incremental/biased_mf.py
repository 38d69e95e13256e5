"""Biased matrix factorisation that learns rating by rating: it predicts ratings along a stream.

The step is that of :mod:`recassay.models.base._biased_step`. ``tests/unit/models/incremental/test_biased_mf.py``
compares the compiled loops, in double precision, with a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.data.interactions import Interactions
from recassay.models.base._biased_step import predicted, step
from recassay.models.base.model import rating_values
from recassay.models.incremental._factor_blocks import draw_rows
from recassay.models.incremental._walk import StreamEvents, own_score_and_counts
from recassay.models.incremental.base import FittedStream, Incremental, Walker, grown
from recassay.naming.named import AT_LEAST_0, COUNT

SUM, RATINGS, USERS, ITEMS = range(4)  # positions in BiasedState.totals


class BiasedState(NamedTuple):
    """Parameters learned so far: biases and factors (rows, factors) of users and items.

    ``totals`` are the sum of the ratings, their number, and the numbers of users and items that have been learned.
    ``rate`` is the learning rate, ``reg`` the penalty, and an event makes ``iterations`` steps.
    """

    totals: Float
    user_bias: Float
    item_bias: Float
    user_factors: Float
    item_factors: Float
    rate: float
    reg: float
    iterations: int


@njit(cache=True, nogil=True)
def _learn(state: BiasedState, user: int, item: int, rating: float) -> None:
    """Learn one rating: update the mean, then the biases and factors."""
    totals = state.totals
    totals[SUM] += rating
    totals[RATINGS] += 1
    totals[USERS], totals[ITEMS] = max(totals[USERS], user + 1), max(totals[ITEMS], item + 1)
    mean = totals[SUM] / totals[RATINGS]
    for _ in range(state.iterations):
        step(
            user, item, rating, mean, state.rate, state.reg,
            state.user_bias, state.item_bias, state.user_factors, state.item_factors,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _predict(user: int, item: int, state: BiasedState) -> Any:
    """Return the predicted rating, without the terms of a new user or item; NaN before the first event."""
    totals = state.totals
    if totals[RATINGS] == 0:
        return np.nan
    mean = totals[SUM] / totals[RATINGS]
    if user >= totals[USERS]:
        return mean if item >= totals[ITEMS] else mean + state.item_bias[item]
    if item >= totals[ITEMS]:
        return mean + state.user_bias[user]
    return predicted(user, item, mean, state.user_bias, state.item_bias, state.user_factors, state.item_factors)


@njit(cache=True, nogil=True)
def _score(state: BiasedState, user: int, item: int, known: int, universe: int, row: Float) -> Any:
    """Write the predicted rating of each item below ``known`` to ``row``.

    ``item`` is that of the query. Return (its score, (how many of these scores are higher, are equal, are NaN)). Items
    below ``known`` are learned; others below ``universe`` can be recommended too, below all learned ones.
    """
    for other in range(known):
        row[other] = _predict(user, other, state)
    return own_score_and_counts(row, item, known, universe)


@dataclass(frozen=True, repr=False)
class StreamBiasedMF(Incremental):
    """Biased matrix factorisation, updated at each event: the predicted rating is m + b_u + b_i + p_u . q_i.

    m is the mean of all ratings learned so far. An event with rating r first enters m and then makes ``iterations``
    steps: with the error e of its prediction, b_u += ``rate`` (e - ``reg`` b_u), the same for b_i, p_u += ``rate`` (e
    q_i - ``reg`` p_u) and q_i += ``rate`` (e p_u - ``reg`` q_i), with the factors before the step. These are the steps
    of ``BiasedMF``, which makes several rounds over a whole log. Biases start at 0, factors at Normal(0,
    ``deviation``), drawn by ``seed`` and code.

    Edges: the terms of a new user or item are left out of the prediction, which is m if both are new. Nothing is
    predicted before the first event. Scores are predicted ratings. Events without ratings count as 1.

    >>> learner = StreamBiasedMF(factors=2, rate=0.1).start()
    >>> learner.learn(np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32), np.array([5.0, 1.0, 5.0]))
    >>> learner.predict(1, 0) > learner.predict(1, 1), round(learner.predict(9, 9), 4)
    (True, 3.6667)

    Reference: Koren, Bell and Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
    """

    reads_ratings: ClassVar[bool | None] = True

    factors: Annotated[int, COUNT] = 10
    iterations: Annotated[int, COUNT] = 1
    rate: Annotated[float, AT_LEAST_0] = 0.02
    reg: Annotated[float, AT_LEAST_0] = 0.02
    deviation: Annotated[float, AT_LEAST_0] = 0.1
    seed: int = 0

    def start(self) -> LearningBiasedMF:
        """Return a new learner that has learned nothing."""
        return LearningBiasedMF(self)

    def fit(self, log: Interactions) -> FittedStream:
        """Return a learner that has learned the log in order of time; raise I307 for a log without ratings."""
        rating_values(log, self.name)
        return super().fit(log)


class LearningBiasedMF(Walker):
    """The learner of ``StreamBiasedMF``: its current mean, biases and factors."""

    kernels = _learn, _score

    def __init__(self, model: StreamBiasedMF) -> None:
        self.model = model
        bias, factors = np.zeros(0), np.zeros((0, model.factors))
        self.state = BiasedState(np.zeros(4), bias, bias, factors, factors, model.rate, model.reg, model.iterations)

    def predict(self, user: int, item: int) -> float:
        """Return the predicted rating of a user for an item; NaN before the first event."""
        return float(_predict(user, item, self.state))

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float]:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """
        state = self.state
        self.state = state._replace(
            user_bias=grown(state.user_bias, users),
            item_bias=grown(state.item_bias, items),
            user_factors=grown(state.user_factors, users, draw_rows(self.model, "biased user")),
            item_factors=grown(state.item_factors, items, draw_rows(self.model, "biased item")),
        )
        return self.state, np.empty(self.state.item_bias.size)
