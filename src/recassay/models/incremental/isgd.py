"""Incremental stochastic gradient descent: every event pulls a user and an item together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _isgd
from recassay.models.incremental._tiles import LANES, TILES
from recassay.models.incremental._walk import Asked, Int32, Shown, Told
from recassay.models.incremental.base import Incremental, drawn, grown, nobody, room_for


@dataclass(frozen=True, repr=False)
class ISGD(Incremental):
    """A score is minus the distance of the product of a user's and an item's factors from 1.

    An event moves both ``iterations`` times down the gradient of (1 - P_u Q_i)^2, with the learning rate ``rate`` and
    the weights ``reg_user`` and ``reg_item`` of the penalties; ``update="sequential"`` moves the item by the user's new
    factors, ``"simultaneous"`` by the old ones. Factors of whoever is new are Normal(0, ``deviation``), drawn by
    ``seed`` and by code. Numbers are of single precision.

    There are no events against an item, so products saturate on long streams. With ``negatives`` (RAISGD) the items
    that were met longest ago, so many of them, move the user towards a product of 0 before each event, and count as
    just met.

    >>> learner = ISGD(factors=2, rate=0.1, seed=1).start()
    >>> users, items = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    >>> learner.learn(users, items, np.ones(3))
    >>> bool(learner.scores(1).argmax() == 0)
    True

    References: Vinagre, Jorge and Gama, Fast incremental matrix factorization for recommendation with positive-only
    feedback, UMAP 2014, and Collaborative filtering with recency-based negative feedback, SAC 2015.
    """

    name: ClassVar[str] = "ISGD"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
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
        """Counts, and numbers that are not negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "rate", "reg_user", "reg_item", "negatives", "deviation")

    def start(self) -> LearningISGD:
        """A learner that knows nothing yet."""
        return LearningISGD(self)


class LearningISGD:
    """Factors of users and items so far, and the order in which items were last met."""

    def __init__(self, model: ISGD) -> None:
        self.model = model
        self.users = np.zeros((0, model.factors), np.float32)
        self.items = np.zeros((0, model.factors, LANES), np.float32)
        self.queue = np.zeros((1, 2), np.int32)
        self.met = 0

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events, in order."""
        self.walk(Told(users, items, values), *nobody(users.size))

    def scores(self, user: int) -> NDArray[np.float32]:
        """A score of every item learnt so far."""
        self.make_room(user + 1, 0)
        row: NDArray[np.float32] = np.empty(self.items.shape[0] * LANES, np.float32)
        _isgd.score(self.users[user], self.items, self.met, row)
        return row[: self.met]

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then the rest."""
        users, items, met = room_for(told, asked)
        self.make_room(users, items)
        model = self.model
        rates = np.array([model.rate, model.reg_user, model.reg_item], np.float32)
        sequential = model.update == "sequential"
        how = (rates, model.iterations, sequential, model.negatives, self.queue)
        _isgd.walk(self.users, self.items, *how, told, asked, shown)
        self.met = max(self.met, met)

    def make_room(self, users: int, items: int) -> None:
        """Rows for so many users and items at least."""
        model = self.model

        def factors(what: str) -> Any:
            return lambda begin, end: drawn(model.seed, what, begin, end, model.factors, model.deviation)

        def tiles(begin: int, end: int) -> NDArray[np.float32]:
            rows: NDArray[np.float32] = factors("ISGD item")(begin * LANES, end * LANES)
            return rows.reshape(end - begin, LANES, model.factors).transpose(0, 2, 1)

        self.users = grown(self.users, users, factors("ISGD user"))
        self.items = grown(self.items, -(-items // LANES), tiles, first=TILES)
        if model.negatives:
            self.queue = grown(self.queue, items + 1)
