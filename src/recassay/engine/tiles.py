"""Who is scored together: tiles of users, in which each has a row that is his or hers in every tile.

A matrix product rounds a row by where it stands among others, and not by what the others are. So a user's row is drawn
from the id: whoever else is asked, and however users are dealt out to machines, the scores have the same bits.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import id_keys, mix

TILE = 48
NOBODY = -1

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


def rows_of(ids: pl.Series) -> Int64:
    """The row that each user has in a tile.

    >>> rows_of(pl.Series([7, 8, 9])).tolist() == [rows_of(pl.Series([user]))[0] for user in (7, 8, 9)]
    True
    """
    found: Int64 = (mix(id_keys(ids)) % np.uint64(TILE)).astype(np.int64)
    return found


def tiles_of(rows: Int64) -> Int32:
    """Tiles (n, TILE) that hold everybody once: the number of who stands in each row, or ``NOBODY``.

    >>> tiles_of(np.array([2, 0, 2]))[:, :3].tolist()
    [[1, -1, 0], [-1, -1, 2]]
    """
    order = np.argsort(rows, kind="stable")
    many = np.bincount(rows, minlength=TILE)
    before = np.cumsum(many) - many
    tiles = np.full((many.max(initial=0), TILE), NOBODY, np.int32)
    tiles[np.arange(rows.size) - before[rows[order]], rows[order]] = order
    return tiles
