"""Draws from rows of probabilities: the first item whose cumulative probability is above a lot.

Held to the readable twin in ``tests/property/test_generate.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def pick(reach: Float, rows: Int64, lots: Float, out: Int32) -> None:
    """Draw i is from row ``rows[i]`` of ``reach``, running sums; the last one of a row need not be exactly 1."""
    for i in range(rows.size):
        row = reach[rows[i]]
        at = np.searchsorted(row, lots[i] * row[-1], side="right")
        out[i] = at if at < row.size else np.searchsorted(row, row[-1])  # a lot that rounds to all of it


@njit(nogil=True, cache=True)
def pick_new(chances: Float, rows: Int64, said: Int32, lots: Float, out: Int32) -> None:
    """The same among the items that are not in row i of ``said``; -1 where none of them is possible."""
    for i in range(rows.size):
        row = chances[rows[i]].copy()
        for item in said[i]:
            row[item] = 0.0
        target, total = lots[i] * row.sum(), 0.0
        out[i] = -1
        for item in range(row.size):
            if row[item] > 0:
                out[i] = item
                total += row[item]
                if total > target:
                    break
