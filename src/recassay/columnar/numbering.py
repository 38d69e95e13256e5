"""Numbers for the distinct ids of a column, found by their hashes, and the order of these ids.

Where each id occurs often, ids are numbered in blocks of rows, one block on each thread, and then the few distinct ids
of all blocks are numbered together. Where a block has nearly as many ids as rows, that would number all rows twice, the
second time on one thread and in a table that outgrows the processor's cache. Then rows are first brought into parts by
their hash, so that all rows of an id are in one part, and each part is numbered on a thread.

Hashes come in chunks, as they were read: copying these into one array would take as long as numbering them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import LOWER, UPPER, count_parts, intern, put, scatter_to_parts
from recassay.columnar.columns import text_hashes
from recassay.columnar.layout import readonly, starts_in_parts
from recassay.threads import available, blocks, each_block

ROWS_PER_PIECE = 1 << 17
ROWS_PER_BLOCK = 1 << 20
BLOCKS_PER_THREAD = 2  # at most, where every block has nearly all ids
PART_BITS = 8  # 256 parts, written to at the same time; with more of them, each write misses the cache
FIRST_LOOK = 1 << 16  # rows whose ids tell how many different ids there may be
MANY = 7 / 8  # share of different ids there above which rows are brought into parts: a block has four rows of each
SLOTS = 1024  # of a new hash table

Words = NDArray[np.uint64]
GATHERED_PER_BLOCK = 1 << 16
MOST_SHARED = 4  # orders that are kept; tables that all differ would fill the memory


class Piece(NamedTuple):
    """Two hashes, a key and a check, of each of some consecutive rows; ``begin`` is the first of these rows."""

    begin: int
    keys: Words
    checks: Words


class DistinctIds(NamedTuple):
    """Distinct ids in the order of their numbers: the first row of each, and its two hashes."""

    rows: NDArray[np.int64]
    keys: Words
    checks: Words


@dataclass(frozen=True)
class Part:
    """Some rows whose ids are numbered together, in one hash table.

    ``rows`` are a range, or have the number of a row in the lower half of each word. ``codes`` has, for each of these
    rows, its position in ``numbers``, the numbers of the distinct ids of this part.
    """

    rows: slice | Words
    codes: NDArray[np.int32]
    numbers: slice | NDArray[np.int32]


@dataclass(frozen=True)
class Numbering:
    """Numbers 0, 1, ... of the ``distinct`` ids of a column.

    >>> ids = np.array([7, 5, 7], np.uint64)
    >>> numbering = Numbering.of([ids], [ids])
    >>> numbering.distinct.rows.tolist(), numbering.spread(np.array([70, 50], np.int32)).tolist()
    ([0, 1], [70, 50, 70])
    """

    distinct: DistinctIds
    parts: list[Part]
    rows: int

    @classmethod
    def of(cls, keys: Sequence[Words], checks: Sequence[Words]) -> Numbering:
        """Give numbers to the distinct pairs of a key and the upper half of a check, two hashes of each row's id.

        ``keys`` and ``checks`` are lists of chunks; the i-th chunk of both has the same rows.
        """
        firsts = list(accumulate((chunk.size for chunk in keys), initial=0))
        pieces = [  # small ones, so that threads get equal shares of them
            Piece(first + begin, readonly(some[begin:end]), readonly(others[begin:end]))
            for first, some, others in zip(firsts, keys, checks, strict=False)
            for begin, end in blocks(some.size, ROWS_PER_PIECE)
        ]
        rows = firsts[-1]
        if rows > ROWS_PER_BLOCK:
            look = Piece(0, pieces[0].keys[:FIRST_LOOK], pieces[0].checks[:FIRST_LOOK])
            if _Table().number([look])[1].rows.size > MANY * look.keys.size:
                return _in_parts(pieces, rows)
        # Few large blocks: each has nearly all ids, which one thread then numbers together.
        n_blocks = min(-(-rows // ROWS_PER_BLOCK), BLOCKS_PER_THREAD * available())
        shares = [list(share) for _, share in groupby(pieces, lambda piece: piece.begin * n_blocks // rows)] or [[]]
        found = each_block(lambda share, _: _Table().number(shares[share]), len(shares), size=1)
        if len(found) == 1:
            return cls(found[0][1], [Part(slice(0, rows), found[0][0], slice(None))], rows)
        every = _concatenated(distinct for _, distinct in found)
        shared, first = _Table().number([Piece(0, readonly(every.keys), readonly(every.checks))])
        numbers = np.split(shared, np.cumsum([distinct.rows.size for _, distinct in found])[:-1])
        parts = [
            Part(slice(share[0].begin, share[0].begin + codes.size), codes, own)
            for share, (codes, _), own in zip(shares, found, numbers, strict=True)
        ]
        at = first.rows
        return cls(DistinctIds(every.rows[at], every.keys[at], every.checks[at]), parts, rows)

    def spread(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return an array with a value per row: ``values[n]`` for a row whose id has the number n."""
        out = np.empty(self.rows, np.int32)

        def fill(number: int, _: int) -> None:
            part = self.parts[number]
            own = values[part.numbers]
            if isinstance(part.rows, slice):
                np.take(own, part.codes, out=out[part.rows], mode="clip")
            else:
                put(readonly(own), readonly(part.codes), readonly(part.rows), out)

        each_block(fill, len(self.parts), size=1)
        return out


