"""Ascending orders of text ids, which the tables of one call share: runs mostly have the users and items of the truth.

To sort the texts of ten million users takes a tenth of the time of reading their lists. A second table with the same
ids, known by their hashes, takes the order of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._numbering import UPPER
from recassay.columnar.numbering import DistinctIds, Numbering, Words
from recassay.columnar.texts import text_hashes
from recassay.threads import each_block

GATHERED_PER_BLOCK = 1 << 16
MOST_SHARED = 4  # orders that are kept; tables that all differ would fill the memory

Key = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class TextOrder:
    """Distinct texts in ascending order, and two hashes of each (see :func:`recassay.columnar.texts.text_hashes`)."""

    texts: pl.Series
    keys: Words
    checks: Words

    @classmethod
    def of(cls, ids: pl.Series, distinct: DistinctIds) -> TextOrder:
        """Return the order of the ids in the rows of ``distinct``; within :func:`sharing_orders` each is found once."""
        shared = _SHARED.get()
        if shared is None:
            return cls._sorted(ids, distinct)
        key = _key(distinct)
        if (found := shared.get(key)) is None:
            found = cls._sorted(ids, distinct)
            if len(shared) < MOST_SHARED:
                shared[key] = found
        return found

    @classmethod
    def _sorted(cls, ids: pl.Series, distinct: DistinctIds) -> TextOrder:
        texts = gathered(ids, distinct.rows).sort()
        return cls(texts, *text_hashes(texts))

    def places(self, distinct: DistinctIds) -> NDArray[np.int32]:
        """Return the position in this order of each id of ``distinct``, found by its hashes.

        Polars sorts texts two to four times as fast as it finds the order that sorts them.
        """
        numbering = Numbering.of([self.keys, distinct.keys], [self.checks, distinct.checks])
        return numbering.spread(numbering.distinct.rows.astype(np.int32))[self.keys.size :]


_SHARED: ContextVar[dict[Key, TextOrder] | None] = ContextVar("orders", default=None)


@contextmanager
def sharing_orders() -> Iterator[None]:
    """Let all tables that are read within a ``with`` block share the orders of their text ids."""
    before = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(before)


def _key(distinct: DistinctIds) -> Key:
    """Return what two sets of ids have in common only if they are equal: their size, and sums of their hashes."""
    keys, checks = (int(words.sum(dtype=np.uint64)) for words in (distinct.keys, distinct.checks & UPPER))
    return distinct.rows.size, keys, checks


def gathered(ids: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """Return the ids of these rows, found on all threads."""
    if rows.size <= GATHERED_PER_BLOCK:
        return ids.gather(rows)
    found = each_block(lambda begin, end: ids.gather(rows[begin:end]), rows.size, size=GATHERED_PER_BLOCK)
    return pl.concat(found, rechunk=False)
