"""Baselines for streams: popular, recent and random items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _controls
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import Incremental, grown, rows_needed, without_queries
from recassay.rng import derive_seed


@dataclass(frozen=True, repr=False)
class StreamPopular(Incremental):
    """Popularity in a stream: the score of an item is the number of its events so far.

    >>> learner = StreamPopular().start()
    >>> learner.learn(np.array([0, 1, 0], np.int32), np.array([0, 1, 1], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [1.0, 2.0]
    """

    name: ClassVar[str] = "StreamPopular"

    def start(self) -> LearningControl:
        """Return a new learner that has learned nothing."""
        return LearningControl(recent=False)


@dataclass(frozen=True, repr=False)
class Recent(Incremental):
    """Recency in a stream: the score of an item is the position of its last event, so the most recent item is first.

    >>> learner = Recent().start()
    >>> learner.learn(np.array([0, 1, 0], np.int32), np.array([0, 1, 0], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "Recent"

    def start(self) -> LearningControl:
        """Return a new learner that has learned nothing."""
        return LearningControl(recent=True)


class LearningControl:
    """The learner of ``StreamPopular`` or ``Recent``: a score per item, and the number of events so far.

    With ``recent`` the score is the number of the item's last event, else the number of its events.
    """

    personal: ClassVar[bool] = False

    def __init__(self, *, recent: bool) -> None:
        self.recent = recent
        self.n_events = 0
        self.n_items = 0
        self.item_scores = np.zeros(0)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; their users and ratings (``values``) are ignored."""
        self.walk(*without_queries(users, items, values))

    def scores(self, user: int) -> NDArray[np.float64]:
        """Return a score of every item learned so far, by code."""
        return self.item_scores[: self.n_items].copy()

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        _, items, n_items = rows_needed(events, queries)
        self.item_scores = grown(self.item_scores, items)
        _controls.walk(self.item_scores, self.n_events, self.recent, events, queries, output)
        self.n_items, self.n_events = max(self.n_items, n_items), self.n_events + events.items.size


@dataclass(frozen=True, repr=False)
class StreamRandom(Incremental):
    """Random scores in a stream, hashes of the user, the item and the seed: every order of items is equally likely.

    >>> learner = StreamRandom(seed=3).start()
    >>> learner.learn(np.array([0], np.int32), np.array([1], np.int32), np.ones(1))
    >>> bool((learner.scores(0) == learner.scores(0)).all()), bool((learner.scores(0) == learner.scores(1)).any())
    (True, False)
    """

    name: ClassVar[str] = "StreamRandom"

    seed: int = 0

    def start(self) -> LearningRandom:
        """Return a new learner that has learned nothing."""
        return LearningRandom(self.seed)


class LearningRandom:
    """The learner of ``StreamRandom``: it keeps only the number of items so far."""

    personal: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self.salt = derive_seed(seed, "stream random") % 2**64
        self.n_items = 0

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Count the items that are new; nothing else is learned."""
        self.n_items = max(self.n_items, int(items.max(initial=-1)) + 1)

    def scores(self, user: int) -> NDArray[np.float64]:
        """Return a random number in [0, 1) for every item so far.

        It depends on the seed, the user and the item only.
        """
        row = np.empty(self.n_items)
        _controls.random_scores(np.uint64(self.salt), user, row)
        return row

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Answer every query with random scores, and count the items of the events.

        The answers are written to ``output``, a row per query.
        """
        _controls.walk_random(np.uint64(self.salt), rows_needed(events, queries)[1], queries, output)
        self.learn(events.users, events.items, events.values)
