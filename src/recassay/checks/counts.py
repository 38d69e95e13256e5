"""Counts that checks make in lists and truth; counts of different users add up.

So a check of large files does not need the whole run or the whole truth in memory: it counts per partition of the users
and looks at the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary, concat_ids, count_codes
from recassay.data.interactions import Interactions
from recassay.metrics.align import Alignment

CheckCounts = Mapping[str, Any]  # by the code of a check; values have ``+``
NOBODY = np.iinfo(np.int64).max


class CheckInput(NamedTuple):
    """What the counting functions of checks read: lists aligned with the truth, and the training log.

    ``deepest`` is the largest cut-off, None without one.
    """

    alignment: Alignment
    deepest: int | None
    train: Interactions | None = None


@dataclass(frozen=True)
class RowShare:
    """The number of rows with some property (``part``), the number of all rows, and an example.

    The example ``first`` is the lowest user who has such a row, and a value of that row.

    >>> RowShare(1, 5, (7, "x")) + RowShare(2, 3, (4, "y")) + RowShare(0, 9)
    RowShare(part=3, whole=17, first=(4, 'y'))
    """

    part: int
    whole: int
    first: tuple[Any, Any] | None = None  # a user and a value

    def __add__(self, other: RowShare) -> RowShare:
        firsts = [each.first for each in (self, other) if each.first is not None]
        first = min(firsts, key=lambda pair: pair[0]) if firsts else None
        return RowShare(self.part + other.part, self.whole + other.whole, first)

    @classmethod
    def of_rows(
        cls,
        which: NDArray[np.bool_],
        users: pl.Series,
        offsets: NDArray[np.int64],
        items: NDArray[np.int32],
        vocabulary: Vocabulary,
    ) -> RowShare:
        """Return the number of rows that the mask ``which`` selects, and as an example the user and item of the first.

        The rows are those of ranked lists or of a truth: ``offsets[i]:offsets[i + 1]`` belong to ``users[i]``, and
        ``items`` are their item codes in ``vocabulary``.
        """
        if not which.any():
            return cls(0, which.size)
        row = int(np.argmax(which))
        user = users[int(np.searchsorted(offsets, row, side="right")) - 1]
        return cls(int(which.sum()), which.size, (user, vocabulary.decode(items[[row]])[0]))


@dataclass(frozen=True)
class ListLengths:
    """Number of lists shorter than the largest cut-off, number of all lists, and the length of the shortest.

    >>> ListLengths(1, 4, 3) + ListLengths(0, 0)
    ListLengths(short=1, lists=4, least=3)
    """

    short: int
    lists: int
    least: int = NOBODY

    def __add__(self, other: ListLengths) -> ListLengths:
        return ListLengths(self.short + other.short, self.lists + other.lists, min(self.least, other.least))


@dataclass(frozen=True, eq=False)
class ItemFrequencies:
    """How often each item occurs in some lists, and the number of these lists.

    >>> one = ItemFrequencies(2, pl.Series([5, 7]), np.array([2, 1]))
    >>> one += ItemFrequencies(1, pl.Series([7, 9]), np.array([1, 1]))
    >>> one.lists, one.items.to_list(), one.counts.tolist()
    (3, [5, 7, 9], [2, 2, 1])
    """

    lists: int
    items: pl.Series
    counts: NDArray[np.int64]

    @classmethod
    def of_codes(cls, codes: NDArray[np.int32], vocabulary: Vocabulary, lists: int) -> ItemFrequencies:
        """Return how often each item occurs; ``codes`` are those of a vocabulary, and ``lists`` the number of lists."""
        return cls.of_counts(*count_codes(codes), vocabulary, lists)

    @classmethod
    def of_counts(
        cls, distinct: NDArray[np.int32], counts: NDArray[np.int64], vocabulary: Vocabulary, lists: int
    ) -> ItemFrequencies:
        """Return how often each item occurs, from its code and its count."""
        return cls(lists, vocabulary.decode(distinct), counts)

    def __add__(self, other: ItemFrequencies) -> ItemFrequencies:
        items, counts = concat_ids([self.items, other.items]), np.concatenate([self.counts, other.counts])
        summed = pl.DataFrame({"item": items, "count": counts}).group_by("item").agg(pl.col("count").sum()).sort("item")
        return ItemFrequencies(self.lists + other.lists, summed["item"], summed["count"].to_numpy())
