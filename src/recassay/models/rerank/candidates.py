"""Ranked lists to reorder, and the result of reordering them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.errors import InputError
from recassay.threads import each_block

LISTS_PER_BLOCK = 1_024

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Ranked lists: list q is ``items[offsets[q]:offsets[q + 1]]``, best first.

    ``ids[q]`` is the id of the list's user and ``users[q]`` its code in the log, -1 for a user the log does not have.
    """

    offsets: Int64
    items: Int32
    scores: Float
    users: Int32
    ids: pl.Series

    @classmethod
    def of_table(cls, items: Int32, scores: Float, users: Int32, ids: pl.Series) -> Candidates:
        """Return a model's lists from tables of ``items`` and ``scores`` (n, k); item -1 ends a shorter list.

        ``ids[q]`` is the id of the user of list q, and ``users[q]`` the user's code.

        >>> items = np.array([[7, 8], [9, -1]], np.int32)
        >>> users, ids = np.array([0, 1], np.int32), pl.Series(["ann", "bob"])
        >>> Candidates.of_table(items, np.zeros((2, 2)), users, ids).offsets.tolist()
        [0, 2, 3]
        """
        there = items >= 0
        offsets = np.append(0, np.cumsum(there.sum(axis=1)))
        return cls(offsets, items[there], scores[there], users, ids)

    def block(self, begin: int, end: int) -> Candidates:
        """Return the lists ``begin`` to ``end`` - 1, with offsets that start at 0."""
        rows = slice(self.offsets[begin], self.offsets[end])
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        return Candidates(
            readonly(offsets), readonly(self.items[rows]), readonly(self.scores[rows]),
            readonly(self.users[begin:end]), self.ids[begin:end],
        )  # fmt: skip

    def require_scores(self, where: str = "") -> None:
        """Raise I301 unless all scores are finite: every pick depends on scores."""
        if np.isfinite(self.scores.sum()) or np.isfinite(self.scores).all():
            return
        bad = ~np.isfinite(self.scores)
        row = int(np.argmax(bad))
        place = row - int(self.offsets[np.searchsorted(self.offsets, row, "right") - 1]) + 1
        raise InputError(
            "I301",
            f"{int(bad.sum()):,} of {bad.size:,} baseline scores are NaN or infinite, the first ({self.scores[row]}) "
            f"at position {place} of its list",
            where=where,
            hint="remove such items from the lists, or give them a finite score",
        )


@dataclass(frozen=True, eq=False)
class Reordered:
    """The result of reordering: ``order`` (rows of all lists), ``pick_values`` (lists, places), and named counts.

    ``pick_values`` is the value that each pick had when it was made, NaN where nothing was picked.
    """

    order: Int64
    pick_values: Float
    counts: Mapping[str, int]


ReorderFunction = Callable[[Candidates, Int64, Float], Mapping[str, int]]  # writes to two arrays, returns counts


def reorder_lists(
    lists: Candidates, places: int, depth: int, reorder: ReorderFunction, *, threads: int | None = None
) -> Reordered:
    """Return the new order of all lists; ``reorder`` is called block by block over threads.

    The first ``places`` items of a list are picked from its first ``depth``. Counts in addition to those of
    ``reorder``: ``lists``; ``moved``, rows at another rank than before; ``short``, lists with fewer items than
    ``places``; ``few``, lists with fewer items than ``depth``.
    """
    n = lists.users.size
    order, pick_values = np.empty(lists.items.size, np.int64), np.full((n, places), np.nan)

    def fill(begin: int, end: int) -> Mapping[str, int]:
        rows = order[lists.offsets[begin] : lists.offsets[end]]
        own_counts = reorder(lists.block(begin, end), rows, pick_values[begin:end])
        moved = int((rows != np.arange(rows.size)).sum())
        rows += lists.offsets[begin]
        return {"moved": moved, **own_counts}

    block_counts = each_block(fill, n, size=LISTS_PER_BLOCK, threads=threads)
    lengths = np.diff(lists.offsets)
    counts = {"lists": n, "short": int((lengths < places).sum()), "few": int((lengths < depth).sum())}
    for own_counts in block_counts:
        for name, count in own_counts.items():
            counts[name] = counts.get(name, 0) + count
    return Reordered(order, pick_values, counts)
