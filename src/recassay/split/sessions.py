"""A log becomes sequences: what a user did without a long pause is one of them.

    time              0  3  5  9  11 12 14      sessions(gap=8)          sessions(gap=8, inclusive=True)
    Ann               b  a  .  .  c  d  a       b a | c d a              b a c d a
    Bob               c  .  b  .  .  .  .       c b                      c b
    Carol             .  .  .  a  .  .  .       in no sequence           in no sequence

Ann's pause from 3 to 11 is 8 long: exactly the gap, which ends a sequence unless it is inclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recassay.data.interactions import Interactions
from recassay.data.layout import order_within
from recassay.data.order import order_of
from recassay.data.sequences import ALONE, Sequences, no_sequence
from recassay.data.time_kind import TimeKind, require_times
from recassay.data.times import Moments, times
from recassay.errors import InputError, RecassayError, UsageError
from recassay.split.base import Cut
from recassay.split.in_parts import Elsewhere, Rows, elsewhere
from recassay.split.lots import events

TICKS = 1e6  # of a second: what the times of a log of dates are exact to
INT32 = 1 << 31  # rows from here on need longer numbers
EXACT = 1 << 53  # whole numbers below it are floating point numbers too


class Sequencing(Cut):
    """Base of what makes sequences of a log and of what cuts sequences into folds."""


class Sequencer(Sequencing):
    """Base of what makes sequences of a log: each is of one user."""

    def made(self, log: Interactions) -> Sequences:
        """The sequences of some users, who may have none."""
        raise NotImplementedError(f"{type(self).__name__} must say what belongs together")

    @overload
    def __call__(self, log: Interactions) -> Sequences: ...
    @overload
    def __call__(self, log: Elsewhere) -> Any: ...
    def __call__(self, log: Interactions | Elsewhere) -> Any:
        """The sequences of a log."""
        if not isinstance(log, Interactions):
            require_times(elsewhere(log, str(self)), self.needs, self)
            return elsewhere(log, str(self)).sequences(self)
        require_times(log, self.needs, self)
        found = self.made(log)
        if not len(found):
            raise self.none_made(len(log), log.n_users, log.origin)
        return found

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """The error for a log that has no sequence."""
        raise NotImplementedError(f"{type(self).__name__} must say why there are none")


@dataclass(frozen=True, repr=False)
class ReadyMade(Sequencer):
    """The log is of sequences already, such as playlists: all events of one user id are one of them.

    Name the column of sequences as that of users when the log is read: ``columns={"user": "playlist"}``. Events stand
    by time where there are times, else as they come. An event that is alone in its sequence is left out and counted.

    >>> import polars as pl
    >>> rows = [(7, "b"), (9, "a"), (7, "a"), (8, "c"), (9, "c")]
    >>> made = ReadyMade()(Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row")))
    >>> made.histories.rows(), dict(made.removed)
    ([[1, 0], [0, 2]], {'item alone in its sequence': 1})
    """

    name: ClassVar[str] = "ready_made"

    def made(self, log: Interactions) -> Sequences:
        """The sequences of some users."""
        if not len(log) or events(log).max() < 2:
            return nothing_of(log, {ALONE: len(log)})
        frame = log.frame().rename({"user_id": "sequence_id"})
        return Sequences.from_frame(frame, origin=log.origin, kind=log.times)

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """The error for a log that has no sequence."""
        return no_sequence(rows, users, origin)


@dataclass(frozen=True, repr=False)
class Sessions(Sequencer):
    """Events of a user belong together while each comes less than ``gap`` after the one before it. Needs clock times.

    ``gap`` is in the unit of the log's times, which is seconds where these are dates; ``inclusive=True`` lets a pause
    of exactly the gap join too. A sequence has two events or more: one on its own is in no sequence, and counted in
    ``removed``. Sequences stand in the order of user id, then time, and I is what occurs in one of them.

    Events of a user at the same time are joined in row order, and the same item may come again, also at once.
    ``ties="drop"`` keeps the first event of a user and time, ``"error"`` refuses them. A log is filtered before, with
    ``split.filters``: "rated(at_least=4), once(users=10, items=50, first='users')", say.

    Reference: Monti, Palumbo, Rizzo, Morisio, Sequeval: an offline evaluation framework for sequence-based recommender
    systems, Information 2019. Its algorithm 1, as its authors' program has it: taken literally, what is printed loses
    the last sequence of every user.

    >>> import polars as pl
    >>> rows = [("ann", "b", 0), ("ann", "a", 3), ("ann", "c", 11), ("ann", "d", 12), ("bob", "a", 9)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> made = Sessions(gap=8)(log)
    >>> made.frame().rows(), dict(made.removed)
    ([(0, 'ann', 'b', 0), (0, 'ann', 'a', 3), (1, 'ann', 'c', 11), (1, 'ann', 'd', 12)], {'event on its own': 1})
    """

    name: ClassVar[str] = "sessions"

    gap: float
    inclusive: bool = False
    ties: Literal["join", "drop", "error"] = "join"

    def validate(self) -> None:
        """A gap has a length."""
        if self.gap <= 0:
            raise self.refuse("gap", "every event would stand on its own", "sessions(gap=3600) for an hour of seconds")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "clock"

    def made(self, log: Interactions) -> Sequences:
        """The sequences of some users."""
        time, gap = _clock(log, self.gap)
        order = _by_user_and_time(log.users, time)
        removed = {}
        if self.ties != "join":
            repeated = self._repeated(log, order, time)
            removed["same user and time"] = int(np.count_nonzero(repeated))
            order = order[~repeated]
        users, time = log.users[order], time[order]
        pause = time[1:] - time[:-1]
        near = (users[1:] == users[:-1]) & ((pause <= gap) if self.inclusive else (pause < gap))
        follows, leads = np.append(False, near)[: order.size], np.append(near, False)[: order.size]
        kept = follows | leads
        begins = np.flatnonzero(~follows[kept])
        order, users = order[kept], users[kept]
        item_vocabulary, items = log.item_vocabulary.without_unused(log.items[order])
        user_vocabulary, users = log.user_vocabulary.without_unused(users[begins])
        return Sequences(
            np.append(begins, order.size),
            items,
            users,
            _plain(times(log))[order],
            item_vocabulary,
            user_vocabulary,
            log.origin,
            {**removed, "event on its own": int(kept.size - order.size)},
            log.times,
        )

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """The error for a log in which no two events are close."""
        what = f"of {rows:,} rows of {users:,} users no two are closer than {self.gap:g}"
        return UsageError("U116", what, where=str(self), hint="choose a longer gap, in the unit of the timestamps")

    def _repeated(self, log: Interactions, order: NDArray[np.integer], time: Moments) -> Rows:
        """Which rows, in order, have the user and time of the row before; refused if they are to be an error."""
        same = (np.diff(log.users[order]) == 0) & (np.diff(time[order]) == 0)
        if self.ties == "error" and same.any():
            first = order[1:][same][0]
            user = log.user_vocabulary.decode(log.users[[first]])[0]
            raise InputError(
                "I353",
                f"{np.count_nonzero(same):,} of {len(log):,} events are at the time of another of the same user, the "
                f"first of user {user!r} at {times(log)[first]}",
                where=log.origin or str(self),
                hint="ties='join' takes them in row order, ties='drop' keeps the first",
            )
        return np.append(False, same)[: order.size]


def nothing_of(log: Interactions, removed: Mapping[str, int]) -> Sequences:
    """No sequence of a log."""
    none = np.empty(0, np.int32)
    time = None if log.timestamps is None else _plain(times(log))[:0]
    item_vocabulary, items = log.item_vocabulary.without_unused(none)
    user_vocabulary, users = log.user_vocabulary.without_unused(none)
    offsets = np.zeros(1, np.int64)
    vocabularies = (item_vocabulary, user_vocabulary)
    return Sequences(offsets, items, users, time, *vocabularies, log.origin, removed, log.times)


def _clock(log: Interactions, gap: float) -> tuple[Moments, float]:
    """Times and gap as numbers whose differences are exact: dates in microseconds, whole numbers as they are."""
    time = _plain(times(log))
    if log.timestamps is not None and log.timestamps.dtype.is_temporal():
        return np.rint(time * TICKS).astype(np.int64), round(gap * TICKS)
    return time, gap


def _plain(time: NDArray[Any]) -> Moments:
    """Times in 64 bits."""
    if time.dtype.kind == "f":
        return time.astype(np.float64, copy=False)
    return time.astype(np.int64, copy=False)


def _by_user_and_time(users: NDArray[np.int32], time: Moments) -> NDArray[np.integer]:
    """The stable order of rows by user and time; quick where rows stand by user and time already, or by time."""
    if np.all((users[1:] > users[:-1]) | ((users[1:] == users[:-1]) & (time[1:] >= time[:-1]))):
        return np.arange(users.size)
    if time.dtype.kind == "i" and int(time.max()) - int(time.min()) >= EXACT:
        return order_of(users, (time,))
    keys = time if time.dtype.kind == "f" else (time - time.min()).astype(np.float64)
    numbers = np.arange(users.size + 1, dtype=np.int32 if users.size < INT32 else np.int64)
    table = csr_array((keys, users, numbers), shape=(users.size, int(users.max()) + 1))
    grouped = table.tocsc()  # which counts, and so sorts in one pass
    within, _ = order_within(grouped.indptr.astype(np.int64), grouped.data)
    order: NDArray[np.int32] = grouped.indices
    return order if within is None else order[within]
