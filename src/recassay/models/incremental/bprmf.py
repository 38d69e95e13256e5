"""Pairwise ranking, event by event: an item that is met moves above items that the user has not met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _bprmf
from recassay.models.incremental._bprmf import How, State
from recassay.models.incremental._lists import GrowingLists
from recassay.models.incremental._tiles import LANES, TILES
from recassay.models.incremental._walk import Asked, Int32, Shown, Told
from recassay.models.incremental.base import Incremental, drawn, grown, nobody, room_for
from recassay.rng import derive_seed

TEACHES = {"event": _bprmf.EVENT, "user": _bprmf.USER, "user and item": _bprmf.BOTH}


@dataclass(frozen=True, repr=False)
class BPRMF(Incremental):
    """Bayesian personalised ranking of factors: a score is an item's bias and the product of both sides' factors.

    ``learns="event"``: an event of user u and item i makes ``iterations`` steps, each against an item j that u has not
    had, drawn from those met so far. With g = 1 / (1 + exp(s_ui - s_uj)) and the learning rate ``rate``, P_u moves by
    g (Q_i - Q_j) - ``reg_user`` P_u, Q_i by g P_u - ``reg_item`` Q_i, Q_j by -g P_u - ``reg_negative`` Q_j, b_i by
    g - ``reg_bias`` b_i and b_j by -g - ``reg_bias`` b_j, all from what was before. Without such an item nothing
    moves. ``sampling="frequency"`` (WBPRMF) draws j in proportion to how many users had it.

    ``learns="user"`` is what MyMediaLite does: an event starts the user's factors anew and makes as many steps as the
    user has had items, each on one of them, that move the user alone. Items are trained on what comes before the first
    question (the warm-up of a stream), in ``iterations`` rounds of a step per pair, each on a random user; those met
    later keep the factors they were drawn with. ``learns="user and item"`` starts the item's factors anew too, and
    moves them by random users, pairs / items times.

    Factors start as Normal(0, ``deviation``), drawn by ``seed`` and by code, biases as 0. Numbers are of single
    precision.

    >>> learner = BPRMF(factors=2, seed=1).start()
    >>> users, items = np.array([0, 0, 1, 2, 1], np.int32), np.array([0, 1, 0, 2, 1], np.int32)
    >>> learner.learn(users, items, np.ones(5))
    >>> int(learner.scores(1).argmin())
    2

    References: Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR, UAI 2009; Rendle and Schmidt-Thieme,
    Online-updating regularized kernel matrix factorization models, RecSys 2008.
    """

    name: ClassVar[str] = "BPRMF"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "mymedialite": {"learns": "user"},
        "mymedialite-items": {"learns": "user and item"},
    }

    factors: int = 10
    iterations: int = 30
    rate: float = 0.05
    reg_user: float = 0.0025
    reg_item: float = 0.0025
    reg_negative: float = 0.00025
    reg_bias: float = 0.0
    sampling: Literal["uniform", "frequency"] = "uniform"
    learns: Literal["event", "user", "user and item"] = "event"
    deviation: float = 0.1
    seed: int = 0

    def validate(self) -> None:
        """Counts, and numbers that are not negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "rate", "reg_user", "reg_item", "reg_negative", "reg_bias", "deviation")

    def start(self) -> LearningBPRMF:
        """A learner that knows nothing yet."""
        return LearningBPRMF(self)


class LearningBPRMF:
    """Factors so far, what each user had, and how often each item was had."""

    def __init__(self, model: BPRMF) -> None:
        self.model = model
        self.users = np.zeros((0, model.factors), np.float32)
        self.items = np.zeros((0, model.factors + 1, LANES), np.float32)
        self.had = GrowingLists()
        self.tree, self.mark = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.counts = np.zeros(6, np.int64)
        rates = (model.rate, model.reg_user, model.reg_item, model.reg_negative, model.reg_bias)
        salt = np.uint64(derive_seed(model.seed, "BPRMF") % 2**64)
        by_frequency = model.sampling == "frequency"
        self.how = How(
            np.array(rates, np.float32), model.iterations, TEACHES[model.learns], by_frequency, model.deviation, salt
        )

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events, in order; what they were rated does not count."""
        self.walk(Told(users, items, values), *nobody(users.size))

    def scores(self, user: int) -> NDArray[np.float32]:
        """A score of every item learnt so far."""
        self._grow(user + 1, 0)
        _bprmf.begin_asking(self.how, self._state())
        row: NDArray[np.float32] = np.empty(self.items.shape[0] * LANES, np.float32)
        _bprmf.score(user, int(self.counts[2]), self._state(), row)
        return row[: self.counts[2]].copy()

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then the rest."""
        users, items, _ = room_for(told, asked)
        self._grow(users, items)
        self.had.reserve(told.users)
        _bprmf.walk(self.how, self._state(), told, asked, shown)

    def _grow(self, users: int, items: int) -> None:
        """Rows for so many users and items at least."""
        model = self.model

        def tiles(begin: int, end: int) -> NDArray[np.float32]:
            rows = drawn(model.seed, "BPRMF item", begin * LANES, end * LANES, model.factors, model.deviation)
            biased = np.append(rows, np.zeros((rows.shape[0], 1), np.float32), axis=1)
            return biased.reshape(end - begin, LANES, model.factors + 1).transpose(0, 2, 1)

        def rows(begin: int, end: int) -> NDArray[np.float32]:
            return drawn(model.seed, "BPRMF user", begin, end, model.factors, model.deviation)

        self.users = grown(self.users, users, rows)
        self.had.grow(users)
        self.items = grown(self.items, -(-items // LANES), tiles, first=TILES)
        self.mark = grown(self.mark, items)
        if self.how.by_frequency and self.tree.size <= items:
            self.tree = _wider(self.tree, self.mark.size)

    def _state(self) -> State:
        had = self.had
        return State(self.users, self.items, had.start, had.length, had.values, self.tree, self.mark, self.counts)


def _wider(tree: NDArray[np.int64], items: int) -> NDArray[np.int64]:
    """A Fenwick tree over so many items, a power of two, that counts what a narrower one counted.

    >>> _wider(np.array([0, 3, 5]), 4).tolist()
    [0, 3, 5, 0, 5]
    """
    wider = np.zeros(items + 1, np.int64)
    wider[: tree.size] = tree
    width = max(tree.size - 1, 1)
    while tree.size and width < items:
        width *= 2
        wider[width] = tree[-1]
    return wider
