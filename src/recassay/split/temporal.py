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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.data.fold import Leakage
from recassay.data.interactions import Interactions
from recassay.data.order import places
from recassay.data.times import moment, times
from recassay.errors import UsageError
from recassay.split.base import Part, Split, events, nothing_left

MOST_WINDOWS = 1000


@dataclass(frozen=True, repr=False)
class GlobalTime(Split):
    """Train on what is earlier than an instant, test on the rest: ``at`` itself, or the instant of a quantile of rows.

    Leakage: none. Nothing is removed. ``validation`` is a share of the earlier rows: the last of them, from the
    instant of their quantile on. Rows of one instant always stay together, so shares are met as nearly as that allows.

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

    def parts(self, log: Interactions) -> Iterator[Part]:
        """One cut."""
        time = times(log)
        if self.quantile is None:
            assert self.at is not None
            at = moment(log, self.at, str(self))
        else:
            at = float(np.quantile(time, self.quantile, method="higher")) if time.size else 0.0
        test, held = time >= at, None
        if self.validation:
            if test.all():
                raise nothing_left(self, log, "training")
            held = ~test & (time >= np.quantile(time[~test], 1 - self.validation, method="higher"))
        yield Part(test, held, info={"cut": at})


@dataclass(frozen=True, repr=False)
class Last(Split):
    """The last ``n`` events of each user; the ``validation`` events before them for validation.

    Leakage: per user; others' training events may be later. Nothing is removed: a user with too few events (n +
    validation, or fewer) keeps them all for training. Events of a user at the same time stand in row order; how many
    users have such a tie across a cut is counted in ``how["ties"]``.

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

    def parts(self, log: Interactions) -> Iterator[Part]:
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
        yield Part(enough & (from_end < self.n), held, info={"ties": int(tied.sum())})


@dataclass(frozen=True, repr=False)
class Windows(Split):
    """Test windows of equal length that move along the log; a system learns from what is earlier than each.

    Window j is [first + j * step, first + j * step + length[, for as long as it begins no later than the last event.
    ``step`` defaults to ``length``, ``first`` to the earliest time + ``length``. With ``train`` a system learns only
    from that length of time before the window. Leakage: none. Rows later than the window, and earlier than ``train``
    reaches, are removed. A window without training or test events is passed over; numbers go on counting.

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

    def parts(self, log: Interactions) -> Iterator[Part]:
        """A cut for each window."""
        time = times(log)
        if not time.size:
            raise nothing_left(self, log, "test")
        step = self.length if self.step is None else self.step
        first = time.min() + self.length if self.first is None else moment(log, self.first, str(self))
        count = int((time.max() - first) // step) + 1
        if count > MOST_WINDOWS:
            what = f"{count:,} windows would be made, and {MOST_WINDOWS:,} are the most"
            raise UsageError("U102", what, where=str(self), hint=f"step={(time.max() - first) / 10:.6g} makes about 10")
        found = False
        for number in range(count):
            begin = first + number * step
            test = (time >= begin) & (time < begin + self.length)
            early = np.zeros(time.size, np.bool_) if self.train is None else time < begin - self.train
            if test.any() and bool(((time < begin) & ~early).any()):
                found = True
                removed = {"later": time >= begin + self.length, "earlier": early}
                yield Part(test, removed=removed, info={"begin": float(begin)}, number=number)
        if not found:
            raise nothing_left(self, log, "test")
