"""Rows become lists: one contiguous group of rows per user, users ascending by id, whatever the order of rows.

A table that has this layout already is recognised in one pass over its user column, and nothing is moved. Otherwise
users get codes in the order of their ids, and each column is moved by a counting sort: first into partitions of
neighbouring users, then within each partition. Both steps write to few regions of memory at a time, so they stay within
the cache, and time is linear in the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import count_groups, scatter
from recassay.columnar.columns import HashedTexts, LazyColumns
from recassay.columnar.layout import compare_neighbours, narrowed, readonly, starts_in_parts, take_rows
from recassay.columnar.vocabulary import SPARSE, Ids, Vocabulary
from recassay.threads import blocks, each_block

Rows = pl.DataFrame | LazyColumns

FIRST_LOOK = 1 << 16  # rows after which most shuffled files are known to be shuffled
SHORT_RUN = 4  # rows of one user; shorter runs are numbered row by row
ROWS_PER_BLOCK = 1 << 20
ROWS_PER_PARTITION = 1 << 15  # so that a column of a partition fits the cache
MOST_PARTITIONS = 256  # written to at the same time; with more of them, each write misses the cache
PARTITIONS_PER_BLOCK = 8


class GroupedRows:
    """A table whose rows are grouped by user, users ascending; rows of a user keep their order.

    Columns are loaded and moved on access, one at a time. ``users`` are the distinct users, and ``offsets`` the bounds
    of their rows (one more than there are users).

    >>> rows = GroupedRows(pl.DataFrame({"user_id": ["b", "a", "b"], "item_id": [3, 1, 2]}), "user_id")
    >>> rows.users.to_list(), rows.offsets.tolist(), rows["item_id"].to_list()
    (['a', 'b'], [0, 1, 3], [1, 3, 2])
    """

    def __init__(self, table: Rows, by: str) -> None:
        self._table = table if isinstance(table, LazyColumns) else LazyColumns.of(table)
        self.remarks, self.columns, self.unit = self._table.remarks, self._table.columns, self._table.unit
        self._moves: _Moves | None = None
        ids = self._table.ids(by)
        starts = _starts_of_runs(ids)
        heads = None if starts is None else _ids_at(ids, starts)
        bounds = np.append(np.empty(0, np.int64) if starts is None else starts, self._table.rows)
        if heads is not None and heads.is_sorted():
            self.users, self.offsets = heads, bounds
        else:
            users, codes, low, groups = _codes_of(ids if heads is None else heads)
            self._moves = _Moves.of(codes if heads is None else np.repeat(codes, np.diff(bounds)), low, groups)
            used = np.diff(self._moves.offsets) > 0
            self.users = pl.Series(low + np.flatnonzero(used)) if users is None else users
            self.offsets = np.append(0, self._moves.offsets[1:][used])
        self.users = self.users.cast(pl.Int64) if self.users.dtype == pl.Int32 else self.users

    def __getitem__(self, name: str) -> pl.Series:
        values = self._table[name]
        if self._moves is None:
            return values
        if (values.dtype.is_integer() or values.dtype.is_float()) and not values.null_count():
            chunks = [chunk.to_numpy() for chunk in values.get_chunks()]
            if chunks[0].dtype.itemsize in (4, 8):
                return pl.Series(name, self._moves(*chunks))
        return values.gather(self._moves.order)

    def encode(self, name: str) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the vocabulary of a column of ids, and the code of each row in the grouped order."""
        vocabulary, codes = Vocabulary.encode(self._table.ids(name))
        return vocabulary, codes if self._moves is None else self._moves(codes)


