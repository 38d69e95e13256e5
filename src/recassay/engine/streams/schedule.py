"""The state of a stream at each event: items that users have consumed, and events that may be learned by then."""

from __future__ import annotations

from typing import Any

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Int32, Int64
from recassay.columnar.order import positions_in_groups
from recassay.data.times import TimeValues
from recassay.models.incremental._lists import GrowingLists
from recassay.models.incremental._walk import StreamEvents
from recassay.models.incremental.base import grown
from recassay.protocols.prequential import Prequential


def known_after(before: int, codes: Int32) -> Int64:
    """Return how many distinct codes (of users or of items) have occurred before each of ``codes``, and at the end.

    ``before`` is their number before this block of events. Codes are numbered by first appearance, so
    this is the highest code so far plus 1.
    """
    return np.asarray(np.maximum.accumulate(np.append(before, codes.astype(np.int64) + 1)))


class History(GrowingLists):
    """The distinct items that each user has consumed, in order, whether or not the model has learned them.

    >>> history = History()
    >>> n_before, repeated = history.consume(np.array([0, 0, 1, 0], np.int32), np.array([5, 6, 5, 5], np.int32))
    >>> n_before.tolist(), repeated.tolist(), history.first_items(0, 2).tolist()
    ([0, 1, 0, 2], [False, False, False, True], [5, 6])
    """

    def consume(self, users: Int32, items: Int32) -> tuple[Int64, Bool]:
        """Add events in order; return the number of items each user had before, and whether the item was one of them.

        Both arrays have an entry per event. The next call may move the lists in the array ``values``.
        """
        self.reserve(users)
        n_before, repeated = np.empty(users.size, np.int64), np.empty(users.size, np.bool_)
        consume(users, items, self.start, self.length, self.values, n_before, repeated)
        return n_before, repeated

    def first_items(self, user: int, n: int) -> Int32:
        """Return the first ``n`` distinct items that a user consumed."""
        return self.values[self.start[user] : self.start[user] + n]


