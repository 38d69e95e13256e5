"""Filters that keep some users, some items, a sample, or one of the rows that repeat a user and an item."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.order import lexsort_groups
from recassay.columnar.times import TimeKind
from recassay.data.features import SEPARATOR, Features
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.naming.named import COUNT, POSITIVE, Departure
from recassay.split.filters import Filter, absent_from, mask, without
from recassay.split.partitions import ItemSums, PartitionedLog, Rows, row_draws, user_draws
from recassay.split.sessions import by_user_and_time, clock_times


@dataclass(frozen=True, repr=False)
class NoBursts(Filter):
    """All events of users who never have two events less than ``gap`` apart; others may be programs, and are removed.

    ``gap`` is in the unit of the log's times, seconds for dates; needs clock times. Rows of a user at the same time are
    a burst, also if they repeat one event: apply ``distinct`` first if rows repeat.

    >>> import polars as pl
    >>> rows = [("ann", "a", 0), ("ann", "b", 60), ("bob", "a", 0), ("bob", "b", 59), ("bob", "c", 500)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> kept = NoBursts(gap=60)(log)
    >>> kept.log.frame()["user_id"].unique().to_list(), dict(kept.removed)
    (['ann'], {'user with a burst': 3})
    """

    name: ClassVar[str] = "no_bursts"
    times: ClassVar[TimeKind | None] = "clock"

    gap: Annotated[float, POSITIVE] = 60

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of users without a burst, and the number of the others."""
        time, gap = clock_times(log, self.gap)
        order = by_user_and_time(log.users, time)
        users, time = log.users[order], time[order]
        close = (users[1:] == users[:-1]) & (time[1:] - time[:-1] < gap)
        hasty = np.bincount(users[1:][close], minlength=log.n_users) > 0
        return without({"user with a burst": hasty[log.users]})


@dataclass(frozen=True, repr=False)
class Featured(Filter):
    """Events of items with a feature of ``only`` and with none of ``without``, such as genres or categories.

    Names are joined by ``|``: ``featured(without='Office|Factory')``. Needs item features: ``items:`` of a study's
    data, ``--items`` of recassay split, ``items=`` of ``ra.split.filters.apply``. An item without a known feature has
    none of either.

    >>> import polars as pl
    >>> items = Features.from_frame(pl.DataFrame({"item_id": ["a", "b", "c"], "genres": ["War|Drama", "War", "Fun"]}))
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 4, "item_id": [*"abcd"]}))
    >>> kept = Featured(without="Drama|Fun").bind(items)(log)
    >>> kept.log.frame()["item_id"].to_list(), dict(kept.removed)
    (['b', 'd'], {'item with an unwanted feature': 2})
    """

    name: ClassVar[str] = "featured"
    reads_items: ClassVar[bool] = True
    items: ClassVar[Features | None] = None  # set by bind

    only: str = ""
    without: str = ""

    def validate(self) -> None:
        """Raise an error unless ``only`` or ``without`` is given."""
        if not (self.only or self.without):
            raise self.refuse("only", "give only=, without=, or both", "featured(without='Office|Factory')")

    def bind(self, items: Features | None) -> Self:
        """Return a copy of the filter that holds the features of items, by which it selects events."""
        bound = copy.copy(self)
        object.__setattr__(bound, "items", items)
        return bound

    def facts(self, log: PartitionedLog) -> Mapping[str, ItemSums]:
        """Return ``{"only": items with a wanted feature, "without": items with an unwanted one}``.

        A key is there only if this parameter of the filter is set.
        """
        named = {"only": self.only, "without": self.without}
        return {parameter: self._with(parameter, names) for parameter, names in named.items() if names}

    def kept(self, log: Interactions, facts: Mapping[str, ItemSums]) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of wanted items, and the number of the others by reason.

        ``facts`` are the items that have a wanted feature, and those that have an unwanted one.
        """
        gone = {}
        if "only" in facts:
            gone["item without a wanted feature"] = absent_from(log, facts["only"])[log.items]
        if "without" in facts:
            gone["item with an unwanted feature"] = ~absent_from(log, facts["without"])[log.items]
        return without(gone)

    def _with(self, parameter: str, names: str) -> ItemSums:
        """Return the items that have one of the features in ``names``, joined by ``|``; raise U102 for unknown ones."""
        if self.items is None:
            hint = "give the items: of the data in a study, recassay split --items FILE, or items= of filters.apply"
            raise UsageError("U105", f"{self.name} needs features of items", where=str(self), hint=hint)
        wanted, known = [name.strip() for name in names.split(SEPARATOR)], self.items.names.to_list()
        if unknown := [name for name in wanted if name not in known]:
            raise self.refuse(parameter, f"no item has the feature '{unknown[0]}'", suggest(unknown[0], known))
        chosen = self.items.names.is_in(wanted).to_numpy()
        found = np.zeros(self.items.n_items, np.bool_)
        found[row_groups(self.items.offsets)[chosen[self.items.codes]]] = True
        return ItemSums(self.items.vocabulary, np.ones(found.size, np.int64)).only(found)


@dataclass(frozen=True, repr=False)
class OneIn(Filter):
    """A random sample of about one in ``n`` users with all of their events, or of one in ``n`` rows.

    With ``ready_made`` sequences, where a user is a playlist, users are sequences. The draw of a user depends on the
    seed and the user's id, so a sample of one in 20 is part of that of one in 10. Rows are drawn by user and item.

    >>> from recassay.data.synthetic import log
    >>> made = log(users=1000, items=50, events=5000)
    >>> [OneIn(n=n)(made).log.n_users for n in (1, 10, 20)]
    [1000, 93, 43]
    """

    name: ClassVar[str] = "one_in"

    n: Annotated[int, COUNT]
    of: Literal["users", "rows"] = "users"
    seed: int = 0

    def kept(self, log: Interactions, facts: Any) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows in the sample, and the number of the others."""
        users = self.of == "users"
        draws = user_draws(log, self.seed, self.name) if users else row_draws(log, self.seed, self.name)
        sampled = draws <= np.uint64((2**64 - 1) // self.n)
        return without({"not in the sample": ~(sampled[log.users] if users else sampled)})


Float = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Distinct(Filter):
    """One row per user-item pair: the first, the last, or the highest rated (the latest of those if several tie).

    First and last are by time, and by row order where times are equal or absent.

    ``keep="sum"`` keeps the first row with the sum of the pair's ratings, such as play counts; in a log without ratings
    every row counts 1. With ``levels`` these sums become ratings from 1 to ``levels`` by their rank among the user's
    own items: ``ceil(levels * F)``, F the share of the user's items with a sum that is at most as large. With 5, the
    fifth of a user's items that are played most have rating 5.

    >>> import polars as pl
    >>> rows = [("ann", "a", 2, 9), ("ann", "a", 5, 3), ("ann", "b", 4, 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating", "timestamp"], orient="row"))
    >>> [Distinct(keep)(log).log.ratings.tolist() for keep in ("first", "last", "max", "sum")]
    [[5.0, 4.0], [2.0, 4.0], [5.0, 4.0], [7.0, 4.0]]
    >>> Distinct("sum", levels=5)(log).log.ratings.tolist()
    [5.0, 3.0]
    """

    name: ClassVar[str] = "distinct"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The paper maps play counts to ratings as Celma and Herrera did in 2008, whose article we do not have; "
            "distinct(keep='sum', levels=5) gives rating 5 to the fifth of a user's items with most plays, and so on.",
        ),
    )

    keep: Literal["first", "last", "max", "sum"] = "first"
    levels: int | None = None

    def validate(self) -> None:
        """Raise an error if ``levels`` is below 2, or given without ``keep="sum"``."""
        if self.levels is not None and (self.keep != "sum" or self.levels < 2):
            raise self.refuse("levels", "it must be at least 2, and goes with keep='sum'", "keep='sum', levels=5")

    @property
    def changes_ratings(self) -> bool:
        """Return whether ratings are summed."""
        return self.keep == "sum"

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the row to keep of each pair of user and item, and the number of other rows by reason."""
        order, begins = self._pairs(log)
        chosen = order[np.roll(begins, -1) if self.keep in ("last", "max") else begins]
        return mask(chosen, len(log)), {"pair repeated": len(log) - chosen.size}

    def left(self, log: Interactions, kept: Rows) -> Interactions:
        """Return the rows in the mask ``kept``.

        With ``keep="sum"`` their ratings are the sums of their pairs, or levels of these.
        """
        if self.keep == "sum":
            order, begins = self._pairs(log)
            ratings = np.ones(len(log)) if log.ratings is None else log.ratings
            sums = np.full(len(log), np.nan)
            sums[order[begins]] = np.add.reduceat(ratings[order], np.flatnonzero(begins))
            log = replace(log, ratings=sums)
        left = super().left(log, kept)
        return left if self.levels is None else replace(left, ratings=_levels(left, self.levels))

    def _pairs(self, log: Interactions) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return (order of rows, mask): rows of one user and item are together, and the mask marks their first.

        Within a pair, rows are in the order that decides which row is kept.
        """
        keys: list[NDArray[Any]] = [log.items]  # the last key decides first
        if self.keep == "max":
            log.liked(0)  # refuses a log without ratings
        if self.keep in ("max", "sum") and log.ratings is not None:
            keys.insert(0, log.ratings)
        if log.timestamps is not None:
            keys.insert(1 if self.keep == "sum" and log.ratings is not None else 0, row_times(log))
        order = lexsort_groups(log.users, tuple(keys))
        users, items = log.users[order], log.items[order]
        return order, np.append(True, (users[1:] != users[:-1]) | (items[1:] != items[:-1]))[: order.size]


def _levels(log: Interactions, levels: int) -> Float:
    """Return for each row ceil(levels * F), with F the share of the user's ratings that are at most as large.

    A missing rating stays missing.
    """
    rating = pl.col("rating").fill_nan(None)
    not_larger = rating.rank("max").over("user").cast(pl.Int64)
    level = -(-levels * not_larger // rating.count().over("user").cast(pl.Int64))  # rounded up
    table = pl.DataFrame({"user": log.users, "rating": log.ratings}).select(level.cast(pl.Float64))
    return table.to_series().fill_null(np.nan).to_numpy()
