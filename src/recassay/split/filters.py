"""Filters: which rows to remove from a log before it is split, with counts of the removed rows by reason.

    core(users=2, items=2)      Ann a b c | Bob a b | Carol a c | Dan d
                                d has one event, then Dan has none left: Ann a b c | Bob a b | Carol a c

A filter looks at the whole log, so what it keeps depends on events that later become the test part. Report the filter
with every number. Users and items without events are dropped from the log. Filters apply in the order given:

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
from typing import Annotated, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.times import TimeKind, require_times
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.times import parse_instant, row_times
from recassay.errors import UsageError
from recassay.naming.named import COUNT
from recassay.naming.registry import Registry
from recassay.split.base import Cut
from recassay.split.partitions import (
    ItemSums,
    PartitionedLog,
    RemoteLog,
    Rows,
    WholeLog,
    item_counts,
    needs_memory_error,
    require_remote_log,
)


@dataclass(frozen=True, eq=False)
class Filtered:
    """A filtered log, and the number of removed rows by reason."""

    log: Interactions
    removed: Mapping[str, int]


class Filter(Cut):
    """Base of filters: a frozen description of which rows of a log to keep; calling it returns the filtered log.

    :meth:`facts` computes what a filter must know about all rows, and :meth:`kept` then selects rows of any group of
    users. A filter that needs the whole log in memory overrides :meth:`rows`. One that needs features of items sets
    ``reads_items`` and overrides :meth:`bind`.
    """

    reads_items: ClassVar[bool] = False

    def facts(self, log: PartitionedLog) -> Any:
        """Return what the selection depends on besides a user's own rows, such as rare items, from all rows."""
        return None

    def bind(self, items: Features | None) -> Self:
        """Return the filter with the features of items, if it reads them; most filters return themselves."""
        return self

    @property
    def changes_ratings(self) -> bool:
        """Return whether the ratings of kept rows change; :meth:`left` then computes them, for a log in memory only."""
        return False

    def left(self, log: Interactions, kept: Rows) -> Interactions:
        """Return the rows of a whole log in the mask ``kept``, without unused users and items.

        A filter that changes ratings overrides this method.
        """
        return log if kept.all() else log.take(kept).compact()

    def kept(self, log: Interactions, facts: Any) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows to keep, and the number of the other rows by reason.

        ``log`` holds all rows of some or all users, and ``facts`` is what :meth:`facts` returned for the whole log
        (None if a filter reads nothing but a user's own rows).
        """
        raise UsageError(
            "U225",
            f"{self.name} needs the whole log in memory, and this log is in partitions",
            where=str(self),
            hint="load the log into memory, or implement facts() and kept()",
        )

    def rows(self, log: Interactions) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of a whole log to keep, and the number of the other rows by reason."""
        return self.kept(log, self.facts(WholeLog(log)))

    @overload
    def __call__(self, log: Interactions) -> Filtered: ...
    @overload
    def __call__(self, log: RemoteLog) -> Any: ...
    def __call__(self, log: Interactions | RemoteLog) -> Any:
        """Return the filtered log; kept rows stay in their order."""
        if not isinstance(log, Interactions):
            return _filtered_on_cluster(log, [self])
        require_times(log, self.needs, self)
        kept, removed = self.rows(log)
        if not kept.any():
            raise self.nothing_kept(len(log), log.n_users)
        return Filtered(self.left(log, kept), removed)

    def nothing_kept(self, rows: int, users: int) -> UsageError:
        """Return the error for a filter that keeps no row of a log with these numbers of rows and users."""
        return UsageError(
            "U116",
            f"the filter keeps none of the {rows:,} rows of {users:,} users",
            where=str(self),
            hint="use a weaker filter, or look at the log: recassay stats LOG",
        )


@dataclass(frozen=True, repr=False)
class Core(Filter):
    """k-core: remove items and users with too few events, again and again until all that are left have enough.

    The result is the largest log in which every user has ``users`` events and every item ``items`` events. Events are
    rows; apply ``distinct`` first to count user-item pairs. A removed row counts for the first reason that
    applies; items are checked before users.

    >>> import polars as pl
    >>> rows = [*zip("aaabbccd", "pqrpqpqr")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> kept = Core(users=2, items=3)(log)
    >>> kept.log.frame()["user_id"].unique().sort().to_list(), dict(kept.removed)
    (['a', 'b', 'c'], {'item too rare': 2, 'user too quiet': 0})
    """

    name: ClassVar[str] = "core"

    users: Annotated[int, COUNT] = 5
    items: Annotated[int, COUNT] = 5

    def facts(self, log: PartitionedLog) -> list[ItemSums]:
        """Return the items that each round of removal removes, one :class:`ItemSums` per round."""
        rounds: list[ItemSums] = []
        log = log.bare()
        while len(rounds) < 2 or rounds[-1].values.size:  # the first round also removes users
            rounds.append(rare_items(log.total(item_counts), self.items))
            log = log.where(partial(self._after, rounds[-1]))
        return rounds

    def kept(self, log: Interactions, facts: list[ItemSums]) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of the k-core, and the number of the other rows by reason.

        ``facts`` are the items that each round removes. The reasons are ``item too rare`` and ``user too quiet``.
        """
        kept, removed = np.arange(len(log)), {"item too rare": 0, "user too quiet": 0}
        for gone in facts:
            common = absent_from(log, gone)[log.items[kept]]
            removed["item too rare"] += int(np.count_nonzero(~common))
            kept = kept[common]
            enough = occur_at_least(log.users[kept], self.users)
            removed["user too quiet"] += int(np.count_nonzero(~enough))
            kept = kept[enough]
        return mask(kept, len(log)), removed

    def _after(self, gone: ItemSums, log: Interactions) -> Rows:
        return self.kept(log, [gone])[0]


@dataclass(frozen=True, repr=False)
class Once(Filter):
    """Items with at least ``items`` events, then users with at least ``users`` of the events left: one pass each.

    The second pass may leave items with fewer events than ``items``. ``first="users"`` takes users first, and
    ``"neither"`` counts both on the whole log, as the code of SASRec does.

    >>> import polars as pl
    >>> rows = [*zip("aaabbccd", "pqrpqpqr")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> dict(Once(users=2, items=3)(log).removed), dict(Once(users=2, items=3, first="users")(log).removed)
    ({'item too rare': 2, 'user too quiet': 0}, {'user too quiet': 1, 'item too rare': 1})
    >>> Once(users=3, items=3, first="neither")(log).log.frame().rows()
    [('a', 'p'), ('a', 'q')]
    """

    name: ClassVar[str] = "once"

    users: Annotated[int, COUNT] = 5
    items: Annotated[int, COUNT] = 5
    first: Literal["items", "users", "neither"] = "items"

    def facts(self, log: PartitionedLog) -> ItemSums:
        """Return the items with too few events (after the removal of quiet users if ``first="users"``)."""
        log = log.bare()
        if self.first == "users":
            log = log.where(self._busy)
        return rare_items(log.total(item_counts), self.items)

    def kept(self, log: Interactions, facts: ItemSums) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows that pass both checks, and the number of the other rows by reason.

        ``facts`` are the items with too few events.
        """
        common = absent_from(log, facts)[log.items]
        busy = occur_at_least(log.users, self.users)
        if self.first == "items":
            busy[common] = occur_at_least(log.users[common], self.users)
        gone = {"item too rare": ~common, "user too quiet": ~busy}
        return without(dict(reversed(gone.items())) if self.first == "users" else gone)

    def _busy(self, log: Interactions) -> Rows:
        return occur_at_least(log.users, self.users)


@dataclass(frozen=True, repr=False)
class Rated(Filter):
    """Events with a rating of at least ``at_least``. A log without ratings is an error.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rating": [5, 3]}))
    >>> Rated(at_least=4)(log).log.frame().rows()
    [(1, 7, 5.0)]
    """

    name: ClassVar[str] = "rated"

    at_least: float

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows that reach the rating, and the number of the others."""
        return without({f"rating below {self.at_least:g}": ~log.liked(self.at_least)})


@dataclass(frozen=True, repr=False)
class Between(Filter):
    """Events from ``start`` on and before ``end``; either may be left out. Needs an order of all events.

    Times are numbers in the unit of the log, or a text such as '2024-05-31' if the log has dates, or numbers since
    1970.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 3, "item_id": [7, 8, 9], "timestamp": [1, 2, 3]}))
    >>> Between(start=2, end=3)(log).log.frame().rows()
    [(1, 8, 2)]
    """

    name: ClassVar[str] = "between"
    times: ClassVar[TimeKind | None] = "global"

    start: float | str | None = None
    end: float | str | None = None

    def validate(self) -> None:
        """Raise an error unless ``start`` or ``end`` is given."""
        if self.start is None and self.end is None:
            raise self.refuse("start", "give start=, end=, or both", "between(start='2024-01-01')")

    def facts(self, log: PartitionedLog) -> list[float | None]:
        """Return ``start`` and ``end`` as numbers in the unit of the log; None where there is no limit."""
        limits = (self.start, self.end)
        return [None if at is None else parse_instant(at, str(self), log.time_scale) for at in limits]

    def kept(self, log: Interactions, facts: list[float | None]) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows inside the interval, and the number of the other rows by reason.

        ``facts`` are start and end as numbers.
        """
        time, (start, end) = row_times(log), facts
        early = np.zeros(time.size, np.bool_) if start is None else time < start
        late = np.zeros(time.size, np.bool_) if end is None else time >= end
        return without({"too early": early, "too late": late})


