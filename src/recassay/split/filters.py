"""What to leave out of a log before it is split, and a count of what was left out and why.

    core(users=2, items=2)      Ann a b c | Bob a b | Carol a c | Dan d
                                d has one event, then Dan has none: Ann a b c | Bob a b | Carol a c

A filter is applied to the whole log, so what it keeps depends on events that later become the test part: say which one
was used beside every number. Users and items without events are forgotten. Filters apply in the order given:

>>> import polars as pl
>>> rows = [("ann", "a", 5), ("ann", "a", 3), ("ann", "b", 4), ("bob", "a", 1)]
>>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
>>> kept = apply(log, "rated(at_least=3), distinct(keep='max')")
>>> kept.log.frame().rows(), dict(kept.removed)
([('ann', 'a', 5.0), ('ann', 'b', 4.0)], {'rating below 3': 1, 'pair repeated': 1})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.order import order_of
from recassay.data.time_kind import TimeKind, require_times
from recassay.data.times import moment, times
from recassay.errors import UsageError
from recassay.named import Named, Registry
from recassay.split.in_parts import ByItem, Elsewhere, InParts, Rows, Whole, elsewhere, item_counts


@dataclass(frozen=True, eq=False)
class Filtered:
    """What is left of a log, and how many rows are not, by reason."""

    log: Interactions
    removed: Mapping[str, int]


class Filter(Named):
    """Base of filters: a frozen description of which rows of a log to keep; calling it keeps them.

    A filter says with :meth:`facts` what it must know of all rows, and with :meth:`kept` which rows of some users stay.
    One that cannot do without the whole log says :meth:`rows`.
    """

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts; None: it can do without times."""
        return None

    def facts(self, log: InParts) -> Any:
        """What must be known of all rows before some of them are kept."""
        return None

    def kept(self, log: Interactions, facts: Any) -> tuple[Rows, Mapping[str, int]]:
        """The rows of some users to keep, and the counts of the others by reason."""
        raise UsageError(
            "U225",
            f"{self.name} looks at the whole log at once, and this one is in parts",
            where=str(self),
            hint="bring the log to this machine, or say in facts() and kept() what it needs of the whole",
        )

    def rows(self, log: Interactions) -> tuple[Rows, Mapping[str, int]]:
        """The rows of a whole log to keep, and the counts of the others by reason."""
        return self.kept(log, self.facts(Whole(log)))

    @overload
    def __call__(self, log: Interactions) -> Filtered: ...
    @overload
    def __call__(self, log: Elsewhere) -> Any: ...
    def __call__(self, log: Interactions | Elsewhere) -> Any:
        """The log without what is to be left out; the other rows stay in their order."""
        if not isinstance(log, Interactions):
            require_times(elsewhere(log, str(self)), self.needs, self)
            return elsewhere(log, str(self)).filtered([self])
        require_times(log, self.needs, self)
        kept, removed = self.rows(log)
        if not kept.any():
            raise self.nothing_kept(len(log), log.n_users)
        return Filtered(log if kept.all() else log.take(kept).compact(), removed)

    def nothing_kept(self, rows: int, users: int) -> UsageError:
        """The error for a log of which nothing is left."""
        return UsageError(
            "U116",
            f"of {rows:,} rows of {users:,} users the filter keeps none",
            where=str(self),
            hint="ask for less, or look at the log: recassay stats LOG",
        )


