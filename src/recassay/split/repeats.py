"""The filter of repeated user-item pairs: one of their rows is kept, with its own rating or that of all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import lexsort_groups
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.naming.departures import Departure
from recassay.split.filters import Filter, mask
from recassay.split.partitions import Rows

Float = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Distinct(Filter):
    """One row per user-item pair: the first, the last, or the highest rated (the latest of those if several tie).

    First and last are by time, and by row order where times are equal or absent.

    ``keep="sum"`` keeps the first row with the sum of the pair's ratings, such as play counts; in a log without ratings
    every row counts 1. With ``levels`` these sums become ratings from 1 to ``levels`` by their place in the user's own
    profile: ``ceil(levels * F)``, F the share of the user's items with a sum that is at most as large. With 5, the
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

        Within a pair, rows are ordered by what decides which of them is kept.
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
    assert log.ratings is not None, "sums are ratings"
    known = np.flatnonzero(~np.isnan(log.ratings))
    users, ratings = log.users[known], log.ratings[known]
    order = lexsort_groups(users, (ratings,))
    users, ratings = users[order], ratings[order]
    last = np.append((users[1:] != users[:-1]) | (ratings[1:] != ratings[:-1]), True)[: order.size]
    size = np.bincount(users, minlength=log.n_users)
    not_larger = np.arange(1, order.size + 1) - (np.cumsum(size) - size)[users]
    ends = np.flatnonzero(last)
    not_larger = not_larger[ends][np.searchsorted(ends, np.arange(order.size))]  # equal ratings have the same level
    found = np.full(len(log), np.nan)
    found[known[order]] = -(-levels * not_larger // size[users])  # rounded up
    return found
