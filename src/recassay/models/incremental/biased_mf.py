"""Biased matrix factorisation that learns rating by rating: it predicts ratings along a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.models.base.model import rating_values
from recassay.models.incremental import _biased_mf
from recassay.models.incremental._biased_mf import ITEMS, BiasedState
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import (
    FittedStream,
    Incremental,
    grown,
    initial_factors,
    rows_needed,
    without_queries,
)

Float = NDArray[np.float64]


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

    factors: int = 10
    iterations: int = 1
    rate: float = 0.02
    reg: float = 0.02
    deviation: float = 0.1
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 if a count is below 1 or a number is negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "rate", "reg", "deviation")

    def start(self) -> LearningBiasedMF:
        """Return a new learner that has learned nothing."""
        return LearningBiasedMF(self)

    def fit(self, log: Interactions) -> FittedStream:
        """Return a learner that has learned the log in order of time; raise I307 for a log without ratings."""
        rating_values(log, self.name)
        return super().fit(log)


class LearningBiasedMF:
    """The learner of ``StreamBiasedMF``: its current mean, biases and factors."""

    def __init__(self, model: StreamBiasedMF) -> None:
        self.model = model
        empty = np.zeros((0, model.factors))
        self.state = BiasedState(np.zeros(4), np.zeros(0), np.zeros(0), empty, empty)

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Learn events in order; ``values`` are their ratings."""
        self.walk(*without_queries(users, items, values))

    def predict(self, user: int, item: int) -> float:
        """Return the predicted rating; NaN before the first event."""
        return float(_biased_mf.predict(user, item, self.state))

    def scores(self, user: int) -> Float:
        """Return the predicted rating of every item learned so far, by code."""
        return np.array([self.predict(user, item) for item in range(int(self.state.totals[ITEMS]))])

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        users, items, _ = rows_needed(events, queries)
        self._grow(users, items)
        model = self.model
        values = events.values.astype(np.float64, copy=False)
        _biased_mf.walk(
            self.state, model.rate, model.reg, model.iterations, events._replace(values=values), queries, output
        )

    def _grow(self, users: int, items: int) -> None:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items."""
        model, state = self.model, self.state

        def draw(what: str) -> Callable[[int, int], Float]:
            def rows(begin: int, end: int) -> Float:
                return initial_factors(model.seed, what, begin, end, model.factors, model.deviation).astype(np.float64)

            return rows

        self.state = state._replace(
            user_bias=grown(state.user_bias, users),
            item_bias=grown(state.item_bias, items),
            user_factors=grown(state.user_factors, users, draw("biased user")),
            item_factors=grown(state.item_factors, items, draw("biased item")),
        )
