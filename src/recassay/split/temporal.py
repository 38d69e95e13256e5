"""Splits by time; an interval [t, t + d[ holds its beginning and not its end.

    time            1  2  3  4  5      global_time(at=4)       last(n=1)
    Ann             a  .  b  .  c      train a b | test c      train a b | test c
    Bob             .  a  .  b  .      train a   | test b      train a   | test b
    Carol           a  .  .  .  .      train a                 train a

                                       windows(length=2, first=2)
    window [2, 4[                      train Ann a, Carol a                | test Ann b, Bob a | later: Ann c, Bob b
    window [4, 6[                      train Ann a b, Bob a, Carol a       | test Ann c, Bob b

Times and lengths are in the unit of the log for numbers, in seconds for dates; an instant may then be a text such as
'2024-05-31'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.data.fold import Leakage
from recassay.data.interactions import Interactions
from recassay.data.order import Keys, float_of, ordinals, places
from recassay.data.time_kind import TimeKind
from recassay.data.times import moment, times
from recassay.errors import UsageError
from recassay.split.base import Part, Split
from recassay.split.borders import Border, borders
from recassay.split.in_parts import InParts
from recassay.split.lots import events

MOST_WINDOWS = 1000


@dataclass(frozen=True, repr=False)
class GlobalTime(Split):
    """Train on what is earlier than an instant, test on the rest: ``at`` itself, or the instant of a quantile of rows.

    Needs an order of all events. Leakage: none. Nothing is removed. ``validation`` is a share of the earlier rows: the
    last of them, from the instant of their quantile on. Rows of one instant always stay together, so shares are met as
    nearly as that allows.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> GlobalTime(at=4)(log)[0].test.frame().rows()
    [('ann', 'c', 5), ('bob', 'b', 4)]
    """

    name: ClassVar[str] = "global_time"
    leakage: ClassVar[Leakage] = "none"

    at: float | str | None = None
    quantile: float | None = None
    validation: float = 0.0

    def validate(self) -> None:
        """One instant, given in one way."""
        if (self.at is None) == (self.quantile is None):
            raise self.refuse("at", "give either at= or quantile=", "global_time(quantile=0.8)")
        self.share(*(name for name in ("quantile", "validation") if getattr(self, name)))
        if self.quantile is not None:
            self.share("quantile")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "global"

    def facts(self, log: InParts) -> Cuts:
        """The instants at which test and validation begin."""
        at: float | None = None
        if self.quantile is not None:
            at = float_of(borders(log, _clock, _at_quantile(self.quantile))[0].key)
        if not self.validation:
            return Cuts(at)
        return Cuts(at, borders(log, partial(self._earlier, at), _at_quantile(1 - self.validation))[0])

    def cuts(self, log: Interactions, facts: Cuts) -> Iterator[Part]:
        """One cut."""
        time, at = times(log), self._instant(log, facts.at)
        test, held = time >= at, None
        if facts.held is not None:
            held = ~test & (ordinals(time) >= np.uint64(facts.held.key))
        yield Part(test, held, info={"cut": at})

    def _instant(self, log: Interactions, found: float | None) -> float:
        if found is not None:
            return found
        assert self.at is not None
        return moment(log, self.at, str(self))

    def _earlier(self, found: float | None, log: Interactions) -> Keys:
        """Times of rows that are not test."""
        time = times(log)
        return ordinals(time[time < self._instant(log, found)])


class Cuts(NamedTuple):
    """The instant of a quantile at which test begins, and where validation does in the order of times."""

    at: float | None
    held: Border | None = None


def _clock(log: Interactions) -> Keys:
    return ordinals(times(log).astype(np.float64))


def _at_quantile(quantile: float) -> Callable[[int], list[int]]:
    """The place of a quantile among n; the higher one if it is between two places.

    >>> _at_quantile(0.5)(6), _at_quantile(0.5)(7)
    ([3], [3])
    """
    return lambda n: [int(np.ceil((n - 1) * quantile))]


@dataclass(frozen=True, repr=False)
class Last(Split):
    """The last ``n`` events of each user; the ``validation`` events before them for validation.

    Needs an order within each user. Leakage: per user; others' training events may be later. Nothing is removed: a user
    with too few events (n + validation, or fewer) keeps them all for training. Events of a user at the same time stand
    in row order; how many users have such a tie across a cut is counted in ``how["ties"]``.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> fold = Last(n=1)(log)[0]
    >>> fold.test.frame().rows(), fold.how["ties"]
    ([('ann', 'c', 5), ('bob', 'b', 4)], 0)
    """

    name: ClassVar[str] = "last"
    leakage: ClassVar[Leakage] = "per user"

    n: int = 1
    validation: int = 0

    def validate(self) -> None:
        """Counts are counts."""
        self.count("n", 1)
        self.count("validation", 0)

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "user"

    def cuts(self, log: Interactions, facts: None) -> Iterator[Part]:
        """One cut."""
        time, size = times(log), events(log)
        from_end = size[log.users] - 1 - places(log.users, time)
        enough = (size > self.n + self.validation)[log.users]
        held = enough & (from_end < self.n + self.validation) if self.validation else None
        tied = np.zeros(log.n_users, np.bool_)
        for cut in {self.n, self.n + self.validation}:
            inner, outer = (np.full(log.n_users, np.nan) for _ in range(2))
            for side, place in ((inner, cut - 1), (outer, cut)):
                rows = enough & (from_end == place)
                side[log.users[rows]] = time[rows]
            tied |= inner == outer
        yield Part(enough & (from_end < self.n), held, counts={"ties": int(tied.sum())})


@dataclass(frozen=True, repr=False)
class Windows(Split):
    """Test windows of equal length that move along the log; a system learns from what is earlier than each.

    Window j is [first + j * step, first + j * step + length[, for as long as it begins no later than the last event.
    ``step`` defaults to ``length``, ``first`` to the earliest time + ``length``. With ``train`` a system learns only
    from that length of time before the window. Needs clock times. Leakage: none. Rows later than the window, and
    earlier than ``train`` reaches, are removed. A window without training or test events is passed over; numbers go on
    counting.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> for fold in Windows(length=2, first=2)(log):
    ...     print(fold.number, fold.train.timestamps.to_list(), fold.test.timestamps.to_list(), fold.removed["later"])
    0 [1, 1] [3, 2] 2
    1 [1, 3, 2, 1] [5, 4] 0
    """

    name: ClassVar[str] = "windows"
    leakage: ClassVar[Leakage] = "none"

    length: float
    step: float | None = None
    first: float | str | None = None
    train: float | None = None

    def validate(self) -> None:
        """Lengths of time are positive."""
        for name in ("length", "step", "train"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise self.refuse(name, "a length of time is above 0", f"{name}=86400")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "clock"

    def facts(self, log: InParts) -> list[Window]:
        """The windows that have something to learn from and something to be asked about."""
        span, step = log.total(self._extent), self.length if self.step is None else self.step
        if span.low is None:
            return []
        first = span.low + self.length if span.first is None else span.first
        count = int((span.high - first) // step) + 1
        if count > MOST_WINDOWS:
            what = f"{count:,} windows would be made, and {MOST_WINDOWS:,} are the most"
            raise UsageError("U102", what, where=str(self), hint=f"step={(span.high - first) / 10:.6g} makes about 10")
        windows = [self._window(number, first + number * step) for number in range(count)]
        earlier = log.total(partial(_earlier, windows))
        counts = zip(windows, *earlier.tolist(), strict=True)
        return [one for one, before, begin, end in counts if before < begin < end]

    def cuts(self, log: Interactions, facts: list[Window]) -> Iterator[Part]:
        """A cut for each window."""
        time = times(log)
        for one in facts:
            early = np.zeros(time.size, np.bool_) if one.from_ is None else time < one.from_
            removed = {"later": time >= one.end, "earlier": early}
            test = (time >= one.begin) & (time < one.end)
            yield Part(test, removed=removed, info={"begin": float(one.begin)}, number=one.number)

    def _extent(self, log: Interactions) -> Extent:
        time = times(log)
        first = None if self.first is None else moment(log, self.first, str(self))
        return Extent(time.min(), time.max(), first) if time.size else Extent()

    def _window(self, number: int, begin: Any) -> Window:
        return Window(number, None if self.train is None else begin - self.train, begin, begin + self.length)


class Window(NamedTuple):
    """A system learns [from, begin[, and is asked about [begin, end[."""

    number: int
    from_: Any
    begin: Any
    end: Any


@dataclass(frozen=True)
class Extent:
    """The earliest and the latest time, and where windows are to begin, in the numbers of the log."""

    low: Any = None
    high: Any = None
    first: float | None = None

    def __add__(self, other: Extent) -> Extent:
        if self.low is None or other.low is None:
            return other if self.low is None else self
        return Extent(min(self.low, other.low), max(self.high, other.high), self.first)


def _earlier(windows: Sequence[Window], log: Interactions) -> NDArray[np.int64]:
    """How many rows are earlier than each window's training, its beginning, and its end."""
    time, found = times(log), np.zeros((3, len(windows)), np.int64)
    for row, edge in zip(found, ("from_", "begin", "end"), strict=True):
        edges = [getattr(one, edge) for one in windows]
        if edges and edges[0] is not None:
            passed = np.searchsorted(np.array(edges), time, side="right")
            row[:] = np.cumsum(np.bincount(passed, minlength=len(windows) + 1))[:-1]
    return found
