"""Splits by time; an interval [t, t + d[ includes t and excludes t + d.

    time            1  2  3  4  5      global_time(at=4)       last(n=1)
    Ann             a  .  b  .  c      train a b | test c      train a b | test c
    Bob             .  a  .  b  .      train a   | test b      train a   | test b
    Carol           a  .  .  .  .      train a                 train a

                                       windows(length=2, first=2)
    window [2, 4[                      train Ann a, Carol a                | test Ann b, Bob a | later: Ann c, Bob b
    window [4, 6[                      train Ann a b, Bob a, Carol a       | test Ann c, Bob b

Times and lengths are in the unit of the log for numbers, and in seconds for dates. For dates, a time may be a text such
as '2024-05-31'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import Keys, float_from_key, ordered_keys, positions_in_groups
from recassay.columnar.times import TimeKind
from recassay.data.fold import Leakage
from recassay.data.interactions import Interactions
from recassay.data.times import parse_instant, row_times
from recassay.errors import UsageError
from recassay.naming.named import AT_LEAST_0, BELOW_1, COUNT, INSIDE, POSITIVE
from recassay.split.base import RowAssignment, Split
from recassay.split.partitions import Extent, PartitionedLog, events_per_user, find_boundaries

MOST_WINDOWS = 1000


@dataclass(frozen=True, repr=False)
class GlobalTime(Split):
    """Training before a point in time, test from it on: the time ``at``, or the time of a quantile of the rows.

    Needs an order of all events. Leakage: none. Nothing is removed. ``validation`` is the share of the earlier rows
    that come last. Rows of one time always stay together, so shares are only as exact as this allows.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> GlobalTime(at=4)(log)[0].test.frame().rows()
    [('ann', 'c', 5), ('bob', 'b', 4)]
    """

    name: ClassVar[str] = "global_time"
    times: ClassVar[TimeKind | None] = "global"
    leakage: ClassVar[Leakage] = "none"

    at: float | str | None = None
    quantile: Annotated[float | None, INSIDE] = None
    validation: Annotated[float, BELOW_1] = 0.0

    def validate(self) -> None:
        """Raise an error unless exactly one of ``at`` and ``quantile`` is given."""
        if (self.at is None) == (self.quantile is None):
            raise self.refuse("at", "give either at= or quantile=", "global_time(quantile=0.8)")

    def facts(self, log: PartitionedLog) -> tuple[float, int | None]:
        """Return the time at which test begins, and the sort key at which validation begins (None: no validation)."""
        if self.quantile is None:
            assert self.at is not None
            at = parse_instant(self.at, str(self), log.time_scale)
        else:
            at = float_from_key(find_boundaries(log, _times_before, _at_quantile(self.quantile))[0].key)
        if not self.validation:
            return at, None
        keys = partial(_times_before, at=at)
        return at, find_boundaries(log, keys, _at_quantile(1 - self.validation))[0].key

    def cuts(self, log: Interactions, facts: tuple[float, int | None]) -> Iterator[RowAssignment]:
        """Yield one assignment: rows at or after the cut time are test, and the last rows before it are validation.

        ``facts`` has the cut time and the sort key of validation.
        """
        time, (at, begin) = row_times(log), facts
        test = time >= at
        validation = None if begin is None else ~test & (ordered_keys(time) >= np.uint64(begin))
        yield RowAssignment(test, validation, info={"cut": at})


def _times_before(log: Interactions, at: float | None = None) -> Keys:
    """Return the times of the rows that are earlier than ``at``, or of all, as integer sort keys in the same order."""
    time = row_times(log)
    return ordered_keys(time.astype(np.float64, copy=False) if at is None else time[time < at])


def _at_quantile(quantile: float) -> Callable[[int], list[int]]:
    """Return a function from n to [rank of the quantile among n sorted values], which is ceil((n - 1) * quantile).

    Ranks are from 0.

    >>> _at_quantile(0.5)(6), _at_quantile(0.5)(7)
    ([3], [3])
    """
    return lambda n: [int(np.ceil((n - 1) * quantile))]


@dataclass(frozen=True, repr=False)
class Last(Split):
    """The last ``n`` events of each user for test, and the ``validation`` events before them for validation.

    This is All-but-N by time. Needs an order within each user. Leakage: per user; training events of other users may be
    later. Nothing is removed: a user with n + validation events or fewer keeps all of them for training. Events of a
    user at the same time are in row order; ``how["ties"]`` counts users with such a tie across a boundary.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> fold = Last(n=1)(log)[0]
    >>> fold.test.frame().rows(), fold.how["ties"]
    ([('ann', 'c', 5), ('bob', 'b', 4)], 0)
    """

    name: ClassVar[str] = "last"
    times: ClassVar[TimeKind | None] = "user"
    leakage: ClassVar[Leakage] = "per user"

    n: Annotated[int, COUNT] = 1
    validation: Annotated[int, AT_LEAST_0] = 0

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield one assignment: the last ``n`` rows of each user are test."""
        time, size = row_times(log), events_per_user(log)
        from_end = size[log.users] - 1 - positions_in_groups(log.users, time)
        enough = (size > self.n + self.validation)[log.users]
        validation = enough & (from_end < self.n + self.validation) if self.validation else None
        tied = np.zeros(log.n_users, np.bool_)
        for cut in {self.n, self.n + self.validation}:
            inner, outer = (np.full(log.n_users, np.nan) for _ in range(2))
            for side, place in ((inner, cut - 1), (outer, cut)):
                rows = enough & (from_end == place)
                side[log.users[rows]] = time[rows]
            tied |= inner == outer
        yield RowAssignment(enough & (from_end < self.n), validation, counts={"ties": int(tied.sum())})


