"""Baselines for streams: popular, recent and random items.

``tests/property/test_streams.py`` checks the compiled loops against a readable version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, learned_before, rank_item
from recassay.models.incremental.base import Incremental, Walker, grown
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


class LearningControl(Walker):
    """The learner of ``StreamPopular`` or ``Recent``: a score per item, and the number of events so far.

    With ``recent`` the score is the number of the item's last event, else the number of its events.
    """

    personal: ClassVar[bool] = False

    def __init__(self, *, recent: bool) -> None:
        self.recent, self.n_events, self.item_scores = recent, 0, np.zeros(0)

    def scores(self, user: int) -> Float:
        """Return a score of every item learned so far, by code."""
        return self.item_scores[: self.n_items].copy()

    def grow(self, users: int, items: int) -> None:
        """Enlarge the array of scores."""
        self.item_scores = grown(self.item_scores, items)

    def run(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block, and count its events."""
        _walk(self.item_scores, self.n_events, self.recent, events, queries, output)
        self.n_events += events.items.size


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


class LearningRandom(Walker):
    """The learner of ``StreamRandom``: it keeps only the number of items so far."""

    personal: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self.salt = derive_seed(seed, "stream random") % 2**64

    def scores(self, user: int) -> Float:
        """Return a random number in [0, 1) for every item so far.

        It depends on the seed, the user and the item only.
        """
        row = np.empty(self.n_items)
        _random_scores(np.uint64(self.salt), user, row)
        return row

    def grow(self, users: int, items: int) -> None:
        """Do nothing: there are no arrays."""

    def run(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Answer every query with random scores; nothing is learned."""
        _walk_random(np.uint64(self.salt), int(queries.universe.max(initial=0)), queries, output)


@njit(cache=True, nogil=True)
def _walk(
    item_scores: Float, n_events: int, recent: bool, events: StreamEvents, queries: StreamQueries, output: WalkOutput
) -> None:
    """Answer queries with the number of events of each item, or with ``recent`` the number of its last event.

    ``item_scores`` are these numbers, updated with every event, and ``n_events`` is the number of events before this
    block. The results are written to ``output``, a row per query.
    """
    row, learned = np.empty(item_scores.size), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            item = events.items[event]
            item_scores[item] = n_events + event + 1 if recent else item_scores[item] + 1
        learned = until
        if query == queries.users.size:
            break
        known = queries.known[query]
        row[:known] = item_scores[:known]
        rank_item(row, queries, query, output)


@njit(cache=True, nogil=True)
def _walk_random(salt: np.uint64, items: int, queries: StreamQueries, output: WalkOutput) -> None:
    """Answer queries with pseudo-random scores of user and item; write the results to ``output``, a row per query.

    ``salt`` is derived from the seed, and ``items`` is the number of items.
    """
    row = np.empty(items)
    for query in range(queries.users.size):
        _random_scores(salt, queries.users[query], row[: queries.known[query]])
        rank_item(row, queries, query, output)


@njit(cache=True, nogil=True)
def _random_scores(salt: np.uint64, user: int, row: Float) -> None:
    """Write to ``row`` a number in [0, 1) per item that depends on ``salt``, user and item only: a hash by SplitMix64.

    Reference: Steele, Lea and Flood (2014).
    """
    for item in range(row.size):
        value = salt ^ ((np.uint64(user) << np.uint64(32)) | np.uint64(item))
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        row[item] = np.float64((value ^ (value >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
