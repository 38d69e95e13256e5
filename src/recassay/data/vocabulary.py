"""Ids of any kind become small integers and come back.

Integer ids that fit 32 bits *are* their codes (nothing to build, nothing to look up). All other ids are numbered in
ascending order, so that the order of codes is the order of ids, whatever order the rows came in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data._kernels import intern
from recassay.data.layout import as_int32, hashes, readonly
from recassay.errors import InputError
from recassay.threads import blocks, each_block

INT32 = np.iinfo(np.int32)
ROWS_PER_BLOCK = 1 << 20
UNKNOWN = INT32.min  # the one 32-bit integer that is never a code


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A set of ids and their codes. ``ids`` is None when ids are their own codes.

    >>> vocabulary, codes = Vocabulary.encode(pl.Series(["b", "a", "b"]))
    >>> codes.tolist(), vocabulary.decode(codes).to_list()
    ([1, 0, 1], ['b', 'a', 'b'])
    """

    ids: pl.Series | None

    @classmethod
    def encode(cls, ids: pl.Series) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary of a column and the column's codes."""
        if ids.dtype.is_integer():
            if ids.len() == 0:
                return cls(None), np.empty(0, np.int32)
            low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
            if INT32.min < low and high <= INT32.max:
                return cls(None), as_int32(ids)
        return cls.dense(ids)

    @classmethod
    def dense(cls, ids: pl.Series) -> tuple[Vocabulary, NDArray[np.int32]]:
        """As :meth:`encode`, with codes 0..n-1 for integers too."""
        if ids.dtype.is_integer():
            ids = ids if ids.dtype == pl.UInt64 else ids.cast(pl.Int64)
            keys = ids.to_numpy().view(np.uint64)
            return cls._interned(ids, keys, keys)
        return cls._interned(ids, *hashes(ids))

    @classmethod
    def _interned(
        cls, ids: pl.Series, keys: NDArray[np.uint64], checks: NDArray[np.uint64]
    ) -> tuple[Vocabulary, NDArray[np.int32]]:
        numbers, first_row, parts = _interned_in_blocks(keys, checks)
        distinct = ids.gather(first_row)
        order = distinct.arg_sort().to_numpy()
        code_of = np.empty(order.size, np.int32)  # of a number given in order of arrival
        code_of[order] = np.arange(order.size, dtype=np.int32)
        codes = np.empty(keys.size, np.int32)

        def recode(begin: int, end: int) -> None:
            part = begin // ROWS_PER_BLOCK
            np.take(code_of[numbers[part]], parts[part], out=codes[begin:end], mode="clip")

        each_block(recode, keys.size, size=ROWS_PER_BLOCK)
        return cls(distinct.gather(order)), codes

    @property
    def size(self) -> int:
        """Number of codes of a table."""
        if self.ids is None:
            raise ValueError("a vocabulary of 32-bit integers has no table")
        return self.ids.len()

    @property
    def kind(self) -> str:
        """``integer`` or ``string``, as a person would say it."""
        return "integer" if self.ids is None or self.ids.dtype.is_integer() else "string"

    def without_unused(self, codes: NDArray[np.int32]) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary of the ids that some codes stand for, and these codes in it; for dense codes.

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
        """The ids behind codes."""
        return pl.Series(codes.astype(np.int64)) if self.ids is None else self.ids.gather(codes)

    def translate(self, codes: NDArray[np.int32], target: Vocabulary) -> NDArray[np.int32]:
        """The same ids as codes of another vocabulary; :data:`UNKNOWN` where it does not have them.

        Two vocabularies without a table share their codes already.
        """
        if self.ids is target.ids or (self.ids is not None and target.ids is not None and self.ids.equals(target.ids)):
            return codes
        if self.kind != target.kind:
            raise mixed_kinds("item", self, target)
        if self.ids is None:
            assert target.ids is not None  # else the codes were returned above
            distinct, inverse = np.unique(codes, return_inverse=True)
            return _known(positions(pl.Series(distinct.astype(np.int64)), target.ids))[inverse]
        if target.ids is None:
            ids = signed(self.ids)
            inside = ids.is_between(INT32.min + 1, INT32.max).fill_null(False)
            return ids.set(~inside, UNKNOWN).cast(pl.Int32).to_numpy()[codes]
        return _known(positions(self.ids, target.ids))[codes]


def _interned_in_blocks(
    keys: NDArray[np.uint64], checks: NDArray[np.uint64]
) -> tuple[list[NDArray[np.int32]], NDArray[np.int64], list[NDArray[np.int32]]]:
    """Number distinct keys: each block by itself on a thread, then the distinct keys of all blocks together.

    Returns for each block the numbers of its own distinct keys, the first row of every number, and for each block which
    of its own distinct keys every row holds.
    """
    keys, checks = readonly(keys), readonly(checks)
    cuts = blocks(keys.size, ROWS_PER_BLOCK)
    found = each_block(lambda begin, end: intern(keys[begin:end], checks[begin:end]), keys.size, size=ROWS_PER_BLOCK)
    if not found:
        return [], np.empty(0, np.int64), []
    rows = np.concatenate([first + begin for (_, first), (begin, _) in zip(found, cuts, strict=True)])
    shared, first = intern(readonly(keys[rows]), readonly(checks[rows]))
    edges = np.cumsum([own.size for _, own in found])[:-1]
    return np.split(shared, edges), rows[first], [part for part, _ in found]


def _known(places: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.where(places < 0, UNKNOWN, places).astype(np.int32)


def mixed_kinds(what: str, left: Vocabulary, right: Vocabulary) -> InputError:
    """The error for a table with integer ids that meets one with strings."""
    return InputError(
        "I403",
        f"{what} ids are {left.kind}s in one table and {right.kind}s in the other, so none can match",
        hint="write both files with the same type of id",
    )


def signed(ids: pl.Series) -> pl.Series:
    """Integer ids as 64-bit signed integers; unsigned ids too large for that become null.

    >>> signed(pl.Series([1, 2**63], dtype=pl.UInt64)).to_list()
    [1, None]
    """
    return ids.cast(pl.Int64, strict=False)


def stacked(parts: Iterable[pl.Series]) -> pl.Series:
    """Ids of several parts of one column, one behind the other; large unsigned ids make all of them unsigned.

    >>> stacked([pl.Series([1]), pl.Series([2**63], dtype=pl.UInt64)]).to_list()
    [1, 9223372036854775808]
    """
    given = list(parts)
    if len({part.dtype for part in given}) > 1 and any(part.dtype == pl.UInt64 for part in given):
        given = [part.cast(pl.UInt64) for part in given]
    return pl.concat(given)


def positions(ids: pl.Series, table: pl.Series) -> NDArray[np.int64]:
    """For each id its row in a table of distinct ids, or -1.

    >>> positions(pl.Series(["a", "x"]), pl.Series(["x", "y", "z"])).tolist()
    [-1, 0]
    """
    if ids.len() == table.len() and ids.dtype == table.dtype and ids.equals(table):
        return np.arange(ids.len())
    if ids.dtype.is_integer() and ids.dtype != table.dtype:
        ids, table = signed(ids), signed(table)  # null meets nothing
    left = pl.DataFrame({"id": ids})
    right = pl.DataFrame({"id": table}).with_row_index("row")
    rows = left.join(right, on="id", how="left", maintain_order="left")["row"]
    return rows.cast(pl.Int64).fill_null(-1).to_numpy()
