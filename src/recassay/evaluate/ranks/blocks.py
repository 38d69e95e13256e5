"""Blocks of users that are scored together: each user has the same row in every block.

A matrix product rounds a row by its position in the block, but not by the other rows. So the row of a user is derived
from the user's id: scores have the same bits whichever other users are queried, and on whichever machines.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, mix

BLOCK_ROWS = 48
EMPTY = -1  # a row of a block without a query

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


def row_in_block(ids: pl.Series) -> Int64:
    """Return the row of each user id in its block, from 0 to BLOCK_ROWS - 1: a hash of the id.

    >>> row_in_block(pl.Series([7, 8, 9])).tolist() == [row_in_block(pl.Series([user]))[0] for user in (7, 8, 9)]
    True
    """
    rows: Int64 = (mix(id_keys(ids)) % np.uint64(BLOCK_ROWS)).astype(np.int64)
    return rows


def query_blocks(rows: Int64) -> Int32:
    """Return blocks (n, BLOCK_ROWS) with the number of the query in each row, ``EMPTY`` if there is none.

    Every query is in one of the blocks; ``rows`` is the row of each query in its block.

    >>> query_blocks(np.array([2, 0, 2]))[:, :3].tolist()
    [[1, -1, 0], [-1, -1, 2]]
    """
    order = np.argsort(rows, kind="stable")
    in_row = np.bincount(rows, minlength=BLOCK_ROWS)
    before = np.cumsum(in_row) - in_row
    blocks = np.full((in_row.max(initial=0), BLOCK_ROWS), EMPTY, np.int32)
    blocks[np.arange(rows.size) - before[rows[order]], rows[order]] = order
    return blocks
