"""Items that the same users had, counted as events come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _item_knn
from recassay.models.incremental._in_common import InCommon
from recassay.models.incremental._walk import Asked, Int32, Shown, Told
from recassay.models.incremental.base import Incremental, nobody, room_for

ROWS = 64  # items whose counts with all others are kept at least
CELLS = 1 << 24  # of such counts kept in all, if that makes more rows: 64 MiB


@dataclass(frozen=True, repr=False)
class StreamItemKNN(Incremental):
    """Item-kNN, incremental: the score of an item is the sum of its similarities to the items that the user had.

    The similarity of i and j is c / (sqrt |i| sqrt |j|), where c users had both; every item is a neighbour. An event
    counts a pair of user and item; a repeated one changes nothing. ``recent`` looks at the user's last items alone,
    which bounds what a question costs. 1 / sqrt |i| is rounded to a multiple of 2^-32, so that sums are exact and the
    order in which the user met the items decides no tie.

    Edges: a user without items, or whose items nobody shared, has scores of 0.

    >>> learner = StreamItemKNN().start()
    >>> learner.learn(np.array([0, 0, 1, 1, 2], np.int32), np.array([0, 1, 0, 2, 1], np.int32), np.ones(5))
    >>> learner.scores(2).round(3).tolist()
    [0.5, 0.0, 0.0]

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    name: ClassVar[str] = "StreamItemKNN"

    recent: int | None = None

    def validate(self) -> None:
        """At least one item, if they are counted."""
        if self.recent is not None:
            self.at_least(1, "recent")

    def start(self) -> LearningItemKNN:
        """A learner that knows nothing yet."""
        return LearningItemKNN(self)


class LearningItemKNN:
    """Who had what; memory is linear in users, items and distinct pairs of them."""

    def __init__(self, model: StreamItemKNN) -> None:
        self.recent, self.met = model.recent or 0, 0
        self.common = InCommon(ROWS, CELLS)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; what they were rated does not count."""
        self.walk(Told(users, items, values), *nobody(users.size))

    def scores(self, user: int) -> NDArray[np.float64]:
        """A score of every item learnt so far, by code."""
        self.common.widen(self.met, user + 1)
        scores = np.empty(self.common.sizes.size)
        _item_knn.score(user, self.recent, self.common.arrays, scores)
        return scores[: self.met].copy()

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then learn the rest."""
        users, items, met = room_for(told, asked)
        self.common.widen(items, users)
        self.common.reserve(told.items, told.users)
        _item_knn.walk(self.recent, self.common.arrays, told, asked, shown)
        self.met = max(self.met, met)