@dataclass(frozen=True, repr=False)
class Windows(Split):
    """Test windows of equal length that move along the log; training is what is earlier than each window.

    Window j is [first + j * step, first + j * step + length[, up to the last one that begins no later than the last
    event. ``step`` defaults to ``length``, ``first`` to the earliest time + ``length``. ``train`` limits training to
    that length of time before the window. Needs clock times. Leakage: none. Rows later than the window, or earlier than
    the training period, are removed. A window without training or test events is skipped, but keeps its number.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> for fold in Windows(length=2, first=2)(log):
    ...     print(fold.number, fold.train.timestamps.to_list(), fold.test.timestamps.to_list(), fold.removed["later"])
    0 [1, 1] [3, 2] 2
    1 [1, 3, 2, 1] [5, 4] 0
    """

    name: ClassVar[str] = "windows"
    times: ClassVar[TimeKind | None] = "clock"
    leakage: ClassVar[Leakage] = "none"

    length: Annotated[float, POSITIVE]
    step: Annotated[float | None, POSITIVE] = None
    first: float | str | None = None
    train: Annotated[float | None, POSITIVE] = None

    def facts(self, log: PartitionedLog) -> list[Window]:
        """Return the windows that get a fold: those with events in both the training and the test period."""
        span = log.total(_extent)
        step = self.length if self.step is None else self.step
        if not span.n:
            return []
        given = self.first
        first = span.low + self.length if given is None else parse_instant(given, str(self), log.time_scale)
        count = int((span.high - first) // step) + 1
        if count > MOST_WINDOWS:
            what = f"a log can have at most {MOST_WINDOWS:,} windows, got {count:,}"
            raise UsageError("U102", what, where=str(self), hint=f"step={(span.high - first) / 10:.6g} makes about 10")
        begins = [first + number * step for number in range(count)]
        windows = [
            Window(number, None if self.train is None else begin - self.train, begin, begin + self.length)
            for number, begin in enumerate(begins)
        ]
        earlier = log.total(partial(_earlier, windows))
        counts = zip(windows, *earlier.tolist(), strict=True)
        return [window for window, before, begin, end in counts if before < begin < end]

    def cuts(self, log: Interactions, facts: list[Window]) -> Iterator[RowAssignment]:
        """Yield one assignment per window of ``facts``: its events are test, and later events are removed."""
        time = row_times(log)
        for window in facts:
            early = np.zeros(time.size, np.bool_) if window.from_ is None else time < window.from_
            removed = {"later": time >= window.end, "earlier": early}
            test = (time >= window.begin) & (time < window.end)
            yield RowAssignment(test, removed=removed, info={"begin": float(window.begin)}, number=window.number)


class Window(NamedTuple):
    """A test window and its training period: training is [from_, begin[, and test is [begin, end[.

    With ``from_`` None training has no lower limit.
    """

    number: int
    from_: Any
    begin: Any
    end: Any


def _extent(log: Interactions) -> Extent:
    return Extent.of(row_times(log))


def _earlier(windows: Sequence[Window], log: Interactions) -> NDArray[np.int64]:
    """Return the numbers of rows before the training period, the window, and the window's end: (3, windows).

    A row counts if its time is earlier; the three counts are those of each window.
    """
    time, found = row_times(log), np.zeros((3, len(windows)), np.int64)
    for row, edge in zip(found, ("from_", "begin", "end"), strict=True):
        edges = [getattr(window, edge) for window in windows]
        if edges and edges[0] is not None:
            passed = np.searchsorted(np.array(edges), time, side="right")
            row[:] = np.cumsum(np.bincount(passed, minlength=len(windows) + 1))[:-1]
    return found