def without(gone: Mapping[str, Rows]) -> tuple[Rows, dict[str, int]]:
    """Return a mask of the rows that no reason removes, and the number of rows that each reason removes first.

    ``gone`` has a mask of rows by reason.

    >>> kept, removed = without({"early": np.array([True, False, False]), "rare": np.array([True, True, False])})
    >>> kept.tolist(), removed
    ([False, False, True], {'early': 1, 'rare': 1})
    """
    kept, removed = ~np.zeros_like(next(iter(gone.values()))), {}
    for reason, rows in gone.items():
        removed[reason] = int(np.count_nonzero(kept & rows))
        kept &= ~rows
    return kept, removed


def occur_at_least(codes: NDArray[np.int32], least: int) -> Rows:
    """Return a mask of the rows whose code occurs at least ``least`` times.

    >>> occur_at_least(np.array([3, 5, 3], np.int32), 2).tolist()
    [True, False, True]
    """
    return (np.bincount(codes) >= least)[codes]


def rare_items(counts: ItemSums, least: int) -> ItemSums:
    """Return the items whose count is above 0 and below ``least``, with their counts.

    ``counts`` are numbers of events, one per item.
    """
    return counts.only((counts.values > 0) & (counts.values < least))


def absent_from(log: Interactions, items: ItemSums) -> Rows:
    """Return a mask of the rows of a log whose item is not in ``items``."""
    return np.asarray(items.of(log) == 0)


