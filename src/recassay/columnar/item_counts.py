"""Item counts of a whole log, needed where only the rows of some of its users are in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import concat_ids


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """The number of users and of events of each item of a log; the counts of disjoint user groups add up.

    ``ids`` are the items, ascending; ``users`` and ``events`` count in the order of ``ids``; ``n_users`` is the number
    of users of the log.

    >>> one = ItemCounts(pl.Series([5, 7]), np.array([2, 1]), np.array([2, 3]), 2)
    >>> both = one + ItemCounts(pl.Series([7, 9]), np.array([1, 1]), np.array([1, 4]), 1)
    >>> both.ids.to_list(), both.users.tolist(), both.events.tolist(), both.n_users
    ([5, 7, 9], [2, 2, 1], [2, 4, 4], 3)
    """

    ids: pl.Series
    users: NDArray[np.int64]
    events: NDArray[np.int64]
    n_users: int

    def __add__(self, other: ItemCounts) -> ItemCounts:
        counts = {"users": np.append(self.users, other.users), "events": np.append(self.events, other.events)}
        rows = pl.DataFrame({"item": concat_ids([self.ids, other.ids]), **counts})
        sums = rows.group_by("item").agg(pl.col("users", "events").sum()).sort("item")
        return ItemCounts(
            sums["item"], sums["users"].to_numpy(), sums["events"].to_numpy(), self.n_users + other.n_users
        )

    @property
    def rows(self) -> int:
        """Return the number of events of all items, which is the number of rows of the log."""
        return int(self.events.sum())
