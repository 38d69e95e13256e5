"""Ids of any type become small integer codes and can be restored.

Integer ids that fit 32 bits *are* their codes, so nothing is built or looked up. All other ids are numbered in
ascending order, so the order of codes is the order of ids, whatever the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import count_groups
from recassay.columnar.columns import HashedTexts, text_hashes
from recassay.columnar.layout import INT32, chunks_of, narrowed, readonly, take_numbers
from recassay.columnar.numbering import Numbering, ordered
from recassay.errors import InputError
from recassay.threads import blocks, each_block, worth_starting

SPARSE = 4  # a range of ids with up to this many integers per row is counted in a table
UNKNOWN = INT32.min  # the only 32-bit integer that is never a code
ROWS_PER_LOOK = 1 << 20
NO_IDS, NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)
DENSE = 16  # a look-up table over the id range may have up to this many entries per id


Ids = pl.Series | HashedTexts


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A set of ids and the integer codes that stand for them.

    The code of an id is its position in ``ids``, which ascends. If ``ids`` is None, the ids are 32-bit integers and are
    their own codes.

    >>> vocabulary, codes = Vocabulary.encode(pl.Series(["b", "a", "b"]))
    >>> codes.tolist(), vocabulary.decode(codes).to_list()
    ([1, 0, 1], ['b', 'a', 'b'])
    """

    ids: pl.Series | None

    @classmethod
    def encode(cls, ids: Ids) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the vocabulary of a column and the codes of its rows."""
        if isinstance(ids, pl.Series) and ids.dtype.is_integer() and (found := narrowed(ids)) is not None:
            return cls(None), found[0]
        return cls.dense(ids)

    @classmethod
    def dense(cls, ids: Ids) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the vocabulary of a column and the codes of its rows, with codes 0..n-1 for integer ids too."""
        if isinstance(ids, HashedTexts):
            keys, checks, ids = chunks_of(ids.keys)[0], chunks_of(ids.checks)[0], ids.texts
        elif isinstance(ids.dtype, pl.Categorical | pl.Enum):
            return cls._of_categories(ids)
        elif ids.dtype.is_integer():
            ids = ids if ids.dtype == pl.UInt64 else ids.cast(pl.Int64)
            keys = checks = [ids.to_numpy().view(np.uint64)]
        else:
            keys, checks = ([words] for words in text_hashes(ids))
        numbering = Numbering.of(keys, checks)
        ascending, code_of = ordered(ids, numbering.distinct)
        return cls(ascending), numbering.spread(code_of)

    @classmethod
    def _of_categories(cls, ids: pl.Series) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the vocabulary of a column of categories, as text, and the codes of its rows.

        Rows have the numbers of their categories, so only one text of each category is read.
        """
        numbers = ids.to_physical().to_numpy()
        row_of = np.full(int(numbers.max(initial=0)) + 1, -1)
        row_of[numbers] = np.arange(numbers.size)
        used = np.flatnonzero(row_of >= 0)
        vocabulary, codes = cls.dense(ids.gather(row_of[used]).cast(pl.String))
        code_of = np.zeros(row_of.size, np.int32)
        code_of[used] = codes
        return vocabulary, take_numbers(code_of, numbers)

    @property
    def stored_ids(self) -> pl.Series:
        """Return the ids, ascending; raise ValueError if they are their own codes, since they are then not stored."""
        if self.ids is None:
            raise ValueError("a vocabulary of 32-bit integers has no table")
        return self.ids

    @property
    def size(self) -> int:
        """Return the number of ids; raise ValueError if the ids are their own codes, since they are then not stored."""
        return self.stored_ids.len()

    @property
    def kind(self) -> str:
        """Return ``integer`` or ``string``, the type of the ids."""
        return "integer" if self.ids is None or self.ids.dtype.is_integer() else "string"

    def without_unused(self, codes: NDArray[np.int32]) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the vocabulary of only those ids that occur in ``codes``, and these codes translated to it.

        A vocabulary whose ids are their own codes is returned unchanged.

        >>> vocabulary, codes = Vocabulary.encode(pl.Series(["b", "a", "c"]))
        >>> less, fewer = vocabulary.without_unused(codes[[0, 2, 0]])
        >>> less.decode(fewer).to_list(), fewer.tolist()
        (['b', 'c', 'b'], [0, 1, 0])
        """
        if self.ids is None:
            return self, codes
        used = np.flatnonzero(np.bincount(codes, minlength=self.size))
        code_of = np.zeros(self.size, np.int32)
        code_of[used] = np.arange(used.size, dtype=np.int32)
        return Vocabulary(self.ids.gather(used)), code_of[codes]

    def decode(self, codes: NDArray[np.int32]) -> pl.Series:
        """Return the ids of these codes."""
        return pl.Series(codes.astype(np.int64)) if self.ids is None else self.ids.gather(codes)

    def translate(self, codes: NDArray[np.int32], target: Vocabulary) -> NDArray[np.int32]:
        """Return the codes of the same ids in the vocabulary ``target``; :data:`UNKNOWN` for an id that it lacks.

        If ids are their own codes in both vocabularies, the codes stay the same. An integer is the same id as the text
        of its digits.

        >>> numbers, codes = Vocabulary.encode(pl.Series([7, 30]))
        >>> texts, _ = Vocabulary.encode(pl.Series(["30", "x", "07"]))
        >>> numbers.translate(codes, texts).tolist() == [UNKNOWN, texts.ids.to_list().index("30")]
        True
        """
        if self.ids is target.ids or (self.ids is not None and target.ids is not None and self.ids.equals(target.ids)):
            return codes
        if target.ids is None:
            ids = as_int64(self.stored_ids)
            inside = ids.is_between(INT32.min + 1, INT32.max).fill_null(False)
            return ids.set(~inside, UNKNOWN).cast(pl.Int32).to_numpy()[codes]
        source, places = Vocabulary.dense(pl.Series(codes)) if self.ids is None else (self, codes)
        rows = rows_in_table(source.stored_ids, target.ids)
        return take_numbers(np.where(rows < 0, UNKNOWN, rows).astype(np.int32), places)