@dataclass(frozen=True)
class _Moves:
    """The moves that bring the rows of a table into groups: first into partitions of groups, then into the groups.

    ``codes`` is the group of each row in the original order, plus ``low``; ``partitioned`` has the codes of the rows in
    their order after the first move. A partition holds 2^``shift`` neighbouring groups. ``offsets`` are the bounds of
    the groups, and ``starts`` (blocks of rows, partitions) is where the rows of a block begin in a partition.
    """

    codes: NDArray[np.int32]
    low: int
    shift: int
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    partitioned: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[np.int32], low: int, groups: int) -> _Moves:
        rows, codes = codes.size, readonly(codes)
        wanted = min(MOST_PARTITIONS, max(1, rows // ROWS_PER_PARTITION))
        shift = max(0, (groups - 1).bit_length() - (wanted - 1).bit_length())
        bounds = list(blocks(rows, ROWS_PER_BLOCK))
        counts = np.zeros((len(bounds), ((groups - 1) >> shift) + 1), np.int64)
        each_block(
            lambda begin, end: count_groups(codes, low, shift, begin, end, counts[begin // ROWS_PER_BLOCK]),
            rows,
            size=ROWS_PER_BLOCK,
        )
        starts = starts_in_parts(counts)
        several = starts.shape[1] > 1
        partitioned = readonly(_into_partitions((codes,), codes, low, shift, starts)) if several else codes
        ends, sizes = np.append(starts[0], rows).tolist(), np.zeros(groups, np.int64)

        def count(begin: int, end: int) -> None:
            for partition in range(begin, end):
                first = partition << shift
                count_groups(partitioned, low + first, 0, ends[partition], ends[partition + 1], sizes[first:])

        each_block(count, starts.shape[1], size=PARTITIONS_PER_BLOCK)
        return cls(codes, low, shift, np.append(0, np.cumsum(sizes)), starts, partitioned)

    def __call__(self, *chunks: NDArray[Any]) -> NDArray[Any]:
        """Return a column of 32-bit or 64-bit numbers, in chunks, with its rows in the order of their groups."""
        dtype = chunks[0].dtype
        given = [np.ascontiguousarray(chunk).view(f"u{dtype.itemsize}") for chunk in chunks]
        several = self.starts.shape[1] > 1
        moved = (
            _into_partitions(given, self.codes, self.low, self.shift, self.starts) if several else np.concatenate(given)
        )

        def fill(begin: int, end: int) -> None:
            """Move the rows of partitions begin..end to their groups, from a copy that is still in the cache."""
            for partition in range(begin, end):
                first = partition << self.shift
                last = min(first + (1 << self.shift), self.offsets.size - 1)
                rows = slice(int(self.offsets[first]), int(self.offsets[last]))
                part, places = readonly(moved[rows].copy()), self.offsets[first:last].copy()
                scatter(self.partitioned[rows], self.low + first, 0, 0, part.size, places, part, moved)

        each_block(fill, self.starts.shape[1], size=PARTITIONS_PER_BLOCK)
        return moved.view(dtype)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Return the original row number of each row in the grouped order, used to gather non-numeric columns."""
        return self(np.arange(self.codes.size))


def _into_partitions(
    chunks: Sequence[NDArray[Any]], codes: NDArray[np.int32], low: int, shift: int, starts: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the chunks of a column as one array whose rows are in the order of their partitions (see ``_Moves``)."""
    given = [readonly(chunk) for chunk in chunks]
    firsts = np.append(0, np.cumsum([chunk.size for chunk in given])).tolist()
    out = np.empty(codes.size, given[0].dtype)

    def fill(begin: int, end: int) -> None:
        places = starts[begin // ROWS_PER_BLOCK].copy()
        for chunk, first in zip(given, firsts, strict=False):
            left, right = max(begin, first), min(end, first + chunk.size)
            if left < right:
                part = chunk[left - first : right - first]
                scatter(codes[left:right], low, shift, 0, part.size, places, part, out)

    each_block(fill, out.size, size=ROWS_PER_BLOCK)
    return out


def _starts_of_runs(ids: Ids) -> NDArray[np.int64] | None:
    """Return the rows at which a new id begins; None if it is not worth numbering runs of equal ids.

    It is not worth it if most runs are short and ids do not ascend. Dicts of users and most exports have all rows of a
    user in one run, in any order of users.
    """
    numbers = ids.keys if isinstance(ids, HashedTexts) else ids.to_physical()
    starts = np.empty(0, np.int64)
    for rows in (min(FIRST_LOOK, numbers.len()), numbers.len()):
        differs = compare_neighbours(numbers.slice(0, rows), np.not_equal)
        later = each_block(
            partial(lambda mask, begin, end: np.flatnonzero(mask[begin:end]) + (begin + 1), differs),
            differs.size,
            size=ROWS_PER_BLOCK,
        )
        starts = np.concatenate([np.zeros(min(1, rows), np.int64), *later])
        if starts.size * SHORT_RUN > rows and not _ids_at(ids, starts).is_sorted():
            return None
        if rows == numbers.len():
            break
    return starts


def _ids_at(ids: Ids, rows: NDArray[np.int64]) -> pl.Series:
    """Return the ids of some rows, as integers or text."""
    found = take_rows(ids.texts if isinstance(ids, HashedTexts) else ids, rows)
    return found.cast(pl.String) if isinstance(found.dtype, pl.Categorical | pl.Enum) else found


def _codes_of(ids: Ids) -> tuple[pl.Series | None, NDArray[np.int32], int, int]:
    """Return (distinct ids, ascending; code of each id; lowest code; number of codes).

    32-bit integers that are close together are their own codes, from the lowest to the highest. Some of these may not
    occur, so the distinct ids are None. All other ids get the codes 0, 1, ... without gaps.
    """
    if isinstance(ids, pl.Series) and ids.dtype.is_integer() and (found := narrowed(ids)) is not None:
        codes, low, high = found
        if high - low < SPARSE * codes.size:
            return None, codes, low, high - low + 1
    vocabulary, codes = Vocabulary.dense(ids)
    return vocabulary.stored_ids, codes, 0, vocabulary.stored_ids.len()
