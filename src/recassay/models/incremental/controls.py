"""Baselines for streams: popular, recent and random items.

``tests/property/test_streams.py`` checks the compiled loops against a readable version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.models.incremental._walk import StreamEvents, own_score_and_counts
from recassay.models.incremental.base import Incremental, Walker, grown
from recassay.rng import derive_seed


@njit(cache=True, nogil=True)
def _count(state: Any, _user: int, item: int, _value: float) -> None:
    """Add 1 to the score of an item, or with ``recent`` set it to the number of events so far."""
    item_scores, n_events, recent = state
    n_events[0] += 1
    item_scores[item] = n_events[0] if recent else item_scores[item] + 1


@njit(cache=True, nogil=True)
def _copy_scores(state: Any, _user: int, item: int, known: int, universe: int, row: Float) -> Any:
    """Write the score of each item below ``known`` to ``row``.

    ``item`` is that of the query. Return (its score, (how many of these scores are higher, are equal, are NaN)). Items
    below ``known`` are learned; others below ``universe`` can be recommended too, below all learned ones.
    """
    row[:known] = state[0][:known]
    return own_score_and_counts(row, item, known, universe)


@njit(cache=True, nogil=True)
def _learn_nothing(_state: Any, _user: int, _item: int, _value: float) -> None:
    """Do nothing: random scores depend on no event."""


@njit(cache=True, nogil=True)
def _random_scores(state: Any, user: int, item: int, known: int, universe: int, row: Float) -> Any:
    """Write a random number in [0, 1) for each item below ``known`` to ``row``.

    ``item`` is that of the query. Return (its score, (how many of these scores are higher, are equal, are NaN)). Items
    below ``known`` are learned; others below ``universe`` can be recommended too, below all learned ones.

    The number depends on the salt (the state), the user and the item only: it is a hash by SplitMix64.

    Reference: Steele, Lea and Flood (2014).
    """
    for other in range(known):
        value = state[0] ^ ((np.uint64(user) << np.uint64(32)) | np.uint64(other))
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        row[other] = np.float64((value ^ (value >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
    return own_score_and_counts(row, item, known, universe)


@dataclass(frozen=True, repr=False)
class StreamPopular(Incremental):
    """Popularity in a stream: the score of an item is the number of its events so far.

    >>> learner = StreamPopular().start()
    >>> learner.learn(np.array([0, 1, 0], np.int32), np.array([0, 1, 1], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [1.0, 2.0]
    """

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

    def start(self) -> LearningControl:
        """Return a new learner that has learned nothing."""
        return LearningControl(recent=True)


class LearningControl(Walker):
    """The learner of ``StreamPopular`` or ``Recent``: a score per item, and the number of events so far.

    With ``recent`` the score is the number of the item's last event, else the number of its events.
    """

    personal: ClassVar[bool] = False
    kernels = _count, _copy_scores

    def __init__(self, *, recent: bool) -> None:
        self.recent, self.n_events, self.item_scores = recent, np.zeros(1, np.int64), np.zeros(0)

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float]:
        """Enlarge the array of scores to hold at least ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). The arguments
        ``users`` and ``events`` are not used.
        """
        self.item_scores = grown(self.item_scores, items)
        return (self.item_scores, self.n_events, self.recent), np.empty(self.item_scores.size)


@dataclass(frozen=True, repr=False)
class StreamRandom(Incremental):
    """Random scores in a stream, hashes of the user, the item and the seed: every order of items is equally likely.

    >>> learner = StreamRandom(seed=3).start()
    >>> learner.learn(np.array([0], np.int32), np.array([1], np.int32), np.ones(1))
    >>> bool((learner.scores(0) == learner.scores(0)).all()), bool((learner.scores(0) == learner.scores(1)).any())
    (True, False)
    """

    seed: int = 0

    def start(self) -> LearningRandom:
        """Return a new learner that has learned nothing."""
        return LearningRandom(self.seed)


class LearningRandom(Walker):
    """The learner of ``StreamRandom``: it keeps only the number of items so far."""

    personal: ClassVar[bool] = False
    kernels = _learn_nothing, _random_scores

    def __init__(self, seed: int) -> None:
        self.salt = derive_seed(seed, "stream random") % 2**64

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float]:
        """Return (salt of the random scores, which the compiled functions read; array for a score of each item)."""
        return (np.uint64(self.salt),), np.empty(items)
