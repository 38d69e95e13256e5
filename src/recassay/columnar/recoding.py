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
NO_IDS, NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)
DENSE = 16  # a look-up table over the id range may have up to this many entries per id


@dataclass(frozen=True, eq=False)
class Recoding:
    """A map from the codes of a vocabulary to the rows of the same ids in a table of distinct, ascending ids.

    An id that the table lacks is mapped to -1. ``table`` holds the rows of the codes ``low``, ``low + 1``, ... It is
    None where the ids are too far apart for such an array; then codes are searched in ``ids``, whose rows are ``rows``.
    An integer is the same id as the text of its digits.

    >>> source, codes = Vocabulary.encode(pl.Series([30, 10, 99]))
    >>> Recoding.between(source, pl.Series([10, 20, 30]))(codes).tolist()
    [2, 0, -1]
    """

    low: int
    table: NDArray[np.int32] | None
    ids: NDArray[np.int64]
    rows: NDArray[np.int32]

    @classmethod
    def between(cls, source: Vocabulary, ids: pl.Series, what: str = "item") -> Recoding:
        """Return the map from the codes of ``source`` to the rows of ``ids``.

        Raise I403 if one of the two has integers and the other strings, and none is the text of the other; ``what``
        names the kind of id in the error.
        """
        if source.ids is not None:
            found = rows_in_table(source.ids, ids)
            if source.kind != Vocabulary(ids).kind and not (found >= 0).any():
                raise id_types_differ(what, source, Vocabulary(ids))
            return cls(0, found.astype(np.int32), NO_IDS, NO_ROWS)
        integers = as_int64(ids)
        rows = integers.is_between(INT32.min, INT32.max).fill_null(False).arg_true().to_numpy().astype(np.int32)
        codes = integers.gather(rows).to_numpy()
        if ids.dtype == pl.String:  # texts ascend in another order
            if not codes.size:
                raise id_types_differ(what, source, Vocabulary(ids))
            order = np.argsort(codes, kind="stable")
            rows, codes = rows[order], codes[order]
        return cls._of_integers(codes, rows)

    @classmethod
    def _of_integers(cls, ids: NDArray[np.int64], rows: NDArray[np.int32]) -> Recoding:
        if ids.size == 0:
            return cls(0, NO_ROWS, NO_IDS, NO_ROWS)
        low, high = int(ids[0]), int(ids[-1])
        if high - low >= DENSE * ids.size + 4096:
            return cls(0, None, ids, rows)
        table = np.full(high - low + 1, -1, np.int32)
        table[ids - low] = rows
        return cls(low, table, NO_IDS, NO_ROWS)

    def __call__(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return for each code the row of its id in the table, -1 if the table lacks the id."""
        if self.table is None:
            place = np.minimum(np.searchsorted(self.ids, codes), self.ids.size - 1)
            return np.where(self.ids[place] == codes, self.rows[place], np.int32(-1))
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
