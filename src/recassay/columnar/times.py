"""Times of a log: the kinds of them, what each can order, and the magnitudes that reveal mixed units.

    clock    instants: events can be ordered and durations measured
    global   an order of all events, such as row numbers: no durations
    user     an order within each user, such as positions in a history: events of two users cannot be compared
    None     the log has no column of times

The kind is set once, when a log is read: :func:`infer_kind` infers it unless the user states it. An operation that
uses times declares with ``needs`` the weakest kind it accepts, and calls :func:`require_times`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any, Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.columns import normalised_name
from recassay.columnar.identity import mix
from recassay.errors import InputError, UsageError
from recassay.naming import choices
from recassay.naming.grammar import suggest

TimeKind = choices.TimeKind  # strongest first
KINDS: dict[str | None, str] = {
    "clock": "clock times",
    "global": "an order of all events",
    "user": "an order within each user only",
    None: "no times",
}
NEEDS: dict[str, str] = {"clock": KINDS["clock"], "global": KINDS["global"], "user": "an order within each user"}
STRENGTH: dict[str | None, int] = {"clock": 3, "global": 2, "user": 1, None: 0}
ALTERNATIVES = {  # splits that work with the kind of times a log has
    "user": "last(n=1) or a random split such as random(test=0.2)",
    "global": "global_time(quantile=0.8), last(n=1) or a random split",
}
# Names of columns that hold positions, normalised: lower case, without dashes and underscores.
ORDER_NAMES = "pos position order idx index rank seq sequence sequencenumber step row rownumber ordernumber eventnumber"
YEARS, DATES = (1900, 2100), (19_000_101, 21_001_231)  # years, and dates written as whole numbers
BLOCK = 1 << 20
EARLIEST = 10**8  # March 1973 in seconds since 1970: smaller numbers are not seconds since 1970 in any log
FUTURE = 4_102_444_800  # 2100, in seconds
UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
# Band 0 is below EARLIEST; each unit then has two bands: times up to 2100 and times after it.
EDGES = tuple(edge * unit for unit in UNITS.values() for edge in (EARLIEST, FUTURE))
YEAR = 366 * 86_400
APART = 100  # in one unit, times of neighbouring bands differ by at most this factor


@dataclass(frozen=True)
class TimeScale:
    """The count, minimum and maximum of a log's times in each band of magnitudes.

    Each unit of times since 1970 (seconds, milliseconds, ...) has two bands: times up to the year 2100 and later ones.
    Band 0 has numbers too small to be times since 1970. ``dates`` is True for a column of dates, which are in seconds.
    """

    counts: tuple[int, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    dates: bool = False

    @classmethod
    def of(cls, timestamps: pl.Series | None) -> TimeScale:
        """Return the counts, minima and maxima of a column of times; missing, NaN and infinite times are left out.

        >>> TimeScale.of(pl.Series([5, 978_300_760, 978_300_800])).counts
        (1, 2, 0, 0, 0, 0, 0, 0, 0)
        """
        if timestamps is None or not (timestamps.dtype.is_numeric() or timestamps.dtype.is_temporal()):
            return cls()
        values, dates = known_numbers(timestamps), timestamps.dtype.is_temporal()
        edges = np.array(EDGES[:2] if dates else EDGES, np.float64)
        n = edges.size + 1
        counts, lows, highs = np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, -np.inf)
        if values.size:
            low, high = (int(np.searchsorted(edges, end, side="right")) for end in (values.min(), values.max()))
            if low == high:  # the usual case
                counts[low], lows[low], highs[low] = values.size, values.min(), values.max()
            else:
                band = np.searchsorted(edges, values, side="right")
                counts = np.bincount(band, minlength=n)
                np.minimum.at(lows, band, values)
                np.maximum.at(highs, band, values)
        return cls(tuple(counts.tolist()), tuple(lows.tolist()), tuple(highs.tolist()), dates)

    def __add__(self, other: TimeScale) -> TimeScale:
        if not (self.counts and other.counts):
            return self if self.counts else other
        pairs = (add, self.counts, other.counts), (min, self.lows, other.lows), (max, self.highs, other.highs)
        counts, lows, highs = (tuple(map(combine, ours, theirs)) for combine, ours, theirs in pairs)
        return TimeScale(counts, lows, highs, self.dates)

    @property
    def unit(self) -> str | None:
        """Return the unit of most times; None if all numbers are too small to be times since 1970."""
        if not any(self.counts) or not any(self.counts[1:]):
            return None
        return list(UNITS)[(self._main - 1) // 2]

    @property
    def _main(self) -> int:
        """Return the number of the band with most times, other than band 0."""
        return 1 + int(np.argmax(self.counts[1:]))


def known_numbers(timestamps: pl.Series) -> NDArray[Any]:
    """Return the times of a column as numbers, without missing and infinite ones; dates become seconds since 1970."""
    known = timestamps.drop_nulls()
    if known.dtype.is_temporal():
        return known.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6
    values: NDArray[Any] = known.to_numpy()
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def check_scale(scale: TimeScale, where: str) -> None:
    """Raise if times cannot all be right: two units (I387), or some far away from all others (I387).

    ``scale`` has their counts and limits by magnitude, and ``where`` names the table.
    """
    found = [band for band, count in enumerate(scale.counts) if count]
    if len(found) < 2 or found == [0]:
        return
    main = scale._main
    low, high = scale.lows[main], scale.highs[main]

    def wrong(band: int, what: str, hint: str) -> InputError:
        share = f"{scale.counts[band]:,} of {sum(scale.counts):,} times are"
        return InputError("I387", f"{share} {what}", where=where, hint=hint)

    for band in found:
        if band not in (0, main) and (problem := _unit_mismatch(scale, main, band)):
            raise wrong(band, problem, "convert all times to one unit before reading the log")
    if 0 in found:
        if scale.lows[0] < -1 or scale.highs[0] > 1:
            return  # a clock that starts at 0, in an unknown unit
        if low - scale.highs[0] > high - low:
            raise wrong(
                0,
                f"{scale.highs[0]:g}, and all others {low:.12g} or more",
                "0 probably marks a missing time: drop these rows, or give them a time",
            )
    for band in found:
        if band > main and scale.lows[band] - high > high - low:
            raise wrong(
                band,
                f"{scale.lows[band]:.12g} or more, and all others at most {high:.12g}",
                "a time after 2100 probably marks a missing time: drop these rows, or give them a time",
            )


def _unit_mismatch(scale: TimeScale, main: int, band: int) -> str:
    """Return a phrase that says that the times in a band are in another unit than those in the ``main`` band.

    It says how many times larger or smaller they are, with examples. It is "" unless both bands cover about the same
    years once each is read in its own unit.
    """
    if scale.dates:
        return ""
    small, large = sorted((main, band))
    if scale.lows[large] < APART * scale.highs[small]:
        return ""
    ours, theirs = ([*UNITS.values()][(number - 1) // 2] for number in (main, band))
    early = scale.lows[band] / theirs <= scale.highs[main] / ours + 10 * YEAR
    late = scale.highs[band] / theirs >= scale.lows[main] / ours - 10 * YEAR
    if ours == theirs or not (early and late):
        return ""
    size = f"{theirs // ours:,} times larger" if theirs > ours else f"{ours // theirs:,} times smaller"
    return f"{size} than the others: {scale.lows[band]:.12g} and {scale.lows[main]:.12g}"


class HasTimes(Protocol):
    """A log with times, in memory or on Spark."""

    @property
    def times(self) -> TimeKind | None:
        """Return the kind of times (clock, global or user); None means that there are none."""

    @property
    def origin(self) -> str:
        """Return where the log comes from, for error messages."""

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""


def require_times(
    log: HasTimes, needs: TimeKind | None, where: object, *, missing: str = "I201", instead: str = ""
) -> None:
    """Raise an error if the times of a log are weaker than ``needs`` (I385) or cannot be right (I387).

    Kinds from weak to strong are: positions in each user's history (user), one order of all events (global), and
    instants (clock). ``where`` names the operation that needs times, ``missing`` is the error code for a log without
    times, and ``instead`` suggests an alternative in the hint.
    """
    if needs is None:
        return
    if log.times is None:
        raise InputError(
            missing,
            f"the log has no timestamps, and {where} needs {NEEDS[needs]}",
            where=log.origin or str(where),
            hint="name the column of times or positions (columns={'timestamp': ...}), or "
            + (instead or "take a random split such as random(test=0.2)"),
        )
    require_order(log.times, needs, where, log.origin, instead)
    if log.times == "clock":
        check_scale(log.time_scale, log.origin)


def require_order(kind: TimeKind | None, needs: TimeKind | None, where: object, origin: str, instead: str = "") -> None:
    """Raise I385 if times of this ``kind`` are weaker than ``needs``; the other arguments are for its message.

    ``where`` names the operation that needs times, ``origin`` the log, and ``instead`` an alternative.
    """
    if kind is None or needs is None or STRENGTH[kind] >= STRENGTH[needs]:
        return
    take = instead or f"take {ALTERNATIVES[kind]}"
    raise InputError(
        "I385",
        f"the times of the log are {KINDS[kind]}, and {where} needs {NEEDS[needs]}",
        where=origin or str(where),
        hint=f"{take}; if the column has {NEEDS[needs]}, pass times='{needs}' when reading the log",
    )


def validated_kind(times: str | None, *, has_times: bool, where: str = "") -> TimeKind | None:
    """Return ``times``, the kind of times that the user stated, after checking it.

    Raise U107 for an unknown kind, and U102 for a log without times.

    >>> validated_kind("user", has_times=True)
    'user'
    """
    if times is None:
        return None
    if times not in get_args(TimeKind):
        raise UsageError("U107", f"unknown times={times!r}", where=where, hint=suggest(times, get_args(TimeKind)))
    if not has_times:
        raise UsageError(
            "U102",
            f"times={times!r} was given for a log that has no column of times",
            where=where,
            hint="name the column (columns={'timestamp': ...}), or leave times= out",
        )
    return times  # type: ignore[return-value]


def is_position_column(name: str) -> bool:
    """Return whether a column of this name holds positions rather than instants.

    >>> is_position_column("pos"), is_position_column("order_number"), is_position_column("timestamp")
    (True, True, False)
    """
    return normalised_name(name) in ORDER_NAMES.split()


@dataclass(frozen=True)
class Positions:
    """Statistics of a column of small whole numbers that tell whether they are positions or times.

    The statistics of disjoint groups of users add up. ``n`` is the number of values, ``low`` and ``high`` their minimum
    and maximum. ``lows`` are the smallest and the largest of the users' lowest values. ``gapless`` is True if the
    values of each user are consecutive and distinct. ``several`` counts users with more than one event. ``digest`` is a
    sum of hashed values, modulo 2^64. ``whole`` is True if all values are whole numbers, ``calendar`` if all are years
    or dates.
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
        """Return the statistics of the times of some users' rows; ``users`` is the user code of each row."""
        known = timestamps.is_not_null()
        users, values = users[known.to_numpy()], timestamps.filter(known).to_numpy()
        if not values.size:
            return cls()
        if values.dtype.kind == "f" and (not np.isfinite(values).all() or (values != np.floor(values)).any()):
            return cls(values.size, whole=False, gapless=False, calendar=False)
        values = values.astype(np.int64, copy=False)
        lowest, highest = np.full(int(users.max()) + 1, np.iinfo(np.int64).max), np.full(int(users.max()) + 1, -1)
        np.minimum.at(lowest, users, values)
        np.maximum.at(highest, users, values)
        size = np.bincount(users)
        there = size > 0
        gapless = bool((highest - lowest + 1 == size)[there].all())
        if gapless:  # then the values of a user with n events lie within n consecutive numbers: are they distinct?
            gapless = int(np.bincount((np.cumsum(size) - size - lowest)[users] + values).max()) == 1
        lowest, size = lowest[there], size[there]
        ends, lows = (int(values.min()), int(values.max())), (int(lowest.min()), int(lowest.max()))
        several, calendar = int((size > 1).sum()), _is_calendar(values)
        digest = _digest(values[at : at + BLOCK] for at in range(0, values.size, BLOCK))
        return cls(values.size, *ends, lows, gapless, several, digest, True, calendar)

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
    def are_row_numbers(self) -> bool:
        """Return whether the values are n consecutive numbers, each occurring once."""
        ends = range(self.low, self.high + 1, BLOCK)
        numbers = (np.arange(at, min(at + BLOCK, self.high + 1), dtype=np.int64) for at in ends)
        return self.whole and self.n > 0 and self.high - self.low + 1 == self.n and self.digest == _digest(numbers)

    @property
    def restart_per_user(self) -> bool:
        """Return whether the times of every user are 0, 1, 2, ..., or those of every user 1, 2, 3, ...

        The rows of a user may be in any order. At least two users must have more than one event.
        """
        return self.gapless and self.several > 1 and self.lows in ((0, 0), (1, 1))