class _Table:
    """A hash table that numbers the ids of one part after another; to clear it is faster than to get new memory."""

    def __init__(self) -> None:
        self.slots, self.first_row = np.zeros(2 * SLOTS, np.uint64), np.empty(SLOTS // 2, np.int64)

    def number(self, pieces: Sequence[Piece]) -> tuple[NDArray[np.int32], DistinctIds]:
        """Return the number of each row's id, by first appearance, and the distinct ids."""
        ends, count = np.cumsum([piece.keys.size for piece in pieces]).tolist(), 0
        codes = np.empty(ends[-1] if ends else 0, np.int32)
        self.slots[:] = 0
        for piece, end in zip(pieces, ends, strict=True):
            own, known = codes[end - piece.keys.size : end], (self.slots, self.first_row, count)
            self.slots, self.first_row, count = intern(piece.keys, piece.checks, piece.begin, *known, own)
        rows = self.first_row[:count].copy()
        keys, checks = np.empty(count, np.uint64), np.empty(count, np.uint64)
        edges = np.append(np.searchsorted(rows, [piece.begin for piece in pieces]), count).tolist()
        for piece, begin, end in zip(pieces, edges, edges[1:], strict=False):
            places = rows[begin:end] - piece.begin
            keys[begin:end], checks[begin:end] = piece.keys[places], piece.checks[places]
        return codes, DistinctIds(rows, keys, checks)


def _in_parts(pieces: Sequence[Piece], rows: int) -> Numbering:
    """Bring the rows into parts by the highest bits of their hash, and give numbers to the rows of each part."""
    shift = 64 - PART_BITS
    counts = np.zeros((len(pieces), 1 << PART_BITS), np.int64)
    each_block(lambda piece, _: count_parts(pieces[piece].keys, shift, counts[piece]), len(pieces), size=1)
    starts = starts_in_parts(counts)
    keys, checks = np.empty(rows, np.uint64), np.empty(rows, np.uint64)

    def scatter(place: int, _: int) -> None:
        own = pieces[place]
        scatter_to_parts(own.keys, own.checks, shift, own.begin, starts[place].copy(), keys, checks)

    each_block(scatter, len(pieces), size=1)
    keys, checks = readonly(keys), readonly(checks)
    ends, tables = np.append(starts[0], rows).tolist(), threading.local()

    def number(part: int, _: int) -> tuple[NDArray[np.int32], DistinctIds]:
        own = slice(ends[part], ends[part + 1])
        if not hasattr(tables, "own"):
            tables.own = _Table()
        codes, found = tables.own.number([Piece(0, keys[own], checks[own])])
        return codes, DistinctIds((found.checks & LOWER).astype(np.int64), found.keys, found.checks)

    found = each_block(number, 1 << PART_BITS, size=1)
    edges = np.append(0, np.cumsum([distinct.rows.size for _, distinct in found])).tolist()
    parts = [
        Part(checks[ends[part] : ends[part + 1]], codes, slice(edges[part], edges[part + 1]))
        for part, (codes, _) in enumerate(found)
    ]
    return Numbering(_concatenated(distinct for _, distinct in found), parts, rows)


def _concatenated(several: Iterable[DistinctIds]) -> DistinctIds:
    """Return one set of ids that has those of several sets, one set after another."""
    return DistinctIds(*map(np.concatenate, zip(*several, strict=True)))


TextOrder = tuple[pl.Series, Words, Words]  # texts in ascending order, and two hashes of each
_SHARED: ContextVar[dict[tuple[int, ...], TextOrder] | None] = ContextVar("orders", default=None)


@contextmanager
def sharing_orders() -> Iterator[None]:
    """Within a ``with`` block, sort equal sets of text ids once for all tables that are read."""
    before = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(before)


def ordered(ids: pl.Series, distinct: DistinctIds) -> tuple[pl.Series, NDArray[np.int32]]:
    """Return the ids of ``distinct`` in ascending order, and the position of each of ``distinct`` in this order.

    Within :func:`sharing_orders` equal sets of texts are sorted once. Two sets of ids are equal if they have the same
    size and the same sums of hashes. Polars sorts texts two to four times as fast as it finds the order that sorts
    them, so the positions are found by the hashes.
    """
    if ids.dtype != pl.String:
        ids = gathered(ids, distinct.rows)
        ascending = ids.arg_sort().to_numpy()
        places = np.empty(ascending.size, np.int32)
        places[ascending] = np.arange(ascending.size, dtype=np.int32)
        return ids.gather(ascending), places
    shared = _SHARED.get()
    sums = (int(words.sum(dtype=np.uint64)) for words in (distinct.keys, distinct.checks & UPPER))
    key = (distinct.rows.size, *sums)
    order = None if shared is None else shared.get(key)
    if order is None:
        texts = gathered(ids, distinct.rows).sort()
        order = texts, *text_hashes(texts)
        if shared is not None and len(shared) < MOST_SHARED:
            shared[key] = order
    texts, keys, checks = order
    numbering = Numbering.of([keys, distinct.keys], [checks, distinct.checks])
    return texts, numbering.spread(numbering.distinct.rows.astype(np.int32))[keys.size :]


def gathered(ids: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """Return the ids of these rows, gathered on all threads."""
    found = each_block(lambda begin, end: ids.gather(rows[begin:end]), rows.size, size=GATHERED_PER_BLOCK)
    return pl.concat(found, rechunk=False) if found else ids.clear()
