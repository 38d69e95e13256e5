"""Each user's items in order of time: the input of sequential models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups, rows_of_groups
from recassay.columnar.order import lexsort_groups
from recassay.data.interactions import Interactions
from recassay.data.times import TimeValues, row_times

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histories:
    """Sequences of item codes, one per history, oldest first: history h is ``items[offsets[h]:offsets[h + 1]]``.

    ``users`` has the user of each history, and ``times`` the time of each item, where they are known. The users of
    sequences are codes of the fold's ``user_vocabulary``; a code that does not occur in training is a new user.
    """

    offsets: Int64
    items: Int32
    users: Int32 | None = None
    times: TimeValues | None = None

    @classmethod
    def of(cls, log: Interactions) -> Histories:
        """Return the history of every user of a log, in the order of user codes.

        Events at equal times, or without times, are in row order.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"user_id": [1, 2, 1], "item_id": [7, 8, 9], "timestamp": [5, 1, 3]})
        >>> Histories.of(Interactions.from_frame(frame)).rows()
        [[2, 0], [1]]
        """
        keys = () if log.timestamps is None else (row_times(log),)
        counts = np.bincount(log.users, minlength=log.n_users)
        users = np.arange(log.n_users, dtype=np.int32)
        return cls(np.append(0, np.cumsum(counts)), log.items[lexsort_groups(log.users, keys)], users)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    @property
    def lengths(self) -> Int64:
        """Return the number of events of each history."""
        return np.diff(self.offsets)

    def take(self, which: NDArray[np.integer]) -> Histories:
        """Return some of the histories, in this order."""
        rows, offsets = rows_of_groups(self.offsets, which)
        users = None if self.users is None else self.users[which]
        return Histories(offsets, self.items[rows], users, None if self.times is None else self.times[rows])

    def last(self, length: int, *, pad: int) -> NDArray[np.int32]:
        """Return the last ``length`` items of each history (n, length), right-aligned and padded with ``pad``.

        >>> Histories(np.array([0, 1, 4]), np.array([5, 6, 7, 8], np.int32)).last(2, pad=-1).tolist()
        [[-1, 5], [7, 8]]
        """
        table = np.full((len(self), length), pad, np.int32)
        row = row_groups(self.offsets)
        from_end = self.offsets[1:][row] - np.arange(self.items.size)
        kept = from_end <= length
        table[row[kept], length - from_end[kept]] = self.items[kept]
        return table

    def rows(self) -> list[list[int]]:
        """Return the histories as lists of item codes."""
        return [self.items[begin:end].tolist() for begin, end in zip(self.offsets, self.offsets[1:], strict=False)]