def kind_of_positions(positions: Positions, *, named: bool) -> TimeKind:
    """Return the kind of times (clock, global or user) of small whole numbers, judged by their statistics.

    ``named`` says that the name of the column or the format of the file indicates positions.

    >>> users = np.array([0, 0, 1, 1, 1], np.int32)
    >>> of = lambda *values: kind_of_positions(Positions.of(users, pl.Series(values)), named=False)
    >>> of(0, 1, 0, 1, 2), of(3, 1, 2, 5, 4), of(3, 10, 4, 5, 5), of(1998, 2001, 2003, 2003, 2004)
    ('user', 'global', 'clock', 'global')
    """
    if positions.are_row_numbers and positions.low in (0, 1):
        return "global"
    if named or positions.restart_per_user:
        return "user"
    return "global" if positions.calendar and positions.n else "clock"


def infer_kind(users: NDArray[np.int32], timestamps: pl.Series | None, *, named: bool = False) -> TimeKind | None:
    """Return the kind of times (clock, global or user) of a whole log.

    It is inferred from their type, magnitude, column name and values. ``named`` says that the name of the column or the
    format of the file indicates positions.
    """
    if timestamps is None:
        return None
    if not timestamps.dtype.is_numeric():
        return "clock"  # dates; for what is no time, the verb that needs times raises an error
    numbers = known_numbers(timestamps)
    if numbers.size and float(numbers.max()) >= EARLIEST:
        return "global" if is_calendar_time(numbers) else "clock"
    return kind_of_positions(Positions.of(users, timestamps), named=named)


def _digest(blocks: Iterable[NDArray[np.int64]]) -> int:
    """Return a sum of hashed whole numbers, modulo 2^64, which does not depend on their order."""
    return sum(int(mix(values.view(np.uint64)).sum()) for values in blocks) % 2**64


def _is_calendar(values: NDArray[np.int64]) -> bool:
    """Return whether whole numbers are years (2020) or dates (20200531), whose differences are not durations."""
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
