"""Draws from rows of probabilities: the first item whose cumulative probability exceeds a uniform number.

Held to the readable twin in ``tests/property/test_generate.py``.
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
    """Write to ``out[i]`` an item drawn from row ``rows[i]`` of ``cumulative``, by the number ``uniforms[i]``.

    The last sum of a row need not be exactly 1.
    """
    for i in range(rows.size):
        row = cumulative[rows[i]]
        at = np.searchsorted(row, uniforms[i] * row[-1], side="right")
        out[i] = at if at < row.size else np.searchsorted(row, row[-1])  # the product may round up to the whole sum


@njit(nogil=True, cache=True)
def pick_new(probabilities: Float, rows: Int64, prefixes: Int32, uniforms: Float, out: Int32) -> None:
    """Write to ``out[i]`` an item drawn from row ``rows[i]``, among those not in row i of ``prefixes``.

    -1 if none is possible.
    """
    for i in range(rows.size):
        row = probabilities[rows[i]].copy()
        for item in prefixes[i]:
            row[item] = 0.0
        target, total = uniforms[i] * row.sum(), 0.0
        out[i] = -1
        for item in range(row.size):
            if row[item] > 0:
                out[i] = item
                total += row[item]
                if total > target:
                    break
