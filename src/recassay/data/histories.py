"""What each user had, in the order of time: what a model of sequences reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.layout import picked, stretch_of
from recassay.data.order import order_of
from recassay.data.times import times

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histories:
    """Sequences of item codes, oldest first: history h is ``items[offsets[h]:offsets[h + 1]]``."""

    offsets: Int64
    items: Int32

    @classmethod
    def of(cls, log: Interactions) -> Histories:
        """The history of every user of a log, by code; events at the same time, or without times, in row order.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"user_id": [1, 2, 1], "item_id": [7, 8, 9], "timestamp": [5, 1, 3]})
        >>> Histories.of(Interactions.from_frame(frame)).rows()
        [[2, 0], [1]]
        """
        keys = () if log.timestamps is None else (times(log),)
        counts = np.bincount(log.users, minlength=log.n_users)
        return cls(np.append(0, np.cumsum(counts)), log.items[order_of(log.users, keys)])

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    @property
    def lengths(self) -> Int64:
        """Events of each history."""
        return np.diff(self.offsets)

    def take(self, which: NDArray[np.integer]) -> Histories:
        """Some of the histories, in this order."""
        rows, offsets = picked(self.offsets, which)
        return Histories(offsets, self.items[rows])

    def last(self, length: int, *, pad: int) -> NDArray[np.int32]:
        """The last ``length`` items of each history (n, length), at the right end of rows that begin with ``pad``.

        >>> Histories(np.array([0, 1, 4]), np.array([5, 6, 7, 8], np.int32)).last(2, pad=-1).tolist()
        [[-1, 5], [7, 8]]
        """
        table = np.full((len(self), length), pad, np.int32)
        row = stretch_of(self.offsets)
        from_end = self.offsets[1:][row] - np.arange(self.items.size)
        kept = from_end <= length
        table[row[kept], length - from_end[kept]] = self.items[kept]
        return table

    def rows(self) -> list[list[int]]:
        """One list per history."""
        return [self.items[begin:end].tolist() for begin, end in zip(self.offsets, self.offsets[1:], strict=False)]
