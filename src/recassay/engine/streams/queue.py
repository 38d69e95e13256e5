"""Events that the model has not learned yet: they wait for the end of a delay, or for their batch to be complete."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental._walk import StreamEvents

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Queue:
    """The events in stream order that wait to be learned, each with the number of times it is learned.

    The number is 1, except in bootstrap copies of a model, where it is drawn.

    >>> queue = Queue()
    >>> events = StreamEvents(np.array([0, 1, 0]), np.array([0, 0, 1]), np.ones(3))
    >>> queue.append(events, np.array([1, 2, 1]), np.arange(3))
    >>> events, bounds = queue.expanded(2)
    >>> events.users.tolist(), bounds.tolist()
    ([0, 1, 1], [0, 1, 3])
    >>> queue.drop(2)
    >>> queue.start, queue.known_items(np.array([0, 1])).tolist()
    (2, [1, 2])
    """

    def __init__(self) -> None:
        self.events = StreamEvents(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
        self.repeats, self.event_numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.start = 0  # events dropped so far
        self.n_users, self.n_items = 0, 0  # users and items among the dropped events

    def append(self, events: StreamEvents, repeats: Int64, event_numbers: Int64) -> None:
        """Append events, with the number of times that each is learned (``repeats``) and its number in the stream."""
        users, items, values = self.events
        self.events = StreamEvents(
            np.append(users, events.users), np.append(items, events.items), np.append(values, events.values)
        )
        self.repeats = np.append(self.repeats, repeats)
        self.event_numbers = np.append(self.event_numbers, event_numbers)

    def expanded(self, n_events: int) -> tuple[StreamEvents, Int64]:
        """Return the first ``n_events`` events, each repeated as often as it is learned, and their bounds.

        The repetitions of event i are ``bounds[i]:bounds[i + 1]``.
        """
        repeats, (users, items, values) = self.repeats[:n_events], self.events
        users, items = np.repeat(users[:n_events], repeats), np.repeat(items[:n_events], repeats)
        events = StreamEvents(users, items, np.repeat(values[:n_events], repeats))
        return events, np.append(0, np.cumsum(repeats))

    def event_number(self, n_learned: int) -> int:
        """Return the stream number of the event that comes next once ``n_learned`` queued events are learned.

        An event that is learned several times counts several times in ``n_learned``.
        """
        return int(self.event_numbers[np.searchsorted(np.cumsum(self.repeats), n_learned)])

    def drop(self, n_events: int) -> None:
        """Remove the first ``n_events`` events, which have been learned."""
        self.n_users = int(self.known_users(np.array([n_events]))[0])
        self.n_items = int(self.known_items(np.array([n_events]))[0])
        users, items, values = self.events
        self.events = StreamEvents(users[n_events:].copy(), items[n_events:].copy(), values[n_events:].copy())
        self.repeats, self.event_numbers = self.repeats[n_events:].copy(), self.event_numbers[n_events:].copy()
        self.start += n_events

    def known_users(self, n_learned: Int64) -> Int64:
        """Return the number of known users once the first ``n_learned`` queued events have been learned."""
        return _n_known(self.events.users, self.n_users, n_learned)

    def known_items(self, n_learned: Int64) -> Int64:
        """Return the number of known items once the first ``n_learned`` queued events have been learned."""
        return _n_known(self.events.items, self.n_items, n_learned)


def _n_known(codes: Int32, before: int, n_learned: Int64) -> Int64:
    """Return how many users (or items) are known after the first ``n_learned`` events; ``before`` were known at first.

    ``codes`` are the user (or item) codes of the events. They are numbered by first appearance, so the number of known
    codes is the highest code so far plus 1.
    """
    known: Int64 = np.maximum.accumulate(np.append(before, codes.astype(np.int64) + 1))[n_learned]
    return known
