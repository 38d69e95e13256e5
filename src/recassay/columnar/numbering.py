"""Numbers for the distinct ids of a column, found by their hashes.

Ids of which each occurs often are numbered in blocks of rows, one block on each thread, and then the few distinct ids
of all blocks are numbered together. Where a block has nearly as many ids as rows, that would number all rows twice, the
second time on one thread and in a table that outgrows the processor's cache. Then rows are first brought into parts by
their hash, so that all rows of an id are in one part, and each part is numbered on a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.columnar._numbering import count_parts, intern, put, scatter_to_parts
from recassay.columnar.layout import readonly, starts_in_parts
from recassay.threads import available, blocks, each_block

ROWS_PER_BLOCK = 1 << 20
BLOCKS_PER_THREAD = 2  # at most, where every block has nearly all ids
PART_BITS = 8  # 256 parts, written to at the same time; with more of them, each write misses the cache
FIRST_LOOK = 1 << 16  # rows whose ids tell how many different ids there may be
MANY = 7 / 8  # share of different ids there above which rows are brought into parts: a block has four rows of each

NO_ROWS = np.empty(0, np.int64)

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Part:
    """Some rows, numbered together.

    ``codes`` has, for each of ``rows``, its position in ``numbers``, the numbers of the distinct ids of this part.
    """

    rows: slice | NDArray[np.uint32]
    codes: NDArray[np.int32]
    numbers: slice | NDArray[np.int32]


@dataclass(frozen=True)
class Numbering:
    """Numbers 0, 1, ... of the distinct ids of a column. ``first_rows`` has the first row of each number's id.

    >>> ids = np.array([7, 5, 7], np.uint64)
    >>> numbering = Numbering.of(ids, ids)
    >>> numbering.first_rows.tolist(), numbering.spread(np.array([70, 50], np.int32)).tolist()
    ([0, 1], [70, 50, 70])
    """

    first_rows: NDArray[np.int64]
    parts: list[Part]
    rows: int

    @classmethod
    def of(cls, keys: Words, checks: Words) -> Numbering:
        """Give numbers to the distinct pairs of a key and the upper half of a check, two hashes of each row's id."""
        keys, checks = readonly(keys), readonly(checks)
        if keys.size > ROWS_PER_BLOCK:
            _, first = intern(keys[:FIRST_LOOK], checks[:FIRST_LOOK])
            if first.size > MANY * FIRST_LOOK:
                return _in_parts(keys, checks)
        return _in_blocks(keys, checks)

    def spread(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return for each row the value of its number; ``values`` has one for each number."""
        out = np.empty(self.rows, np.int32)

        def fill(begin: int, end: int) -> None:
            for part in self.parts[begin:end]:
                own = values[part.numbers]
                if isinstance(part.rows, slice):
                    np.take(own, part.codes, out=out[part.rows], mode="clip")
                else:
                    put(readonly(own), readonly(part.codes), readonly(part.rows), out)

        each_block(fill, len(self.parts), size=1)
        return out


def _in_blocks(keys: Words, checks: Words) -> Numbering:
    """Give numbers to the rows of each block, and then to the distinct ids of all blocks together."""
    # Few large blocks: each has nearly all ids, which one thread then numbers together.
    n_blocks = max(1, min(-(-keys.size // ROWS_PER_BLOCK), BLOCKS_PER_THREAD * available()))
    size = max(1, -(-keys.size // n_blocks))
    bounds = list(blocks(keys.size, size))
    found = each_block(lambda begin, end: intern(keys[begin:end], checks[begin:end]), keys.size, size=size)
    if len(found) == 1:
        codes, first = found[0]
        return Numbering(first, [Part(slice(0, keys.size), codes, slice(None))], keys.size)
    rows = np.concatenate([first + begin for (_, first), (begin, _) in zip(found, bounds, strict=True)] or [NO_ROWS])
    shared, first = intern(readonly(keys[rows]), readonly(checks[rows]))
    edges = np.cumsum([first_rows.size for _, first_rows in found])[:-1]
    parts = [
        Part(slice(*bound), codes, numbers)
        for bound, (codes, _), numbers in zip(bounds, found, np.split(shared, edges), strict=False)
    ]
    return Numbering(rows[first], parts, keys.size)


def _in_parts(keys: Words, checks: Words) -> Numbering:
    """Bring the rows into parts by the highest bits of their hash, and give numbers to the rows of each part."""
    shift = 64 - PART_BITS
    bounds = list(blocks(keys.size, ROWS_PER_BLOCK))
    counts = np.zeros((len(bounds), 1 << PART_BITS), np.int64)
    each_block(
        lambda begin, end: count_parts(keys[begin:end], shift, counts[begin // ROWS_PER_BLOCK]),
        keys.size,
        size=ROWS_PER_BLOCK,
    )
    starts = starts_in_parts(counts)
    part_keys, part_checks, rows = np.empty_like(keys), np.empty_like(checks), np.empty(keys.size, np.uint32)

    def scatter(begin: int, end: int) -> None:
        place = starts[begin // ROWS_PER_BLOCK].copy()
        scatter_to_parts(keys[begin:end], checks[begin:end], shift, begin, place, part_keys, part_checks, rows)

    each_block(scatter, keys.size, size=ROWS_PER_BLOCK)
    part_keys, part_checks = readonly(part_keys), readonly(part_checks)
    ends = np.append(starts[0], keys.size).tolist()
    found = each_block(
        lambda part, _: intern(part_keys[ends[part] : ends[part + 1]], part_checks[ends[part] : ends[part + 1]]),
        1 << PART_BITS,
        size=1,
    )
    edges = np.append(0, np.cumsum([first.size for _, first in found])).tolist()
    own_rows = [rows[ends[part] : ends[part + 1]] for part in range(len(found))]
    parts = [
        Part(own, codes, slice(edges[part], edges[part + 1]))
        for part, (own, (codes, _)) in enumerate(zip(own_rows, found, strict=True))
    ]
    first_rows = np.concatenate([own[first] for own, (_, first) in zip(own_rows, found, strict=True)])
    return Numbering(first_rows.astype(np.int64), parts, keys.size)
