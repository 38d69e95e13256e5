"""Rules that make sequences of a log, such as sessions: events of a user without a long pause between them.

    time              0  3  5  9  11 12 14      sessions(gap=8)          sessions(gap=8, inclusive=True)
    Ann               b  a  .  .  c  d  a       b a | c d a              b a c d a
    Bob               c  .  b  .  .  .  .       c b                      c b
    Carol             .  .  .  a  .  .  .       in no sequence           in no sequence

Ann's pause from 3 to 11 has exactly the length of the gap, which ends a sequence unless ``inclusive`` is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, overload

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.columnar.layout import sorted_within
from recassay.columnar.order import lexsort_groups
from recassay.columnar.times import TimeKind, require_times
from recassay.data.interactions import Interactions
from recassay.data.sequences import SINGLE_ROW, Sequences, no_sequences_error
from recassay.data.times import TimeValues, has_dates, row_times
from recassay.errors import InputError, RecassayError, UsageError
from recassay.naming.named import POSITIVE, Departure
from recassay.split.base import Cut
from recassay.split.partitions import RemoteLog, Rows

TICKS = 1e6  # microseconds in a second: the resolution of dates
INT32 = 1 << 31  # from this number of rows on, row numbers need 64 bits
EXACT = 1 << 53  # integers below it are exact in double precision


class Sequencing(Cut):
    """Base of rules that make sequences of a log, and of splits of sequences; it holds what both share."""


class Sequencer(Sequencing):
    """Base of rules that make sequences of a log; each sequence is of one user."""

    def sequences_of(self, log: Interactions) -> Sequences:
        """Return the sequences in a log of all or of some users; there may be none."""
        raise NotImplementedError(f"{type(self).__name__} must define which events form a sequence")

    @overload
    def __call__(self, log: Interactions) -> Sequences: ...
    @overload
    def __call__(self, log: RemoteLog) -> Any: ...
    def __call__(self, log: Interactions | RemoteLog) -> Any:
        """Return the sequences of a log; raise an error if there are none."""
        if not isinstance(log, Interactions):
            return self.remote(log).sequences(self)
        require_times(log, self.needs, self)
        found = self.sequences_of(log)
        if not len(found):
            raise self.none_made(len(log), log.n_users, log.origin)
        return found

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """Return the error for a log from which the rule makes no sequence.

        ``rows`` and ``users`` are the numbers of rows and users of the log.
        """
        raise NotImplementedError(f"{type(self).__name__} must define the error for no sequences")


@dataclass(frozen=True, repr=False)
class ReadyMade(Sequencer):
    """Sequences that the log already has, such as playlists: all events of one user id form one sequence.

    Read the log with the column of sequence ids as the user column: ``columns={"user": "playlist"}``. Events are
    ordered by time if there are times, else by row. An event that is alone in its sequence is removed and counted.

    >>> import polars as pl
    >>> rows = [(7, "b"), (9, "a"), (7, "a"), (8, "c"), (9, "c")]
    >>> made = ReadyMade()(Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row")))
    >>> made.histories.rows(), dict(made.removed)
    ([[1, 0], [0, 2]], {'item alone in its sequence': 1})
    """

    name: ClassVar[str] = "ready_made"

    def sequences_of(self, log: Interactions) -> Sequences:
        """Return the rows of each user id as one sequence, without sequences of one event."""
        if log.timestamps is None:
            order: NDArray[np.integer] = lexsort_groups(log.users, ())
        else:
            order = by_user_and_time(log.users, _plain(row_times(log)))
        return _sessions_from_links(log, order, np.diff(log.users[order]) == 0, {}, SINGLE_ROW)

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """Return the error for a log without sequences."""
        return no_sequences_error(rows, users, origin)


@dataclass(frozen=True, repr=False)
class Sessions(Sequencer):
    """Sessions: a new one begins when a user pauses for ``gap`` or longer. Needs clock times.

    ``gap`` is in the unit of the log's times, seconds for dates; with ``inclusive=True`` a pause of exactly the gap
    does not end a session. A session has two events or more; single events are removed and counted. Sessions are
    ordered by user id, then time. The catalogue is the items that occur in a session.

    Events of a user at the same time are joined in row order, and an item may be repeated, even immediately.
    ``ties="drop"`` keeps the first event of a user and time, ``"error"`` raises an error. Filter the log first with
    ``split.filters``, for example "rated(at_least=4), once(users=10, items=50, first='users')".

    Reference: Monti, Palumbo, Rizzo, Morisio, Sequeval: an offline evaluation framework for sequence-based recommender
    systems, Information 2019, algorithm 1, as in its authors' program: the printed algorithm, taken literally, loses
    the last sequence of every user.

    >>> import polars as pl
    >>> rows = [("ann", "b", 0), ("ann", "a", 3), ("ann", "c", 11), ("ann", "d", 12), ("bob", "a", 9)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> made = Sessions(gap=8)(log)
    >>> made.frame().rows(), dict(made.removed)
    ([(0, 'ann', 'b', 0), (0, 'ann', 'a', 3), (1, 'ann', 'c', 11), (1, 'ann', 'd', 12)], {'event on its own': 1})
    """

    name: ClassVar[str] = "sessions"
    times: ClassVar[TimeKind | None] = "clock"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "Definition 2 of the paper wants strictly increasing times; recassay joins events of a user at the same "
            "time, in row order, because many clocks are coarse.",
            "sessions(gap=3600, ties='drop')",
        ),
        Departure(
            "sequeval",
            "Algorithm 1 as printed never stores the last sequence of a user; recassay does, as the authors' program "
            "and the example of the paper do.",
        ),
    )

    gap: Annotated[float, POSITIVE]
    inclusive: bool = False
    ties: Literal["join", "drop", "error"] = "join"

    def sequences_of(self, log: Interactions) -> Sequences:
        """Return the sessions of the users of a log, without sessions of one event."""
        time, gap = clock_times(log, self.gap)
        order = by_user_and_time(log.users, time)
        removed = {}
        if self.ties != "join":
            repeated = self._repeated(log, order, time)
            removed["same user and time"] = int(np.count_nonzero(repeated))
            order = order[~repeated]
        users, time = log.users[order], time[order]
        pause = time[1:] - time[:-1]
        near = (users[1:] == users[:-1]) & ((pause <= gap) if self.inclusive else (pause < gap))
        return _sessions_from_links(log, order, near, removed, "event on its own")

    def none_made(self, rows: int, users: int, origin: str) -> RecassayError:
        """Return the error for a log in which every pause is too long."""
        what = f"none of {users:,} users has two of the {rows:,} rows closer in time than {self.gap:g}"
        return UsageError("U116", what, where=str(self), hint="choose a longer gap, in the unit of the timestamps")

    def _repeated(self, log: Interactions, order: NDArray[np.integer], time: TimeValues) -> Rows:
        """Return a mask of the rows, taken in ``order``, that have the same user and time as the row before.

        Raise I353 if there are such rows and ``ties`` is ``"error"``. ``time`` are the times of the rows.
        """
        same = (np.diff(log.users[order]) == 0) & (np.diff(time[order]) == 0)
        if self.ties == "error" and same.any():
            first = order[1:][same][0]
            user = log.user_vocabulary.decode(log.users[[first]])[0]
            raise InputError(
                "I353",
                f"{np.count_nonzero(same):,} of {len(log):,} events have the time of another event of the same user, "
                f"the first of user {user!r} at {row_times(log)[first]}",
                where=log.origin or str(self),
                hint="ties='join' takes them in row order, ties='drop' keeps the first",
            )
        return np.append(False, same)[: order.size]


def _sessions_from_links(
    log: Interactions, order: NDArray[np.integer], near: Rows, removed: Mapping[str, int], alone: str
) -> Sequences:
    """Return the sequences of the rows of a log, taken in ``order``; ``near`` marks rows that the next one continues.

    ``removed`` counts the rows that are not in ``order`` by reason. Rows that join no other are removed too, for the
    reason ``alone``.
    """
    follows, leads = np.append(False, near)[: order.size], np.append(near, False)[: order.size]
    kept = follows | leads
    begins, order = np.flatnonzero(~follows[kept]), order[kept]
    item_vocabulary, items = log.item_vocabulary.without_unused(log.items[order])
    user_vocabulary, users = log.user_vocabulary.without_unused(log.users[order][begins])
    return Sequences(
        np.append(begins, order.size),
        items,
        users,
        None if log.timestamps is None else _plain(row_times(log))[order],
        item_vocabulary,
        user_vocabulary,
        log.origin,
        {**removed, alone: int(kept.size - order.size)},
        log.times,
        has_dates(log),
    )


def clock_times(log: Interactions, gap: float) -> tuple[TimeValues, float]:
    """Return (time of each row, ``gap``) in units in which differences are exact.

    Dates become microseconds; other times are unchanged.
    """
    time = _plain(row_times(log))
    if has_dates(log):
        return np.rint(time * TICKS).astype(np.int64), round(gap * TICKS)
    return time, gap


def _plain(time: NDArray[Any]) -> TimeValues:
    """Return times as 64-bit floats if they are floats, else as 64-bit integers."""
    if time.dtype.kind == "f":
        return time.astype(np.float64, copy=False)
    return time.astype(np.int64, copy=False)


def by_user_and_time(users: NDArray[np.int32], time: TimeValues) -> NDArray[np.integer]:
    """Return row numbers sorted by user and then time; ties keep the order of rows.

    It is fast if rows are already sorted by user and time, or by time.
    """
    if np.all((users[1:] > users[:-1]) | ((users[1:] == users[:-1]) & (time[1:] >= time[:-1]))):
        return np.arange(users.size)
    if time.dtype.kind == "i" and int(time.max()) - int(time.min()) >= EXACT:
        return lexsort_groups(users, (time,))
    keys = time if time.dtype.kind == "f" else (time - time.min()).astype(np.float64)
    numbers = np.arange(users.size + 1, dtype=np.int32 if users.size < INT32 else np.int64)
    table = scipy.sparse.csr_array((keys, users, numbers), shape=(users.size, int(users.max()) + 1))
    grouped = table.tocsc()  # a counting sort by user
    (order,), _ = sorted_within(grouped.indptr.astype(np.int64), grouped.data, [grouped.indices])
    return order
