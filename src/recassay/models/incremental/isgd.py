"""Incremental matrix factorisation: each event moves the product of a user's and an item's factors towards 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _isgd
from recassay.models.incremental._factor_blocks import FIRST_BLOCKS, ITEMS_PER_BLOCK, score_and_count
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import Incremental, grown, initial_factors, rows_needed, without_queries
from recassay.naming.grammar import Value


@dataclass(frozen=True, repr=False)
class ISGD(Incremental):
    """Incremental matrix factorisation: a score is minus the distance from 1 of a product of user and item factors.

    An event moves both factors ``iterations`` times down the gradient of (1 - P_u Q_i)^2, with the learning rate
    ``rate`` and the weights ``reg_user`` and ``reg_item`` of the penalties; ``update="sequential"`` moves the item by
    the user's new factors, ``"simultaneous"`` by the old ones. Initial factors are Normal(0, ``deviation``), drawn by
    ``seed`` and code. Numbers have single precision.

    All events are positive, so products saturate on long streams. With ``negatives`` = n (RAISGD), the n items whose
    last event is oldest move the user towards a product of 0 before each event. They then become the most recent.

    >>> learner = ISGD(factors=2, rate=0.1, seed=1).start()
    >>> users, items = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    >>> learner.learn(users, items, np.ones(3))
    >>> bool(learner.scores(1).argmax() == 0)
    True

    References: Vinagre, Jorge and Gama, Fast incremental matrix factorization for recommendation with positive-only
    feedback, UMAP 2014, and Collaborative filtering with recency-based negative feedback, SAC 2015.
    """

    name: ClassVar[str] = "ISGD"
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "mymedialite": {"iterations": 30, "rate": 0.31, "reg_user": 0.032, "reg_item": 0.032, "update": "simultaneous"},
        "ml-1m": {"factors": 160, "iterations": 8, "rate": 0.1, "reg_user": 0.4, "reg_item": 0.4},
        "palco-playlists": {"factors": 90, "iterations": 8, "rate": 0.3, "reg_user": 0.4, "reg_item": 0.4},
        "palco-listening": {"factors": 200, "iterations": 6, "rate": 0.35, "reg_user": 0.5, "reg_item": 0.5},
        "lastfm": {"factors": 160, "iterations": 4, "rate": 0.5, "reg_user": 0.4, "reg_item": 0.4},
        "yahoo": {"factors": 200, "iterations": 9, "rate": 0.25, "reg_user": 0.45, "reg_item": 0.45},
    }

    factors: int = 10
    iterations: int = 10
    rate: float = 0.01
    reg_user: float = 0.1
    reg_item: float = 0.1
    update: Literal["sequential", "simultaneous"] = "sequential"
    negatives: int = 0
    deviation: float = 0.1
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 if a count is below 1 or a number is negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "rate", "reg_user", "reg_item", "negatives", "deviation")

    def start(self) -> LearningISGD:
        """Return a new learner that has learned nothing."""
        return LearningISGD(self)


class LearningISGD:
    """The learner of ``ISGD``: its current factors of users and items, and a queue of items by their last event."""

    def __init__(self, model: ISGD) -> None:
        self.model = model
        self.users = np.zeros((0, model.factors), np.float32)
        self.items = np.zeros((0, model.factors, ITEMS_PER_BLOCK), np.float32)
        self.queue = np.zeros((1, 2), np.int32)
        self.n_items = 0

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order: each moves the factors of its user and item; ratings are ignored."""
        self.walk(*without_queries(users, items, values))

    def scores(self, user: int) -> NDArray[np.float32]:
        """Return a score of every item learned so far, by code."""
        self._grow(user + 1, 0)
        row: NDArray[np.float32] = np.empty(self.items.shape[0] * ITEMS_PER_BLOCK, np.float32)
        score_and_count(self.users[user], self.items, self.n_items, True, np.float32(np.nan), row)
        return row[: self.n_items]

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        users, items, n_items = rows_needed(events, queries)
        self._grow(users, items)
        model = self.model
        rates = np.array([model.rate, model.reg_user, model.reg_item], np.float32)
        sequential = model.update == "sequential"
        settings = (rates, model.iterations, sequential, model.negatives, self.queue)
        _isgd.walk(self.users, self.items, *settings, events, queries, output)
        self.n_items = max(self.n_items, n_items)

    def _grow(self, users: int, items: int) -> None:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items."""
        model = self.model

        def draw(what: str) -> Callable[[int, int], NDArray[np.float32]]:
            return lambda begin, end: initial_factors(model.seed, what, begin, end, model.factors, model.deviation)

        def blocks(begin: int, end: int) -> NDArray[np.float32]:
            rows = draw("ISGD item")(begin * ITEMS_PER_BLOCK, end * ITEMS_PER_BLOCK)
            return rows.reshape(end - begin, ITEMS_PER_BLOCK, model.factors).transpose(0, 2, 1)

        self.users = grown(self.users, users, draw("ISGD user"))
        self.items = grown(self.items, -(-items // ITEMS_PER_BLOCK), blocks, first=FIRST_BLOCKS)
        if model.negatives:
            self.queue = grown(self.queue, items + 1)