@dataclass(frozen=True, repr=False)
class Core(Filter):
    """Users with at least so many events on items with at least so many: again and again until all have (k-core).

    What is left is the largest log of this kind, whatever the order. Events are rows; :class:`Distinct` before it makes
    them pairs. A row goes for the side that was looked at first, items before users.

    >>> import polars as pl
    >>> rows = [*zip("aaabbccd", "pqrpqpqr")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> kept = Core(users=2, items=3)(log)
    >>> kept.log.frame()["user_id"].unique().sort().to_list(), dict(kept.removed)
    (['a', 'b', 'c'], {'item too rare': 2, 'user too quiet': 0})
    """

    name: ClassVar[str] = "core"

    users: int = 5
    items: int = 5

    def validate(self) -> None:
        """Counts are counts."""
        check_counts(self)

    def facts(self, log: InParts) -> list[ByItem]:
        """The items that go in each round."""
        rounds: list[ByItem] = []
        log = log.bare()
        while len(rounds) < 2 or rounds[-1].values.size:  # the first is for users too
            rounds.append(rare(log.total(item_counts), self.items))
            log = log.where(partial(self._after, rounds[-1]))
        return rounds

    def kept(self, log: Interactions, facts: list[ByItem]) -> tuple[Rows, Mapping[str, int]]:
        """The k-core."""
        kept, removed = np.arange(len(log)), {"item too rare": 0, "user too quiet": 0}
        for gone in facts:
            common = without(log, gone)[log.items[kept]]
            removed["item too rare"] += int(np.count_nonzero(~common))
            kept = kept[common]
            enough = often(log.users[kept], self.users)
            removed["user too quiet"] += int(np.count_nonzero(~enough))
            kept = kept[enough]
        return mask(kept, len(log)), removed

    def _after(self, gone: ByItem, log: Interactions) -> Rows:
        return self.kept(log, [gone])[0]


@dataclass(frozen=True, repr=False)
class Once(Filter):
    """Items with at least so many events, then users with at least so many of those left: one pass each.

    Items may fall below their count again in the second step; ``first="users"`` takes users first, and ``"neither"``
    counts both on the whole log, as the code of SASRec does.

    >>> import polars as pl
    >>> rows = [*zip("aaabbccd", "pqrpqpqr")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> dict(Once(users=2, items=3)(log).removed), dict(Once(users=2, items=3, first="users")(log).removed)
    ({'item too rare': 2, 'user too quiet': 0}, {'user too quiet': 1, 'item too rare': 1})
    >>> Once(users=3, items=3, first="neither")(log).log.frame().rows()
    [('a', 'p'), ('a', 'q')]
    """

    name: ClassVar[str] = "once"

    users: int = 5
    items: int = 5
    first: Literal["items", "users", "neither"] = "items"

    def validate(self) -> None:
        """Counts are counts."""
        check_counts(self)

    def facts(self, log: InParts) -> ByItem:
        """The items that are too rare."""
        log = log.bare()
        if self.first == "users":
            log = log.where(self._busy)
        return rare(log.total(item_counts), self.items)

    def kept(self, log: Interactions, facts: ByItem) -> tuple[Rows, Mapping[str, int]]:
        """One pass over each side."""
        common = without(log, facts)[log.items]
        busy = often(log.users, self.users)
        if self.first == "items":
            busy[common] = often(log.users[common], self.users)
        gone = {"item too rare": ~common, "user too quiet": ~busy}
        first, second = reversed(gone) if self.first == "users" else gone
        removed = {first: gone[first], second: gone[second] & ~gone[first]}
        return busy & common, {reason: int(np.count_nonzero(rows)) for reason, rows in removed.items()}

    def _busy(self, log: Interactions) -> Rows:
        return often(log.users, self.users)


@dataclass(frozen=True, repr=False)
class Rated(Filter):
    """Events with a rating of at least so much. A log without ratings is an error.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rating": [5, 3]}))
    >>> Rated(at_least=4)(log).log.frame().rows()
    [(1, 7, 5.0)]
    """

    name: ClassVar[str] = "rated"

    at_least: float

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """The rows that reach the rating."""
        liked = log.liked(self.at_least)
        return liked, {f"rating below {self.at_least:g}": int(np.count_nonzero(~liked))}


