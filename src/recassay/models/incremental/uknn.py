"""Users who had the same items, counted as events come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental._lists import GrowingLists
from recassay.models.incremental._neighbours import BLOCK, NOBODY, State, learn, score, walk
from recassay.models.incremental._walk import Asked, Shown, Told
from recassay.models.incremental.base import Incremental, Int32, grown

ROWS = 16  # users whose items in common with everybody are kept: those who were asked last


@dataclass(frozen=True, repr=False)
class UKNN(Incremental):
    """User-kNN, incremental: the score of an item is the share of the user's neighbours, by similarity, who had it.

    The similarity of u and v is c / (sqrt |u| sqrt |v|), with c items in common. Neighbours are the most similar users
    with something in common, equally similar ones by first appearance. An event counts a pair of user and item; a
    repeated one changes nothing.

    Neighbours are found when a user is asked for, so they are exact. ``stale=True`` finds them when the user's own
    events are learnt, as MyMediaLite does: what others learnt since then changes similarities, not who is near.

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

    def start(self) -> UserNeighbours:
        """Nobody has had anything."""
        return UserNeighbours(self.neighbours, self.stale)


class UserNeighbours:
    """Who had what; memory is linear in users, items and distinct pairs of them."""

    def __init__(self, neighbours: int, stale: bool) -> None:
        self.neighbours, self.items = neighbours, 0
        self.had, self.owners = GrowingLists(), GrowingLists()
        self.sizes = np.zeros(0, np.float32)
        self.rows, self.touched = np.zeros((ROWS, 0), np.int32), np.zeros((ROWS, 0), np.bool_)
        self.user_of, self.row_of = np.full(ROWS, NOBODY), np.full(0, NOBODY)
        self.recent, self.hand = np.zeros(ROWS, np.bool_), np.zeros(1, np.int64)
        self.level, self.near, self.closeness = np.zeros(0), np.zeros(0, np.int32), np.zeros(0)
        self.nearby = np.zeros((0, neighbours if stale else 0), np.int32)
        self.row = np.zeros(0)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; what they were rated does not count."""
        state = self._ready(users, items)
        for user, item in zip(users.tolist(), items.tolist(), strict=True):
            learn(user, item, self.neighbours, self.nearby, state)

    def scores(self, user: int) -> NDArray[np.float64]:
        """A score of every item learnt so far, by code."""
        if not 0 <= user < self.had.length.size or not self.had.length[user]:
            return np.zeros(self.items)
        score(user, self.items, self.neighbours, self.nearby, self._state())
        return self.row[: self.items].copy()

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then learn the rest."""
        state = self._ready(np.append(told.users, asked.users), told.items, int(asked.universe.max(initial=0)))
        walk(self.neighbours, self.nearby, state, told, asked, shown)

    def _ready(self, users: Int32, items: Int32, universe: int = 0) -> State:
        """Make room for events of these users and items."""
        self.items = max(self.items, int(items.max(initial=-1)) + 1)
        self.had.reserve(users)
        self.owners.reserve(items)
        self.row = grown(self.row, max(self.items, universe))
        if (most := int(users.max(initial=-1)) + 1) > self.sizes.size:
            self._widen(most)
        return self._state()

    def _widen(self, users: int) -> None:
        """Make room for so many users; rows are counted anew when they are asked for."""
        known = self.sizes.size
        self.sizes, self.level, self.nearby = (
            grown(self.sizes, users),
            grown(self.level, users),
            grown(self.nearby, users),
        )
        self.sizes[known:], self.nearby[known:] = np.inf, NOBODY
        width = self.sizes.size
        self.rows, self.touched = np.zeros((ROWS, width), np.int32), np.zeros((ROWS, width // BLOCK), np.bool_)
        self.user_of[:], self.row_of = NOBODY, np.full(width, NOBODY)
        self.near, self.closeness = np.zeros(width, np.int32), np.zeros(width)

    def _state(self) -> State:
        had, owners = self.had, self.owners
        return State(
            had.start, had.length, had.values, owners.start, owners.length, owners.values, self.sizes,
            self.rows, self.touched, self.user_of, self.row_of, self.recent, self.hand, self.level,
            self.near, self.closeness, self.row,
        )  # fmt: skip
