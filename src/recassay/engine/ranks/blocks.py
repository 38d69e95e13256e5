"""Blocks of users that are scored together: scores have the same bits whichever other users are queried.

A matrix product rounds a row by its position in the block, but not by the other rows. So the row of a user is derived
from the user's id: it is the same in every block and on every machine. A library's product rounds many rows alike. A
user may then have any row that is rounded as the user's own, and few rows of the blocks stay empty.
"""

from __future__ import annotations

import functools

import numpy as np
import polars as pl

from recassay.arrays import Int32, Int64
from recassay.columnar.identity import id_keys, mix
from recassay.columnar.layout import readonly
from recassay.threads import one_library_thread

BLOCK_ROWS = 48
EMPTY = -1  # a row of a block without a query
PROBES = 8  # products from which rows that round alike are known; where rows differ, most products show it


def row_in_block(ids: pl.Series) -> Int64:
    """Return the row of each user id in its block, from 0 to BLOCK_ROWS - 1: a hash of the id.

    >>> row_in_block(pl.Series([7, 8, 9])).tolist() == [row_in_block(pl.Series([user]))[0] for user in (7, 8, 9)]
    True
    """
    rows: Int64 = (mix(id_keys(ids)) % np.uint64(BLOCK_ROWS)).astype(np.int64)
    return rows


@functools.lru_cache(maxsize=64)
def alike_rows(width: int, columns: int) -> Int64:
    """Return a label for each row of a block: the first row that a matrix product rounds in the same way.

    The block has ``width`` columns. It is multiplied by a table of ``columns`` columns, in single precision and on one
    thread. Rounding depends on shapes only, so products of a block of equal rows show which rows differ.

    >>> int(alike_rows(1, 5).max())  # a single product has no order of adding
    0
    """
    numbers = (mix(np.arange(65_537, dtype=np.uint64)) >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - 1
    table, labels = np.resize(numbers, (width, columns)), np.zeros(BLOCK_ROWS, np.int64)
    with one_library_thread():
        for probe in range(PROBES):
            user = np.resize(numbers[::-1][probe * width % numbers.size :], width)
            bits = (np.tile(user, (BLOCK_ROWS, 1)) @ table).view(np.int32)
            for label in np.unique(labels):
                rows = np.flatnonzero(labels == label)
                while rows.size:
                    same = (bits == bits[rows[0]]).all(axis=1)[rows]
                    labels[rows[same]] = rows[0]
                    rows = rows[~same]
    return readonly(labels)


def query_blocks(rows: Int64, alike: Int64 | None = None) -> Int32:
    """Return a table with a row per block: the query in each row of the block, ``EMPTY`` if there is none.

    A block has BLOCK_ROWS rows. Every query is in one of the blocks: in the row that ``rows`` has for it, or in one
    with the same label in ``alike``. By default no two rows have the same label.

    >>> query_blocks(np.array([2, 0, 2]))[:, :3].tolist()
    [[1, -1, 0], [-1, -1, 2]]
    >>> query_blocks(np.array([2, 0, 2]), np.zeros(BLOCK_ROWS, int))[:, :3].tolist()
    [[0, 1, 2]]
    """
    alike = np.arange(BLOCK_ROWS) if alike is None else alike
    order = np.argsort(alike[rows], kind="stable")
    label = alike[rows][order]
    queries, places = (np.bincount(labels, minlength=BLOCK_ROWS) for labels in (label, alike))
    number = np.arange(rows.size) - (np.cumsum(queries) - queries)[label]  # among the queries with this label
    block, place = number // places[label], number % places[label]
    row = np.argsort(alike, kind="stable")[(np.cumsum(places) - places)[label] + place]
    blocks = np.full((block.max(initial=-1) + 1, BLOCK_ROWS), EMPTY, np.int32)
    blocks[block, row] = order
    return blocks