@dataclass(frozen=True, repr=False)
class Distinct(Filter):
    """One row for each pair of user and item: the first, the last, or the one rated highest (the latest of those).

    First and last are by time, and by row order where times are equal or absent.

    >>> import polars as pl
    >>> rows = [("ann", "a", 2, 9), ("ann", "a", 5, 3), ("ann", "b", 4, 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating", "timestamp"], orient="row"))
    >>> [Distinct(keep)(log).log.ratings.tolist() for keep in ("first", "last", "max")]
    [[5.0, 4.0], [2.0, 4.0], [5.0, 4.0]]
    """

    name: ClassVar[str] = "distinct"

    keep: Literal["first", "last", "max"] = "first"

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """The chosen row of every pair."""
        keys: list[NDArray[Any]] = [log.items]  # the last decides first
        if self.keep == "max":
            log.liked(0)  # refuses a log without ratings
            assert log.ratings is not None
            keys.insert(0, log.ratings)
        if log.timestamps is not None:
            keys.insert(0, times(log))
        order = order_of(log.users, tuple(keys))
        users, items = log.users[order], log.items[order]
        begins = np.append(True, (users[1:] != users[:-1]) | (items[1:] != items[:-1]))[: order.size]
        chosen = order[begins if self.keep == "first" else np.roll(begins, -1)]
        return mask(chosen, len(log)), {"pair repeated": len(log) - chosen.size}


@dataclass(frozen=True, repr=False)
class Between(Filter):
    """Events of the time [start, end[; without one of them there is no such limit. Needs an order of all events.

    Instants are in the unit of the log for numbers, or a text such as '2024-05-31' if its times are dates.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 3, "item_id": [7, 8, 9], "timestamp": [1, 2, 3]}))
    >>> Between(start=2, end=3)(log).log.frame().rows()
    [(1, 8, 2)]
    """

    name: ClassVar[str] = "between"

    start: float | str | None = None
    end: float | str | None = None

    def validate(self) -> None:
        """One limit at least."""
        if self.start is None and self.end is None:
            raise self.refuse("start", "give start=, end=, or both", "between(start='2024-01-01')")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "global"

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """The rows inside."""
        time = times(log)
        early = np.zeros(time.size, np.bool_) if self.start is None else time < moment(log, self.start, str(self))
        late = np.zeros(time.size, np.bool_) if self.end is None else time >= moment(log, self.end, str(self))
        removed = {"too early": int(np.count_nonzero(early)), "too late": int(np.count_nonzero(late & ~early))}
        return ~early & ~late, removed


def often(codes: NDArray[np.int32], least: int) -> Rows:
    """Rows whose code comes at least so often.

    >>> often(np.array([3, 5, 3], np.int32), 2).tolist()
    [True, False, True]
    """
    return (np.bincount(codes) >= least)[codes]


def rare(counts: ByItem, least: int) -> ByItem:
    """The items that come, and less often."""
    return counts.only((counts.values > 0) & (counts.values < least))


def without(log: Interactions, items: ByItem) -> Rows:
    """For each item of a log whether it is none of these."""
    return np.asarray(items.of(log) == 0)


def mask(rows: NDArray[np.int64], n: int) -> Rows:
    """Row numbers as a mask."""
    found = np.zeros(n, np.bool_)
    found[rows] = True
    return found


def check_counts(one: Core | Once) -> None:
    """Refuse counts below 1."""
    for parameter in ("users", "items"):
        if getattr(one, parameter) < 1:
            raise one.refuse(parameter, "every user and item of a log has an event", f"{parameter}=5")


Filters = str | Filter | Iterable[str | Filter]
REGISTRY = Registry("filter", "recassay.split", Filter)
parse = REGISTRY.parse


@overload
def apply(log: Interactions, filters: Filters) -> Filtered: ...
@overload
def apply(log: Elsewhere, filters: Filters) -> Any: ...
def apply(log: Interactions | Elsewhere, filters: Filters) -> Any:
    """A log after one filter or several, one after the other; counts of the same reason are added up."""
    asked = REGISTRY.parse_list(filters)
    if not isinstance(log, Interactions):
        for one in asked:
            require_times(elsewhere(log, "filters"), one.needs, one)
        return elsewhere(log, "filters").filtered(asked)
    removed: dict[str, int] = {}
    for one in asked:
        log, gone = (found := one(log)).log, found.removed
        removed = added_up(removed, gone)
    return Filtered(log, removed)


def added_up(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Counts by reason, together.

    >>> added_up({"too late": 1}, {"too early": 2, "too late": 3})
    {'too late': 4, 'too early': 2}
    """
    return {**one, **{reason: one.get(reason, 0) + count for reason, count in other.items()}}
