"""Incremental user neighbours: counts of items that two users have in common, updated event by event."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _neighbours
from recassay.models.incremental._co_counts import NONE, GrowingCoCounts
from recassay.models.incremental._neighbours import NeighbourBuffers, WeightSums
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import Incremental, grown, rows_needed, without_queries
from recassay.naming.named import Departure

LEAST_ROWS = 16  # users whose co-counts with all others are cached: those queried last


@dataclass(frozen=True, repr=False)
class UKNN(Incremental):
    """Incremental user-kNN: the score of an item is the share of the user's neighbours, by similarity, who had it.

    The similarity of users u and v is c / (sqrt |u| sqrt |v|), with c items in common and |u| the items of u.
    Neighbours are the most similar users with at least one common item; ties are ordered by first appearance. An event
    counts a pair of user and item; repeated pairs change nothing.

    Neighbours are found at each query, so they are exact. ``stale=True`` finds them when the user's own events are
    learned, as MyMediaLite does: later events of other users change similarities but not the set of neighbours.

    Similarities are rounded to a multiple of 2^-38 / sqrt |u|, so sums are exact and equal scores stay equal.

    Edges: without neighbours all scores are 0.

    >>> learner = UKNN(neighbours=2).start()
    >>> users, items = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3]), np.array([0, 1, 2, 0, 1, 3, 2, 3, 0])
    >>> learner.learn(users.astype(np.int32), items.astype(np.int32), np.ones(9))
    >>> learner.scores(3).tolist()
    [1.0, 1.0, 0.5, 0.5]

    Reference: Miranda and Jorge, Incremental collaborative filtering for binary ratings, WI 2008.
    """

    name: ClassVar[str] = "UKNN"

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "prequential",
            "MyMediaLite, which the paper takes its user neighbours from, finds the neighbours of a user again when "
            "events of that user are learned; here they are found at each query, which is exact.",
            "UKNN(stale=True)",
        ),
        Departure(
            "prequential",
            "The version of the paper's first author also finds neighbours again for users who became more similar to "
            "the user of an event than to their last neighbour, and lets a repeated pair count again; here neighbours "
            "are exact or of the user's own events, and repeated pairs change nothing.",
        ),
    )

    neighbours: int = 80
    stale: bool = False

    def validate(self) -> None:
        """Raise U102 if ``neighbours`` is below 1."""
        self.at_least(1, "neighbours")

    def start(self) -> LearningUKNN:
        """Return a new learner that has learned nothing."""
        return LearningUKNN(self)


class LearningUKNN:
    """The learner of ``UKNN``: it keeps the distinct pairs of user and item, and with ``stale`` users' neighbours.

    Memory is linear in users, items and pairs.
    """

    def __init__(self, model: UKNN) -> None:
        self.model, self.n_items = model, 0
        self.common = GrowingCoCounts(LEAST_ROWS)
        self.kept = np.zeros((0, model.neighbours if model.stale else 0), np.int32)
        self.threshold = np.zeros(0)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; their ratings (``values``) are ignored."""
        self.walk(*without_queries(users, items, values))

    def scores(self, user: int) -> NDArray[np.float64]:
        """Return a score of every item learned so far, by code."""
        self._grow(user + 1, self.n_items)
        scores = np.empty(self.n_items)
        code: Any = np.int32(user)  # as in a stream, for which the loops are compiled
        _neighbours.score(code, self.model.neighbours, self._buffers(), self.last, self.common.arrays, scores)
        return scores

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        users, items, n_items = rows_needed(events, queries)
        self._grow(users, items)
        self.common.reserve(events.users, events.items)
        _neighbours.walk(self.model.neighbours, self._buffers(), self.last, self.common.arrays, events, queries, output)
        self.n_items = max(self.n_items, n_items)

    def _grow(self, users: int, items: int) -> None:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items."""
        self.common.widen(users, items)
        known = self.kept.shape[0]
        self.kept, self.threshold = grown(self.kept, users), grown(self.threshold, users)
        self.kept[known:] = NONE
        if (known, self.last.sums.shape[1]) != (self.threshold.size, self.common.owners.length.size):
            del self.last

    @functools.cached_property
    def last(self) -> WeightSums:
        """Return the sums of weights at the last query of each cached user; at first nobody has any."""
        rows, items = self.common.entity_of.size, self.common.owners.length.size
        width = min(self.model.neighbours, self.threshold.size)
        return WeightSums(
            np.zeros((rows, items)), np.full(rows, NONE, np.int32), np.zeros((rows, width + 1), np.int32),
            np.zeros((rows, width)), np.zeros((rows, width), np.int32),
        )  # fmt: skip

    def _buffers(self) -> NeighbourBuffers:
        """Return the neighbours that are kept and the guesses of similarities, with memory for a search."""
        users = self.threshold.size
        return NeighbourBuffers(
            self.kept, self.threshold, np.empty(users, np.int32), np.empty(users), np.empty(users),
            np.empty(users, np.uint8), np.empty(users // _neighbours.GROUP, np.int32),
        )  # fmt: skip
