"""Ranked lists that are about to be put into another order, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly
from recassay.errors import InputError
from recassay.threads import each_block

LISTS_PER_BLOCK = 1_024

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """List q is ``items[offsets[q]:offsets[q + 1]]``, of the user ``users[q]`` of a log (-1: not in it), best first."""

    offsets: Int64
    items: Int32
    scores: Float
    users: Int32

    @classmethod
    def of_table(cls, items: Int32, scores: Float, users: Int32) -> Candidates:
        """From lists as models give them: (n, k), ending in -1.

        >>> items = np.array([[7, 8], [9, -1]], np.int32)
        >>> Candidates.of_table(items, np.zeros((2, 2)), np.array([0, 1], np.int32)).offsets.tolist()
        [0, 2, 3]
        """
        there = items >= 0
        offsets = np.append(0, np.cumsum(there.sum(axis=1)))
        return cls(offsets, items[there], scores[there], users)

    def block(self, begin: int, end: int) -> Candidates:
        """Lists begin..end."""
        rows = slice(self.offsets[begin], self.offsets[end])
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        parts = (offsets, self.items[rows], self.scores[rows], self.users[begin:end])
        return Candidates(*(readonly(part) for part in parts))

    def refuse_unscored(self, where: str = "") -> None:
        """Scores take part in every choice: all of them must be numbers."""
        if np.isfinite(self.scores.sum()) or np.isfinite(self.scores).all():
            return
        bad = ~np.isfinite(self.scores)
        row = int(np.argmax(bad))
        place = row - int(self.offsets[np.searchsorted(self.offsets, row, "right") - 1]) + 1
        raise InputError(
            "I391",
            f"{int(bad.sum()):,} of {bad.size:,} baseline scores are NaN or infinite, the first ({self.scores[row]}) "
            f"in place {place} of its list",
            where=where,
            hint="leave such items out of the lists, or give them a number",
        )


@dataclass(frozen=True, eq=False)
class Reordered:
    """The rows of all lists in their new order, what every pick was worth (lists, places), and counts."""

    order: Int64
    worth: Float
    counts: Mapping[str, int]


Reorder = Callable[[Candidates, Int64, Float], Mapping[str, int]]  # fills order and worth, and counts


def reordered(lists: Candidates, places: int, depth: int, reorder: Reorder, *, threads: int | None = None) -> Reordered:
    """Every block of lists in its new order.

    Counted beside what ``reorder`` counts: ``lists``; ``moved``, rows at another place than before; ``short``, lists
    with fewer items than places to fill; ``few``, lists with fewer items than candidates asked for.
    """
    n = lists.users.size
    order, worth = np.empty(lists.items.size, np.int64), np.full((n, places), np.nan)

    def fill(begin: int, end: int) -> Mapping[str, int]:
        rows = order[lists.offsets[begin] : lists.offsets[end]]
        found = reorder(lists.block(begin, end), rows, worth[begin:end])
        moved = int((rows != np.arange(rows.size)).sum())
        rows += lists.offsets[begin]
        return {"moved": moved, **found}

    parts = each_block(fill, n, size=LISTS_PER_BLOCK, threads=threads)
    lengths = np.diff(lists.offsets)
    counts = {"lists": n, "short": int((lengths < places).sum()), "few": int((lengths < depth).sum())}
    for part in parts:
        for name, count in part.items():
            counts[name] = counts.get(name, 0) + count
    return Reordered(order, worth, counts)