class Queue:
    """The events in stream order that wait to be learned, each with the number of times it is learned.

    They wait for the end of a delay, or for their batch to be complete. The number is 1, except in bootstrap copies of
    a model, where it is drawn.

    >>> queue = Queue()
    >>> events = StreamEvents(np.array([0, 1, 0]), np.array([0, 0, 1]), np.ones(3))
    >>> queue.append(events, np.array([1, 2, 1]), np.arange(3))
    >>> events, bounds = queue.expanded(2)
    >>> events.users.tolist(), bounds.tolist()
    ([0, 1, 1], [0, 1, 3])
    >>> queue.drop(2)
    >>> queue.start, queue.known_items()[:2].tolist()
    (2, [1, 2])
    """

    def __init__(self) -> None:
        self.events = StreamEvents(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
        self.repeats, self.event_numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.start = 0  # events dropped so far
        self.n_users, self.n_items = 0, 0  # users and items among the dropped events

    def append(self, events: StreamEvents, repeats: Int64, event_numbers: Int64) -> None:
        """Append events, with the number of times that each is learned (``repeats``) and its number in the stream."""
        columns: Any = zip(self.events, events, strict=True)
        self.events = StreamEvents(*map(np.concatenate, columns))
        self.repeats = np.append(self.repeats, repeats)
        self.event_numbers = np.append(self.event_numbers, event_numbers)

    def expanded(self, n_events: int) -> tuple[StreamEvents, Int64]:
        """Return the first ``n_events`` events, each repeated as often as it is learned, and their bounds.

        The repetitions of event i are ``bounds[i]:bounds[i + 1]``.
        """
        repeats = self.repeats[:n_events]
        events = self.events.each(lambda column: np.repeat(column[:n_events], repeats))
        return events, np.append(0, np.cumsum(repeats))

    def event_number(self, n_learned: int) -> int:
        """Return the stream number of the event that comes next once ``n_learned`` queued events are learned.

        An event that is learned several times counts several times in ``n_learned``.
        """
        return int(self.event_numbers[np.searchsorted(np.cumsum(self.repeats), n_learned)])

    def drop(self, n_events: int) -> None:
        """Remove the first ``n_events`` events, which have been learned."""
        self.n_users, self.n_items = int(self.known_users()[n_events]), int(self.known_items()[n_events])
        self.events = self.events.each(lambda column: column[n_events:].copy())
        self.repeats, self.event_numbers = self.repeats[n_events:].copy(), self.event_numbers[n_events:].copy()
        self.start += n_events

    def known_users(self) -> Int64:
        """Return the number of users learned before each queued event is learned, and after the last one."""
        return known_after(self.n_users, self.events.users)

    def known_items(self) -> Int64:
        """Return the number of items learned before each queued event is learned, and after the last one."""
        return known_after(self.n_items, self.events.items)


class Regime:
    """The learning schedule of a stream: it counts the events that the model has learned before each query.

    >>> moments = np.array([0, 1, 5, 6, 12])
    >>> for protocol in (Prequential(), Prequential(batch=2), Prequential(delay=2), Prequential(learn_until=3)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.n_learned(regime.n_revealed(5, moments)).tolist())
    prequential [0, 1, 2, 3, 4]
    prequential(batch=2) [0, 0, 2, 2, 4]
    prequential(delay=2) [0, 0, 0, 1, 2]
    prequential(learn_until=3) [0, 1, 2, 3, 3]
    >>> for protocol in (Prequential(batch="5s"), Prequential(delay="5s"), Prequential(warmup=3, refit=2)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.n_learned(regime.n_revealed(5, moments)).tolist())
    prequential(batch='5s') [0, 0, 2, 2, 4]
    prequential(delay='5s') [0, 0, 1, 2, 4]
    prequential(warmup=3, refit=2) [0, 0, 0, 3, 3]
    """

    def __init__(self, protocol: Prequential) -> None:
        self.protocol = protocol
        self.kind = next(iter(protocol.regime), "")
        self.span = protocol.regime.get(self.kind)
        self.n_events = 0  # of the stream so far
        self.n_due = 0  # events that a schedule in time has revealed
        self.hidden = np.zeros(0)  # with a delay, the times of events that are not revealed yet
        self.origin: float | None = None  # the first time of the stream
        self.window = 0  # the current window of time

    def n_revealed(self, n_events: int, moments: TimeValues | None) -> Int64:
        """Return how many events may be learned before each of the next ``n_events``; none during the warm-up.

        ``moments`` are the times of these events, None if the stream has no times.
        """
        event = np.arange(self.n_events, self.n_events + n_events)
        revealed = self._after_warmup(event, self._revealed(event, moments))
        self.n_events += n_events
        return revealed

    def n_learned(self, n_revealed: Int64) -> Int64:
        """Return how many of the events that may be learned (``n_revealed``) are learned: at most ``learn_until``."""
        last = self.protocol.learn_until
        return n_revealed if last is None else np.minimum(n_revealed, last)

    def n_learned_at_end(self) -> int:
        """Return how many events have been learned by the end of the stream."""
        event = np.array([self.n_events])
        timed = self.span is not None and self.span.of_time
        revealed = np.array([self.n_due]) if timed else self._revealed(event, None)
        return int(self.n_learned(self._after_warmup(event, revealed))[0])

    def _after_warmup(self, event: Int64, revealed: Int64) -> Int64:
        warmup = self.protocol.warmup
        return np.where(event < warmup, 0, np.maximum(revealed, warmup))

    def _revealed(self, event: Int64, moments: TimeValues | None) -> Int64:
        if self.span is None:
            return event
        if not self.span.of_time:
            size, warmup = int(self.span.size), self.protocol.warmup
            return event - size if self.kind == "delay" else warmup + (event - warmup) // size * size
        assert moments is not None  # a stream without times was refused
        revealed = self._delayed(moments) if self.kind == "delay" else self._window_starts(event, moments)
        self.n_due = int(revealed[-1])
        return revealed

    def _delayed(self, moments: TimeValues) -> Int64:
        """Return, for each of the next events, how many events of the stream are at least the delay older."""
        assert self.span is not None
        waiting = np.append(self.hidden, moments).astype(np.float64)
        revealed = np.searchsorted(waiting, moments - self.span.size, side="right")
        self.hidden = waiting[revealed[-1] :]
        return self.n_due + revealed

    def _window_starts(self, event: Int64, moments: TimeValues) -> Int64:
        """Return, for each event, the number of the first event in its time window; all before that may be learned."""
        assert self.span is not None
        if self.origin is None:
            self.origin = float(moments[0])
        window = np.floor((moments - self.origin) / self.span.size).astype(np.int64)
        is_first = np.append([self.window], window[:-1]) != window
        self.window = int(window[-1])
        return np.asarray(np.maximum.accumulate(np.append([self.n_due], np.where(is_first, event, 0)))[1:])


class GivenEvents:
    """The first N events of each user (``given``), or all but the last N (``all_but``); no event with neither option.

    Given-N and All-but-N do not score these events: they are given to the model.

    Reference: Breese, Heckerman and Kadie, Empirical analysis of predictive algorithms for collaborative filtering,
    UAI 1998.

    >>> users = np.array([0, 1, 0, 0, 1], np.int32)
    >>> GivenEvents(Prequential(given=2))(users).tolist()
    [True, True, True, False, True]
    >>> GivenEvents(Prequential(all_but=1))(users).tolist()
    [True, True, True, False, False]
    """

    def __init__(self, protocol: Prequential) -> None:
        self.given, self.all_but = protocol.given, protocol.all_but
        self.wanted = self.given > 0 or self.all_but is not None
        self.n_before = np.zeros(0, np.int64)  # events of each user in earlier calls

    def __call__(self, users: Int32) -> Bool:
        """Return a mask of the next events, by their ``users``: true for events that are given.

        With ``all_but``, ``users`` must have all events that are still to come.
        """
        if not self.wanted:
            return np.zeros(users.size, np.bool_)
        position, size = positions_in_groups(users), np.bincount(users)
        if self.all_but is not None:
            return np.asarray(size[users] - position > self.all_but)
        self.n_before = grown(self.n_before, size.size)
        is_given = self.n_before[users] + position < self.given
        self.n_before[: size.size] += size
        return np.asarray(is_given)


@njit(cache=True, nogil=True)
def consume(
    users: Int32, items: Int32, start: Int64, length: Int64, pool: Int32, n_before: Int64, repeated: Bool
) -> None:
    """Write to ``n_before[e]`` how many items the user of event e had before it.

    ``repeated[e]`` gets whether the item of event e was one of them. A new item is then added to the user's list:
    ``pool[start[u]:start[u] + length[u]]`` are the items of user u, with room for more. A slow, readable implementation
    in ``tests/property/test_streams.py`` must give the same results.
    """
    for event in range(users.size):
        user, item = users[event], items[event]
        n_before[event] = length[user]
        found = False
        for consumed in pool[start[user] : start[user] + length[user]]:
            found |= consumed == item
        repeated[event] = found
        if not found:
            pool[start[user] + length[user]] = item
            length[user] += 1
