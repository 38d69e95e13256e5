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
from recassay.models.incremental._factor_blocks import FactorDraws
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, learned_before, rank_item
from recassay.models.incremental.base import FittedStream, Incremental, Walker, grown
from recassay.naming.named import AT_LEAST_0, COUNT

SUM, RATINGS, USERS, ITEMS = range(4)  # positions in BiasedState.totals


@dataclass(frozen=True, repr=False)
class StreamBiasedMF(Incremental):
    """Biased matrix factorisation by event: the predicted rating is m + b_u + b_i + p_u . q_i.

    m is the mean of all ratings learned so far. An event with rating r first enters m and then makes ``iterations``
    steps: with the error e of its prediction, b_u += ``rate`` (e - ``reg`` b_u), the same for b_i, p_u += ``rate`` (e
    q_i - ``reg`` p_u) and q_i += ``rate`` (e p_u - ``reg`` q_i), with the factors before the step. These are the steps
    of ``BiasedMF``, which makes several rounds over a whole log. Biases start at 0, factors at Normal(0,
    ``deviation``), drawn by ``seed`` and code.

    Edges: of a new user or item only what is known enters the prediction, which is m if both are new. Nothing is
    predicted before the first event. Scores are predicted ratings. Events without ratings count as 1.

    >>> learner = StreamBiasedMF(factors=2, rate=0.1).start()
    >>> learner.learn(np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32), np.array([5.0, 1.0, 5.0]))
    >>> learner.predict(1, 0) > learner.predict(1, 1), round(learner.predict(9, 9), 4)
    (True, 3.6667)

    Reference: Koren, Bell and Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
    """

    name: ClassVar[str] = "StreamBiasedMF"
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

    def __init__(self, model: StreamBiasedMF) -> None:
        self.model = model
        empty = np.zeros((0, model.factors))
        self.state = BiasedState(np.zeros(4), np.zeros(0), np.zeros(0), empty, empty)

    def predict(self, user: int, item: int) -> float:
        """Return the predicted rating; NaN before the first event."""
        return float(_predict(user, item, self.state))

    def scores(self, user: int) -> Float:
        """Return the predicted rating of every item learned so far, by code."""
        return np.array([self.predict(user, item) for item in range(int(self.state.totals[ITEMS]))])

    def run(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block with the model's parameters."""
        model, events = self.model, events._replace(values=events.values.astype(np.float64, copy=False))
        _walk(self.state, model.rate, model.reg, model.iterations, events, queries, output)

    def grow(self, users: int, items: int) -> None:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items."""
        draw, state = FactorDraws(self.model.seed, self.model.factors, self.model.deviation), self.state
        self.state = state._replace(
            user_bias=grown(state.user_bias, users),
            item_bias=grown(state.item_bias, items),
            user_factors=grown(state.user_factors, users, draw.rows("biased user")),
            item_factors=grown(state.item_factors, items, draw.rows("biased item")),
        )


class BiasedState(NamedTuple):
    """Parameters learned so far: biases and factors (rows, factors) of users and items.

    ``totals`` are the sum of the ratings, their number, and the numbers of users and items that have been learned.
    """

    totals: Float
    user_bias: Float
    item_bias: Float
    user_factors: Float
    item_factors: Float


@njit(cache=True, nogil=True)
def _walk(
    state: BiasedState, rate: float, reg: float, iterations: int,
    events: StreamEvents, queries: StreamQueries, output: WalkOutput,
) -> None:  # fmt: skip
    """Answer every query after learning the events before it, and write the results to ``output``, a row per query.

    The remaining events are learned at the end. ``rate`` is the learning rate, ``reg`` the penalty, and an event makes
    ``iterations`` steps.
    """
    row, learned = np.empty(state.item_bias.size), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            _learn(events.users[event], events.items[event], events.values[event], state, rate, reg, iterations)
        learned = until
        if query == queries.users.size:
            break
        for item in range(queries.known[query]):
            row[item] = _predict(queries.users[query], item, state)
        rank_item(row, queries, query, output)


@njit(cache=True, nogil=True)
def _learn(user: int, item: int, rating: float, state: BiasedState, rate: float, reg: float, iterations: int) -> None:
    """Learn one rating: it enters the mean, and then moves biases and factors ``iterations`` times.

    ``rate`` is the learning rate and ``reg`` the penalty.
    """
    totals = state.totals
    totals[SUM] += rating
    totals[RATINGS] += 1
    totals[USERS], totals[ITEMS] = max(totals[USERS], user + 1), max(totals[ITEMS], item + 1)
    mean = totals[SUM] / totals[RATINGS]
    for _ in range(iterations):
        step(
            user, item, rating, mean, rate, reg,
            state.user_bias, state.item_bias, state.user_factors, state.item_factors,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _predict(user: int, item: int, state: BiasedState) -> Any:
    """Return the predicted rating; what is not known of a new user or item is left out, NaN if nothing is known."""
    totals = state.totals
    if totals[RATINGS] == 0:
        return np.nan
    mean = totals[SUM] / totals[RATINGS]
    if user >= totals[USERS]:
        return mean if item >= totals[ITEMS] else mean + state.item_bias[item]
    if item >= totals[ITEMS]:
        return mean + state.user_bias[user]
    return predicted(user, item, mean, state.user_bias, state.item_bias, state.user_factors, state.item_factors)
