"""Translation of codes between vocabularies: from the items of a run to those of the training log, for example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import INT32
from recassay.columnar.vocabulary import Vocabulary, as_int64, id_types_differ, rows_in_table
from recassay.errors import InputError
from recassay.threads import blocks

ROWS_PER_LOOK = 1 << 20
DENSE = 16  # a look-up table over the id range may have up to this many entries per id


@dataclass(frozen=True, eq=False)
class Recoding:
    """A map from the codes of a vocabulary to the rows of the same ids in a table of distinct, ascending ids.

    An id that the table lacks is mapped to -1. ``table`` holds the rows of the codes ``low``, ``low + 1``, ... It is
    None where the ids are too far apart for such an array; then codes are searched in ``ids``.

    >>> source, codes = Vocabulary.encode(pl.Series([30, 10, 99]))
    >>> Recoding.between(source, pl.Series([10, 20, 30]))(codes).tolist()
    [2, 0, -1]
    """

    low: int
    table: NDArray[np.int32] | None
    ids: NDArray[np.int64]

    @classmethod
    def between(cls, source: Vocabulary, ids: pl.Series, what: str = "item") -> Recoding:
        """Return the map from the codes of ``source`` to the rows of ``ids``.

        Raise I403 if one of the two has integer ids and the other has strings; ``what`` names the kind of id in the
        error.
        """
        target = Vocabulary(ids)
        if source.kind != target.kind:
            raise id_types_differ(what, source, target)
        if source.ids is not None:
            return cls(0, rows_in_table(source.ids, ids).astype(np.int32), np.empty(0, np.int64))
        ids = as_int64(ids)
        inside = ids.filter(ids.is_between(INT32.min, INT32.max))
        below = int((ids < INT32.min).sum())
        return cls._of_integers(inside.to_numpy(), below)

    @classmethod
    def _of_integers(cls, ids: NDArray[np.int64], below: int) -> Recoding:
        if ids.size == 0:
            return cls(0, np.empty(0, np.int32), ids)
        low, high = int(ids[0]), int(ids[-1])
        if high - low >= DENSE * ids.size + 4096:
            return cls(below, None, ids)
        table = np.full(high - low + 1, -1, np.int32)
        table[ids - low] = below + np.arange(ids.size, dtype=np.int32)
        return cls(low, table, ids)

    def __call__(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return for each code the row of its id in the table, -1 if the table lacks the id."""
        if self.table is None:
            place = np.minimum(np.searchsorted(self.ids, codes), self.ids.size - 1)
            return np.where(self.ids[place] == codes, self.low + place, -1).astype(np.int32)
        if self.table.size == 0:
            return np.full(codes.shape, -1, np.int32)
        place = codes.astype(np.int64) - self.low
        known = (place >= 0) & (place < self.table.size)
        if known.all():
            return self.table[place]
        return np.where(known, self.table[np.where(known, place, 0)], np.int32(-1))

    def require_overlap(
        self, codes: NDArray[np.int32], source: Vocabulary, ids: pl.Series, *, code: str, what: str, where: str
    ) -> Recoding:
        """Return this map if at least one of ``codes`` has its id in the table ``ids``, else raise an error.

        Without any common id the two tables name the same items differently. ``source`` decodes the codes for the
        message. ``code`` is the error code, ``what`` names the table of ``ids``, and ``where`` the file.
        """
        for begin, end in blocks(codes.size, ROWS_PER_LOOK):
            if (self(codes[begin:end]) >= 0).any():
                return self
        ours, theirs = source.decode(codes[:3]).to_list(), ids.head(3).to_list()
        raise InputError(
            code,
            f"no item of the run (such as {', '.join(map(repr, ours))}) is in the {what} "
            f"(such as {', '.join(map(repr, theirs))})",
            where=where,
            hint="check that both files use the same ids, and name the columns with --columns item=...",
        )
