"""What the times of a log can tell, and the one check that refuses a log whose times tell too little.

    clock    instants: events can be ordered and lengths of time measured
    global   an order of all events, such as row numbers: no lengths of time
    user     an order within each user, such as positions in a history: nothing between two users
    None     the log has no column of times

The kind is decided once, when a log is read (:func:`kind_of`), or said by the user. Every verb that looks at times
says with ``needs`` the weakest kind it accepts, and calls :func:`require_times`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import mix
from recassay.data.time_scale import EARLIEST, TimeScale, numbers_of, refuse_scale
from recassay.errors import InputError, UsageError
from recassay.spec import suggest

TimeKind = Literal["clock", "global", "user"]  # strongest first
KINDS: dict[str | None, str] = {
    "clock": "clock times",
    "global": "an order of all events",
    "user": "an order within each user only",
    None: "no times",
}
NEEDS: dict[str, str] = {"clock": KINDS["clock"], "global": KINDS["global"], "user": "an order within each user"}
STRENGTH: dict[str | None, int] = {"clock": 3, "global": 2, "user": 1, None: 0}
INSTEAD = {  # of what a log lacks, by what it has
    "user": "last(n=1) or a split by chance such as random(test=0.2)",
    "global": "global_time(quantile=0.8), last(n=1) or a split by chance",
}
# Names of columns that hold positions, as they are compared: in lower case, without dashes and underscores.
ORDER_WORDS = "pos position order idx index rank seq sequence sequencenumber step row rownumber ordernumber eventnumber"
ORDER_NAMES = frozenset(ORDER_WORDS.split())
YEARS, DATES = (1900, 2100), (19_000_101, 21_001_231)  # years and dates that are written as whole numbers
BLOCK = 1 << 20


class HasTimes(Protocol):
    """A log, here or on Spark."""

    @property
    def times(self) -> TimeKind | None:
        """What its times can tell."""

    @property
    def origin(self) -> str:
        """Where it comes from."""

    @property
    def time_scale(self) -> TimeScale:
        """How large its times are."""


def require_times(
    log: HasTimes, needs: TimeKind | None, where: object, *, missing: str = "I201", instead: str = ""
) -> None:
    """Raise if the times of a whole log tell less than is needed, or cannot be true: I385, or I387 and I388.

    ``where`` says what needs times. ``missing`` is the code for a log without them, and ``instead`` what else would do.
    """
    if needs is None:
        return
    if log.times is None:
        raise InputError(
            missing,
            f"the log has no timestamps, and {where} needs {NEEDS[needs]}",
            where=log.origin or str(where),
            hint="name the column of times or positions (columns={'timestamp': ...}), or "
            + (instead or "take a split by chance such as random(test=0.2)"),
        )
    require_order(log.times, needs, where, log.origin, instead)
    if log.times == "clock":
        refuse_scale(log.time_scale, log.origin)


def require_order(kind: TimeKind | None, needs: TimeKind | None, where: object, origin: str, instead: str = "") -> None:
    """Raise I385 where times of a kind tell less than is needed."""
    if kind is None or needs is None or STRENGTH[kind] >= STRENGTH[needs]:
        return
    take = instead or f"take {INSTEAD[kind]}"
    raise InputError(
        "I385",
        f"the times of the log are {KINDS[kind]}, and {where} needs {NEEDS[needs]}",
        where=origin or str(where),
        hint=f"{take}; if the column has {NEEDS[needs]}, say times='{needs}' where the log is read",
    )


def known_kind(times: str | None, *, has_times: bool, where: str = "") -> TimeKind | None:
    """The kind that a user has said; U107 for a kind that there is not, U235 for a log without a column of times.

    >>> known_kind("user", has_times=True)
    'user'
    """
    if times is None:
        return None
    if times not in get_args(TimeKind):
        raise UsageError("U107", f"times={times!r} is not known", where=where, hint=suggest(times, get_args(TimeKind)))
    if not has_times:
        raise UsageError(
            "U235",
            f"times={times!r} was said of a log that has no column of times",
            where=where,
            hint="name the column (columns={'timestamp': ...}), or leave times= out",
        )
    return times  # type: ignore[return-value]


def holds_positions(name: str) -> bool:
    """Return whether the name of a column says that it holds positions.

    >>> holds_positions("pos"), holds_positions("order_number"), holds_positions("timestamp")
    (True, True, False)
    """
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "") in ORDER_NAMES


@dataclass(frozen=True)
class Positions:
    """What tells positions from instants in a column of small whole numbers; parts of whole users add up.

    ``lows`` are the least and the greatest first value of a user, ``gapless`` says that the values of every user follow
    each other without gap or tie, ``several`` counts users with more than one event. ``digest`` is a sum of mixed
    values, modulo 2^64.
    """

    n: int = 0
    low: int = 0
    high: int = 0
    lows: tuple[int, int] = (0, 0)
    gapless: bool = True
    several: int = 0
    digest: int = 0
    whole: bool = True
    calendar: bool = True

    @classmethod
    def of(cls, users: NDArray[np.int32], timestamps: pl.Series) -> Positions:
        """Of the rows of some users."""
        known = timestamps.is_not_null()
        users, values = users[known.to_numpy()], timestamps.filter(known).to_numpy()
        if not values.size:
            return cls()
        if values.dtype.kind == "f":
            if not np.isfinite(values).all() or (values != np.floor(values)).any():
                return cls(values.size, whole=False, gapless=False, calendar=False)
            values = values.astype(np.int64)
        values = values.astype(np.int64, copy=False)
        lowest, highest = np.full(int(users.max()) + 1, np.iinfo(np.int64).max), np.full(int(users.max()) + 1, -1)
        np.minimum.at(lowest, users, values)
        np.maximum.at(highest, users, values)
        size = np.bincount(users)
        there = size > 0
        gapless = bool((highest - lowest + 1 == size)[there].all()) and _each_once(users, values, lowest)
        lowest, size = lowest[there], size[there]
        digest = sum(int(mix(values[at : at + BLOCK].view(np.uint64)).sum()) for at in range(0, values.size, BLOCK))
        return cls(
            values.size,
            int(values.min()),
            int(values.max()),
            (int(lowest.min()), int(lowest.max())),
            gapless,
            int((size > 1).sum()),
            digest % 2**64,
            True,
            _is_calendar(values),
        )

    def __add__(self, other: Positions) -> Positions:
        if not (self.n and other.n):
            return self if self.n else other
        return Positions(
            self.n + other.n,
            min(self.low, other.low),
            max(self.high, other.high),
            (min(self.lows[0], other.lows[0]), max(self.lows[1], other.lows[1])),
            self.gapless and other.gapless,
            self.several + other.several,
            (self.digest + other.digest) % 2**64,
            self.whole and other.whole,
            self.calendar and other.calendar,
        )

    @property
    def numbers_all(self) -> bool:
        """Return whether the values are n numbers that follow each other, each once: row numbers."""
        return self.whole and self.n > 0 and self.high - self.low + 1 == self.n and self.digest == _digest_of(self)

    @property
    def within_users(self) -> bool:
        """Whether every user has 0, 1, 2, ... or every user 1, 2, 3, ...; two users at least have more than one."""
        return self.gapless and self.several > 1 and self.lows in ((0, 0), (1, 1))


def kind_of(positions: Positions, *, named: bool) -> TimeKind:
    """What small numbers are; ``named`` says that their column is named, or its format known, for positions.

    >>> users = np.array([0, 0, 1, 1, 1], np.int32)
    >>> of = lambda *values: kind_of(Positions.of(users, pl.Series(values)), named=False)
    >>> of(0, 1, 0, 1, 2), of(3, 1, 2, 5, 4), of(3, 10, 4, 5, 5), of(1998, 2001, 2003, 2003, 2004)
    ('user', 'global', 'clock', 'global')
    """
    if positions.numbers_all and positions.low in (0, 1):
        return "global"
    if named or positions.within_users:
        return "user"
    return "global" if positions.calendar and positions.n else "clock"


def read_kind(users: NDArray[np.int32], timestamps: pl.Series | None, *, named: bool = False) -> TimeKind | None:
    """What the times of a whole log are, by their type, their size, the name of their column and their values."""
    if timestamps is None:
        return None
    if timestamps.dtype.is_temporal():
        return "clock"
    if not timestamps.dtype.is_numeric():
        return "clock"  # nothing can be told of them, and who looks at them says so
    numbers = numbers_of(timestamps)
    if numbers.size and float(numbers.max()) >= EARLIEST:
        return "global" if is_calendar_time(numbers) else "clock"
    return kind_of(Positions.of(users, timestamps), named=named)


def _each_once(users: NDArray[np.int32], values: NDArray[np.int64], lowest: NDArray[np.int64]) -> bool:
    """Return whether users whose values span no more numbers than they have events have each of these numbers once."""
    size = np.bincount(users)
    slots = (np.cumsum(size) - size - lowest)[users] + values
    return int(np.bincount(slots).max()) == 1


def _digest_of(positions: Positions) -> int:
    """The digest of all numbers from low to high."""
    total = 0
    for at in range(positions.low, positions.high + 1, BLOCK):
        values = np.arange(at, min(at + BLOCK, positions.high + 1), dtype=np.int64)
        total += int(mix(values.view(np.uint64)).sum())
    return total % 2**64


def _is_calendar(values: NDArray[np.int64]) -> bool:
    """Whether whole numbers are years (2020), or dates as in 20200531: in order, but no lengths of time apart."""
    low, high = int(values.min()), int(values.max())
    if YEARS[0] <= low and high <= YEARS[1]:
        return True
    if not (DATES[0] <= low and high <= DATES[1]):
        return False
    month, day = values // 100 % 100, values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def is_calendar_time(values: NDArray[Any]) -> bool:
    """Return whether numbers are dates with times as in 20200531235959."""
    if float(values.min()) < DATES[0] * 10**6 or float(values.max()) > (DATES[1] + 1) * 10**6:
        return False
    whole = values.astype(np.int64)
    clock: Sequence[tuple[int, int]] = ((1, 60), (100, 60), (10_000, 24))
    fits = all(bool((whole // unit % 100 < below).all()) for unit, below in clock)
    return fits and bool((whole == values).all()) and _is_calendar(whole // 10**6)