def count_codes(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct codes, ascending, and the number of rows of each.

    Codes of a table are close together, so rows are counted by code; ``np.unique`` takes 10 to 50 times as long.

    >>> distinct, counts = count_codes(np.array([7, 5, 7], np.int32))
    >>> distinct.tolist(), counts.tolist()
    ([5, 7], [1, 2])
    """
    if codes.size == 0:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    low, high = int(codes.min()), int(codes.max())
    if high - low >= SPARSE * codes.size + 4096:
        return np.unique(codes, return_counts=True)
    codes, size = readonly(codes), high - low + 1
    pieces = min(worth_starting(codes.size), codes.size // size)  # each thread counts in a table of its own

    def count(begin: int, end: int) -> NDArray[np.int64]:
        counts = np.zeros(size, np.int64)
        count_groups(codes, low, 0, begin, end, counts)
        return counts

    counts = np.sum(each_block(count, codes.size, size=-(-codes.size // max(1, pieces))), axis=0)
    found = np.flatnonzero(counts)
    return (found + low).astype(np.int32), counts[found]


def id_types_differ(what: str, left: Vocabulary, right: Vocabulary) -> InputError:
    """Return the error I403 for two tables, one with integer ids and one with strings; ``what`` is user or item."""
    return InputError(
        "I403",
        f"{what} ids are {left.kind}s in one table and {right.kind}s in the other, and none matches",
        hint="write both files with the same type of id",
    )


def as_int64(ids: pl.Series) -> pl.Series:
    """Return ids as 64-bit signed integers; a larger id, or a text that no integer prints, is null.

    >>> as_int64(pl.Series([1, 2**63], dtype=pl.UInt64)).to_list(), as_int64(pl.Series(["7", "07", "x"])).to_list()
    ([1, None], [7, None, None])
    """
    integers = ids.cast(pl.Int64, strict=False)
    return integers.set(integers.cast(pl.String) != ids, None) if ids.dtype == pl.String else integers


def concat_ids(columns: Iterable[pl.Series]) -> pl.Series:
    """Return several id columns as one: text if one of them is text, unsigned if ids need 64 bits without a sign.

    Raise I403 if ids need such bits, and another column has an id below 0.

    >>> concat_ids([pl.Series([1]), pl.Series([2**63], dtype=pl.UInt64)]).to_list()
    [1, 9223372036854775808]
    """
    given = list(columns)
    if any(ids.dtype == pl.String for ids in given):
        given = [ids.cast(pl.String) for ids in given]
    elif len({ids.dtype for ids in given}) > 1 and any(ids.dtype == pl.UInt64 for ids in given):
        given = [as_unsigned(ids) for ids in given]
    return pl.concat(given)


def as_unsigned(ids: pl.Series) -> pl.Series:
    """Return integer ids as 64-bit integers without a sign; raise I403 if one is below 0."""
    if ids.dtype.is_signed_integer() and (low := int(ids.min() or 0)) < 0:  # type: ignore[arg-type]
        raise InputError(
            "I403",
            f"integer ids are below 0 in one table, such as {low}, and need 64 bits without a sign in another, so no "
            "type holds both",
            hint="write the ids as text in all files",
        )
    return ids.cast(pl.UInt64)


def rows_in_table(ids: pl.Series, table: pl.Series) -> NDArray[np.int64]:
    """Return the row of each id in ``table``, a column of distinct ids; -1 if it lacks the id.

    An integer is the same id as the text of its digits.

    >>> rows_in_table(pl.Series(["a", "x"]), pl.Series(["x", "y", "z"])).tolist()
    [-1, 0]
    >>> rows_in_table(pl.Series([7, 8]), pl.Series(["07", "8"])).tolist()
    [-1, 1]
    """
    if ids is table or (ids.len() == table.len() and ids.dtype == table.dtype and ids.equals(table)):
        return np.arange(ids.len())
    if (ids.dtype == pl.String) != (table.dtype == pl.String):
        ids, table = ids.cast(pl.String), table.cast(pl.String)
    elif ids.dtype.is_integer() and ids.dtype != table.dtype:
        ids, table = as_int64(ids), as_int64(table)  # null matches nothing
    left = pl.DataFrame({"id": ids})
    right = pl.DataFrame({"id": table}).with_row_index("row")
    rows = left.join(right, on="id", how="left", maintain_order="left")["row"]
    return rows.cast(pl.Int64).fill_null(-1).to_numpy()


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
        if codes.size == 0:
            return cls(0, NO_ROWS, NO_IDS, NO_ROWS)
        low, high = int(codes[0]), int(codes[-1])
        if high - low >= DENSE * codes.size + 4096:
            return cls(0, None, codes, rows)
        table = np.full(high - low + 1, -1, np.int32)
        table[codes - low] = rows
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
