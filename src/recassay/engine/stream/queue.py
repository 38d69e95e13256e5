"""Events that the model has not learnt yet: they wait to be revealed, or for their batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental._walk import Told

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Queue:
    """Events in the order of the stream, and how often each is learnt.

    >>> queue = Queue()
    >>> queue.append(Told(np.array([0, 1, 0]), np.array([0, 0, 1]), np.ones(3)), np.array([1, 2, 1]), np.arange(3))
    >>> told, bounds = queue.expanded(2)
    >>> told.users.tolist(), bounds.tolist()
    ([0, 1, 1], [0, 1, 3])
    >>> queue.drop(2)
    >>> queue.begin, queue.known_items(np.array([0, 1])).tolist()
    (2, [1, 2])
    """

    def __init__(self) -> None:
        self.told = Told(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
        self.times, self.places = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.begin = 0  # the event that stands first
        self.users, self.items = 0, 0  # how many were learnt before it

    def append(self, told: Told, times: Int64, places: Int64) -> None:
        """More events, and their places in the stream."""
        users, items, values = self.told
        self.told = Told(np.append(users, told.users), np.append(items, told.items), np.append(values, told.values))
        self.times, self.places = np.append(self.times, times), np.append(self.places, places)

    def expanded(self, events: int) -> tuple[Told, Int64]:
        """The first events as they are learnt, and where each begins among them."""
        times, (users, items, values) = self.times[:events], self.told
        users, items = np.repeat(users[:events], times), np.repeat(items[:events], times)
        told = Told(users, items, np.repeat(values[:events], times))
        return told, np.append(0, np.cumsum(times))

    def place_of(self, learnt: int) -> int:
        """The place in the stream of the event that is the last of so many as they are learnt."""
        return int(self.places[np.searchsorted(np.cumsum(self.times), learnt)])

    def drop(self, events: int) -> None:
        """The first events have been learnt."""
        self.users = int(self.known_users(np.array([events]))[0])
        self.items = int(self.known_items(np.array([events]))[0])
        users, items, values = self.told
        self.told = Told(users[events:].copy(), items[events:].copy(), values[events:].copy())
        self.times, self.places = self.times[events:].copy(), self.places[events:].copy()
        self.begin += events

    def known_users(self, learnt: Int64) -> Int64:
        """How many users are known when so many events of the queue have been learnt."""
        return _known(self.told.users, self.users, learnt)

    def known_items(self, learnt: Int64) -> Int64:
        """How many items are known when so many events of the queue have been learnt."""
        return _known(self.told.items, self.items, learnt)


def _known(codes: Int32, before: int, learnt: Int64) -> Int64:
    """Codes go by first appearance, so what is known are the codes up to the highest."""
    known: Int64 = np.maximum.accumulate(np.append(before, codes.astype(np.int64) + 1))[learnt]
    return known
