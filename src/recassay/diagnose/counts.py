"""What checks count in lists and truth. Counts of some users and of others add up to those of both.

So a check needs neither a whole run nor a whole truth in memory: it counts in parts, and is asked about the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.vocabulary import Vocabulary, stacked
from recassay.metrics.align import Meeting

Counted = Mapping[str, Any]  # by the code of a check: something that adds up
NOBODY = np.iinfo(np.int64).max


class Sight(NamedTuple):
    """What there is to count in: lists that met the truth, of all users or some, and what is the same for all."""

    meeting: Meeting
    deepest: int | None
    train: Interactions | None = None


@dataclass(frozen=True)
class Share:
    """So many rows of so many, and the value in the first of them, whose user is the least.

    >>> Share(1, 5, (7, "x")) + Share(2, 3, (4, "y")) + Share(0, 9)
    Share(part=3, whole=17, first=(4, 'y'))
    """

    part: int
    whole: int
    first: tuple[Any, Any] | None = None  # a user and a value

    def __add__(self, other: Share) -> Share:
        firsts = [one.first for one in (self, other) if one.first is not None]
        first = min(firsts, key=lambda one: one[0]) if firsts else None
        return Share(self.part + other.part, self.whole + other.whole, first)

    @classmethod
    def of_rows(
        cls,
        which: NDArray[np.bool_],
        users: pl.Series,
        offsets: NDArray[np.int64],
        items: NDArray[np.int32],
        vocabulary: Vocabulary,
    ) -> Share:
        """Rows of lists, or of a truth; the value is the item."""
        if not which.any():
            return cls(0, which.size)
        row = int(np.argmax(which))
        user = users[int(np.searchsorted(offsets, row, side="right")) - 1]
        return cls(int(which.sum()), which.size, (user, vocabulary.decode(items[[row]])[0]))


@dataclass(frozen=True)
class Lengths:
    """Lists, those that are short, and the length of the shortest.

    >>> Lengths(1, 4, 3) + Lengths(0, 0)
    Lengths(short=1, lists=4, least=3)
    """

    short: int
    lists: int
    least: int = NOBODY

    def __add__(self, other: Lengths) -> Lengths:
        return Lengths(self.short + other.short, self.lists + other.lists, min(self.least, other.least))


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each item stands in some rows; ``lists`` are those they are of.

    >>> one = Frequencies(2, pl.Series([5, 7]), np.array([2, 1])) + Frequencies(1, pl.Series([7, 9]), np.array([1, 1]))
    >>> one.lists, one.items.to_list(), one.counts.tolist()
    (3, [5, 7, 9], [2, 2, 1])
    """

    lists: int
    items: pl.Series
    counts: NDArray[np.int64]

    @classmethod
    def of_codes(cls, codes: NDArray[np.int32], vocabulary: Vocabulary, lists: int) -> Frequencies:
        """Of items as a vocabulary codes them."""
        distinct, counts = np.unique(codes, return_counts=True)
        return cls(lists, vocabulary.decode(distinct), counts)

    def __add__(self, other: Frequencies) -> Frequencies:
        items, counts = stacked([self.items, other.items]), np.concatenate([self.counts, other.counts])
        summed = pl.DataFrame({"item": items, "count": counts}).group_by("item").agg(pl.col("count").sum()).sort("item")
        return Frequencies(self.lists + other.lists, summed["item"], summed["count"].to_numpy())