def mask(rows: NDArray[np.int64], n: int) -> Rows:
    """Return a mask of ``n`` rows that is true at the row numbers ``rows``."""
    found = np.zeros(n, np.bool_)
    found[rows] = True
    return found


Filters = str | Filter | Iterable[str | Filter]
REGISTRY: Registry[type[Filter]] = Registry("filter", "recassay.split", Filter, group="recassay.filters")
parse = REGISTRY.parse


@overload
def apply(log: Interactions, filters: Filters, items: Features | None = None) -> Filtered: ...
@overload
def apply(log: RemoteLog, filters: Filters, items: Features | None = None) -> Any: ...
def apply(log: Interactions | RemoteLog, filters: Filters, items: Features | None = None) -> Any:
    """Apply filters to a log in order; return the rest of the log, with the number of removed rows by reason.

    ``filters`` is a filter, a text such as ``"rated(at_least=4), core(users=5)"``, or a list of both. For a log in
    memory the result is a :class:`Filtered`.

    ``items`` are features of items, for filters that read them.
    """
    parsed = [step if items is None else step.bind(items) for step in REGISTRY.parse_list(filters)]
    if not isinstance(log, Interactions):
        return _filtered_on_cluster(log, parsed)
    removed: dict[str, int] = {}
    for step in parsed:
        filtered: Filtered = step(log)
        log, removed = filtered.log, add_counts(removed, filtered.removed)
    return Filtered(log, removed)


def _filtered_on_cluster(log: RemoteLog, filters: list[Filter]) -> Any:
    """Return a log on a cluster after filters, with the numbers of removed rows; raise U225 if one changes ratings."""
    for step in filters:
        step.remote(log)
        if step.changes_ratings:
            raise needs_memory_error(f"{step} changes ratings", "ra.read_interactions(...)", str(step))
    return require_remote_log(log, "filters").filtered(filters)


def add_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two dicts that count removed rows by reason.

    >>> add_counts({"too late": 1}, {"too early": 2, "too late": 3})
    {'too late': 4, 'too early': 2}
    """
    return {**one, **{reason: one.get(reason, 0) + count for reason, count in other.items()}}


__all__ = ["Between", "Core", "Filter", "Filtered", "Once", "Rated", "apply", "parse"]
__dir__ = __all__.copy  # what `dir` lists
