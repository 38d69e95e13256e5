"""Smoothed counts without a row of all items: row r has items ``columns[offsets[r]:offsets[r + 1]]``, ascending.

``reach`` sums the counts of a row up to and including each of its items. With n the sum of the row, c(y) the count of
an item, a the smoothing and I the number of items, the chance of y is (c(y) + a) / (n + a I), and 1 / I where that is
0 / 0.
Each loop has a readable twin in ``tests/property/test_sequence_models.py``: the row, written out.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def draw(
    offsets: Int64, columns: Int32, reach: Int64, a: float, n_items: int, rows: Int64, lots: Float, out: Int32
) -> None:  # fmt: skip
    """The first item of each row whose cumulative chance is above the lot."""
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = reach[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = min(int(lots[i] * n_items), n_items - 1)
            continue
        target = lots[i] * (total + a * n_items)
        low, high = first, last  # the first item of the row at whose end the sum is above the target
        while low < high:
            middle = (low + high) // 2
            if reach[middle] + a * (columns[middle] + 1) > target:
                high = middle
            else:
                low = middle + 1
        before = reach[low - 1] if low > first else 0
        if low < last and (a == 0 or target >= before + a * columns[low]):
            out[i] = columns[low]
        elif a == 0:
            out[i] = columns[last - 1]  # the lot is 1 but for the last bit
        else:  # among items that have a only
            item = int((target - before) / a)
            item = max(item, columns[low - 1] + 1 if low > first else 0)
            out[i] = min(item, columns[low] - 1 if low < last else n_items - 1)


@njit(nogil=True, cache=True)
def chance(
    offsets: Int64, columns: Int32, reach: Int64, a: float, n_items: int, rows: Int64, items: Int32, out: Float
) -> None:  # fmt: skip
    """The chance of one item of each row."""
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = reach[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = 1.0 / n_items
            continue
        low = first + np.searchsorted(columns[first:last], items[i])
        count = 0
        if low < last and columns[low] == items[i]:
            count = reach[low] - (reach[low - 1] if low > first else 0)
        out[i] = (count + a) / (total + a * n_items)


@njit(nogil=True, cache=True)
def likeliest(offsets: Int64, columns: Int32, reach: Int64, rows: Int64, out: Int32) -> None:
    """The item of each row with the highest count, the lowest of several; item 0 of a row without items."""
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        out[i], most, before = 0, 0, 0
        for j in range(first, last):
            if reach[j] - before > most:
                out[i], most = columns[j], reach[j] - before
            before = reach[j]
