"""Users who had the same items, counted as events come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _neighbours
from recassay.models.incremental._in_common import NOBODY, InCommon
from recassay.models.incremental._neighbours import Near
from recassay.models.incremental._walk import Asked, Int32, Shown, Told
from recassay.models.incremental.base import Incremental, grown, nobody, room_for

ROWS = 16  # users whose items in common with everybody are kept: those asked last


@dataclass(frozen=True, repr=False)
class UKNN(Incremental):
    """User-kNN, incremental: the score of an item is the share of the user's neighbours, by similarity, who had it.

    The similarity of u and v is c / (sqrt |u| sqrt |v|), with c items in common. Neighbours are the most similar users
    with something in common, equally similar ones by first appearance. An event counts a pair of user and item; a
    repeated one changes nothing.

    Neighbours are found when a user is asked for, so they are exact. ``stale=True`` finds them when the user's own
    events are learnt, as MyMediaLite does: what others learnt since then changes similarities, not who is near.

    Similarities are rounded to a multiple of 2^-38 / sqrt |u|, so that sums are exact and equal scores are equal.

    Edges: without neighbours all scores are 0.

    >>> learner = UKNN(neighbours=2).start()
    >>> users, items = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3]), np.array([0, 1, 2, 0, 1, 3, 2, 3, 0])
    >>> learner.learn(users.astype(np.int32), items.astype(np.int32), np.ones(9))
    >>> learner.scores(3).tolist()
    [1.0, 1.0, 0.5, 0.5]

    Reference: Miranda and Jorge, Incremental collaborative filtering for binary ratings, WI 2008.
    """

    name: ClassVar[str] = "UKNN"

    neighbours: int = 80
    stale: bool = False

    def validate(self) -> None:
        """At least one neighbour."""
        self.at_least(1, "neighbours")

    def start(self) -> LearningUKNN:
        """A learner that knows nothing yet."""
        return LearningUKNN(self)


class LearningUKNN:
    """Who had what, and who was near; memory is linear in users, items and distinct pairs of them."""

    def __init__(self, model: UKNN) -> None:
        self.model, self.met = model, 0
        self.common = InCommon(ROWS)
        self.kept = np.zeros((0, model.neighbours if model.stale else 0), np.int32)
        self.level = np.zeros(0)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; what they were rated does not count."""
        self.walk(Told(users, items, values), *nobody(users.size))

    def scores(self, user: int) -> NDArray[np.float64]:
        """A score of every item learnt so far, by code."""
        self._grow(user + 1, self.met)
        scores = np.empty(self.met)
        _neighbours.score(user, self.model.neighbours, self._near(), self.common.arrays, scores)
        return scores

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then learn the rest."""
        users, items, met = room_for(told, asked)
        self._grow(users, items)
        self.common.reserve(told.users, told.items)
        _neighbours.walk(self.model.neighbours, self._near(), self.common.arrays, told, asked, shown)
        self.met = max(self.met, met)

    def _grow(self, users: int, items: int) -> None:
        self.common.widen(users, items)
        known = self.kept.shape[0]
        self.kept, self.level = grown(self.kept, users), grown(self.level, users)
        self.kept[known:] = NOBODY

    def _near(self) -> Near:
        return Near(self.kept, self.level, np.empty(self.level.size, np.int32), np.empty(self.level.size))
