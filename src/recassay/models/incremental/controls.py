"""Controls for streams: what is popular, what is recent, and chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental import _controls
from recassay.models.incremental._walk import Asked, Int32, Shown, Told
from recassay.models.incremental.base import Incremental, grown, nobody, room_for
from recassay.rng import derive_seed


@dataclass(frozen=True, repr=False)
class StreamPopular(Incremental):
    """The score of an item is the number of its events so far.

    >>> learner = StreamPopular().start()
    >>> learner.learn(np.array([0, 1, 0], np.int32), np.array([0, 1, 1], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [1.0, 2.0]
    """

    name: ClassVar[str] = "StreamPopular"

    def start(self) -> LearningControl:
        """A learner that knows nothing yet."""
        return LearningControl(recent=False)


@dataclass(frozen=True, repr=False)
class Recent(Incremental):
    """The score of an item is the number of the last event that it was in: what was met last stands first.

    >>> learner = Recent().start()
    >>> learner.learn(np.array([0, 1, 0], np.int32), np.array([0, 1, 0], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "Recent"

    def start(self) -> LearningControl:
        """A learner that knows nothing yet."""
        return LearningControl(recent=True)


class LearningControl:
    """A number for every item, and how many events there were."""

    def __init__(self, *, recent: bool) -> None:
        self.recent = recent
        self.events = 0
        self.met = 0
        self.worth = np.zeros(0)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events, in order."""
        self.walk(Told(users, items, values), *nobody(users.size))

    def scores(self, user: int) -> NDArray[np.float64]:
        """A score of every item learnt so far."""
        return self.worth[: self.met].copy()

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then the rest."""
        _, items, met = room_for(told, asked)
        self.worth = grown(self.worth, items)
        _controls.walk(self.worth, self.events, self.recent, told, asked, shown)
        self.met, self.events = max(self.met, met), self.events + told.items.size


@dataclass(frozen=True, repr=False)
class StreamRandom(Incremental):
    """The score of a user and an item is a number mixed from both and the seed: any order of items is as likely.

    >>> learner = StreamRandom(seed=3).start()
    >>> learner.learn(np.array([0], np.int32), np.array([1], np.int32), np.ones(1))
    >>> bool((learner.scores(0) == learner.scores(0)).all()), bool((learner.scores(0) == learner.scores(1)).any())
    (True, False)
    """

    name: ClassVar[str] = "StreamRandom"

    seed: int = 0

    def start(self) -> LearningRandom:
        """A learner that knows nothing yet."""
        return LearningRandom(self.seed)


class LearningRandom:
    """How many items there are, and nothing else."""

    def __init__(self, seed: int) -> None:
        self.salt = derive_seed(seed, "stream random") % 2**64
        self.met = 0

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Hear of items."""
        self.met = max(self.met, int(items.max(initial=-1)) + 1)

    def scores(self, user: int) -> NDArray[np.float64]:
        """A number from 0 to below 1 for every item."""
        row = np.empty(self.met)
        _controls.lots(np.uint64(self.salt), user, row)
        return row

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question."""
        _controls.walk_at_random(np.uint64(self.salt), room_for(told, asked)[1], asked, shown)
        self.learn(told.users, told.items, told.values)
