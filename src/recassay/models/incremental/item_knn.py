"""Incremental item neighbours: counts of users that two items have in common, updated event by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _item_knn
from recassay.models.incremental._co_counts import GrowingCoCounts
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import Incremental, rows_needed, without_queries

LEAST_ROWS = 64  # items whose co-counts with all others are cached at least
ROW_CELLS = 1 << 24  # co-counts cached in all, if that is more rows: 64 MiB


@dataclass(frozen=True, repr=False)
class StreamItemKNN(Incremental):
    """Incremental item-kNN: the score of an item is the sum of its similarities to the items of the user.

    The similarity of i and j is c / (sqrt |i| sqrt |j|), where c users had both and |i| users had i; every item is a
    neighbour. An event counts a pair of user and item; repeated pairs change nothing. ``recent`` uses only the user's
    last items, which bounds the cost of a query. 1 / sqrt |i| is rounded to a multiple of 2^-32, so sums are exact and
    ties do not depend on the order of the user's items.

    Edges: a user without items, or whose items no other user has, has scores of 0.

    >>> learner = StreamItemKNN().start()
    >>> learner.learn(np.array([0, 0, 1, 1, 2], np.int32), np.array([0, 1, 0, 2, 1], np.int32), np.ones(5))
    >>> learner.scores(2).round(3).tolist()
    [0.5, 0.0, 0.0]

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    name: ClassVar[str] = "StreamItemKNN"

    recent: int | None = None

    def validate(self) -> None:
        """Raise U102 if ``recent`` is below 1."""
        if self.recent is not None:
            self.at_least(1, "recent")

    def start(self) -> LearningItemKNN:
        """Return a new learner that has learned nothing."""
        return LearningItemKNN(self)


class LearningItemKNN:
    """The learner of ``StreamItemKNN``: it keeps the distinct pairs of user and item.

    Memory is linear in users, items and pairs.
    """

    def __init__(self, model: StreamItemKNN) -> None:
        self.recent, self.n_items = model.recent or 0, 0
        self.common = GrowingCoCounts(LEAST_ROWS, ROW_CELLS)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; their ratings (``values``) are ignored."""
        self.walk(*without_queries(users, items, values))

    def scores(self, user: int) -> NDArray[np.float64]:
        """Return a score of every item learned so far, by code."""
        self.common.widen(self.n_items, user + 1)
        scores = np.empty(self.common.sizes.size)
        code: Any = np.int32(user)  # as in a stream, for which the loops are compiled
        _item_knn.score(code, self.recent, self.common.arrays, scores)
        return scores[: self.n_items].copy()

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        users, items, n_items = rows_needed(events, queries)
        self.common.widen(items, users)
        self.common.reserve(events.items, events.users)
        _item_knn.walk(self.recent, self.common.arrays, events, queries, output)
        self.n_items = max(self.n_items, n_items)
