"""Counts that checks make in lists and truth; counts of different users add up.

So a check of large files does not need the whole run or the whole truth in memory: it counts per partition of the users
and looks at the sum.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Int32, Int64
from recassay.columnar.vocabulary import Vocabulary, concat_ids
from recassay.metrics.align import Alignment, AlignmentCounts, joined

MOST_USERS = 10_000  # users whose ids are kept, the first ones by id


@dataclass(frozen=True, eq=False)
class CheckCounts:
    """What was counted for the checks in the lists and the truth of some users, by name.

    ``sums`` are numbers, ``ranges`` the lowest and the highest of some numbers, ``examples`` a user and a value, of the
    lowest user, ``remarks`` sentences on a whole file, and ``ids`` distinct ids. ``frequencies`` are tables of items
    and how often each occurs.

    >>> one = CheckCounts({"rows": 3}, {"gains": (0.0, 2.0)}, {"seen": (7, "x")})
    >>> both = one + CheckCounts({"rows": 2}, {"gains": (0.5, 3.0)}, {"seen": (4, "y")})
    >>> both.sums, both.ranges, both.examples
    ({'rows': 5}, {'gains': (0.0, 3.0)}, {'seen': (4, 'y')})
    """

    sums: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    examples: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, pl.Series] = field(default_factory=dict)
    frequencies: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __add__(self, other: CheckCounts) -> CheckCounts:
        return CheckCounts(*(joined(join, getattr(self, name), getattr(other, name)) for name, join in JOINS.items()))

    def facts(self, met: AlignmentCounts) -> dict[str, Any]:
        """Return the counts that say something as facts for checks, with those of an alignment: numbers are above 0."""
        numbers = {name: number for name, number in {**vars(met), **self.sums}.items() if number}
        return {**numbers, **self.ranges, **self.examples, **self.remarks, **self.ids, **self.frequencies}


def _joined_ids(mine: pl.Series, theirs: pl.Series) -> pl.Series:
    ids = concat_ids([mine, theirs]).unique().sort()
    return ids.head(MOST_USERS) if mine.name == "user" else ids


def _joined_frequencies(mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    items = concat_ids([mine["item"], theirs["item"]])
    table = pl.DataFrame({"item": items, "count": np.append(mine["count"], theirs["count"])})
    return table.group_by("item").agg(pl.col("count").sum()).sort("item")


JOINS: Mapping[str, Callable[[Any, Any], Any]] = {  # how two values of a name become one
    "sums": operator.add,
    "ranges": lambda mine, theirs: (min(mine[0], theirs[0]), max(mine[1], theirs[1])),
    "examples": lambda mine, theirs: min(mine, theirs, key=lambda pair: (pair[0], str(pair[1]))),
    "remarks": lambda mine, _: mine,
    "ids": _joined_ids,
    "frequencies": _joined_frequencies,
}


def frequencies(counts: tuple[Int32, Int64], vocabulary: Vocabulary) -> pl.DataFrame:
    """Return a table of items and how often each occurs, from codes of a vocabulary and the count of each."""
    return pl.DataFrame({"item": vocabulary.decode(counts[0]), "count": counts[1]})


def count_lengths(alignment: Alignment, deepest: int | None) -> CheckCounts:
    """Return the number of lists, and of those that are shorter than the largest cut-off, and the range of lengths."""
    lengths = alignment.judged_lengths
    short = int(np.count_nonzero(lengths < (deepest or 0)))
    ranges = {"lengths": (int(lengths.min()), int(lengths.max()))} if lengths.size else {}
    return CheckCounts({"short_lists": short, "judged_lists": lengths.size}, ranges)
