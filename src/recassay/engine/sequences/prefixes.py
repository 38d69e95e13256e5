"""Beginnings of sequences that a system continues: the first item with its user and time, and the items after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.sequences import Histories, Sequences
from recassay.data.times import TimeValues

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The first j items (n, j) of n sequences, with the user of each (n) and the time of each item (n, j), if known."""

    items: Int32
    users: Int32 | None = None
    times: TimeValues | None = None

    @classmethod
    def first_items(cls, test: Sequences) -> Prefixes:
        """Return the first item of each sequence, with its user and time."""
        return cls(test.seeds[:, None], test.users, None if test.starts is None else test.starts[:, None])

    def __len__(self) -> int:
        return int(self.items.shape[0])

    @property
    def length(self) -> int:
        """Return the number of items of each prefix."""
        return int(self.items.shape[1])

    def take(self, which: NDArray[Any] | slice) -> Prefixes:
        """Return the prefixes at some positions: an array of positions, a mask or a slice."""
        return Prefixes(
            self.items[which],
            None if self.users is None else self.users[which],
            None if self.times is None else self.times[which],
        )

    def followed_by(self, items: Int32, times: TimeValues | None) -> Prefixes:
        """Return the prefixes continued by the ``items`` (n, m) and their times."""
        later = None if self.times is None or times is None else np.concatenate([self.times, times], axis=1)
        return Prefixes(np.concatenate([self.items, items], axis=1), self.users, later)

    def histories(self) -> Histories:
        """Return the prefixes in the form in which models are queried."""
        offsets = np.arange(len(self) + 1) * self.length
        return Histories(offsets, self.items.ravel(), self.users, None if self.times is None else self.times.ravel())

    def keys(self, *, items_only: bool) -> NDArray[np.integer]:
        """Return a row of numbers per prefix; two rows are equal if a model cannot tell the prefixes apart.

        With ``items_only`` the model reads the items and nothing else. Times after the first one follow from the user,
        the first time and the items.
        """
        if items_only:
            return self.items
        columns: list[NDArray[Any]] = [] if self.users is None else [self.users]
        if self.times is not None:
            columns.append(np.unique(self.times[:, 0], return_inverse=True)[1])
        return np.column_stack([*columns, self.items]).astype(np.int64)
