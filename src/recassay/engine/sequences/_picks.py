"""Draws from rows of probabilities: the first item whose cumulative probability exceeds a uniform number.

A slow, readable implementation in ``tests/property/test_generate.py`` must give the same results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def pick(cumulative: Float, rows: Int64, uniforms: Float, out: Int32) -> None:
    """Write to ``out[i]`` an item drawn by the uniform number ``uniforms[i]`` from row ``rows[i]`` of ``cumulative``.

    A row has the sums of the probabilities of items 0, 1, ...; the last sum need not be exactly 1.
    """
    for i in range(rows.size):
        row = cumulative[rows[i]]
        at = np.searchsorted(row, uniforms[i] * row[-1], side="right")
        out[i] = at if at < row.size else np.searchsorted(row, row[-1])  # the product may round up to the whole sum


@njit(nogil=True, cache=True)
def pick_new(probabilities: Float, rows: Int64, prefixes: Int32, uniforms: Float, out: Int32) -> None:
    """Write to ``out[i]`` an item drawn from row ``rows[i]`` of ``probabilities`` that is not in row i of ``prefixes``.

    ``uniforms[i]`` is the uniform number of the draw. Write -1 if every such item has probability 0. A code beyond the
    items is a seed that is not an item.
    """
    for i in range(rows.size):
        row = probabilities[rows[i]].copy()
        for item in prefixes[i]:
            if item < row.size:
                row[item] = 0.0
        target, total = uniforms[i] * row.sum(), 0.0
        out[i] = -1
        for item in range(row.size):
            if row[item] > 0:
                out[i] = item
                total += row[item]
                if total > target:
                    break
