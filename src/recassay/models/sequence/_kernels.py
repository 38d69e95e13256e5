"""Compiled loops over smoothed counts in sparse rows: row r has ``columns[offsets[r]:offsets[r + 1]]``, ascending.

``cumulative`` sums the counts of a row up to and including each of its items. With n the sum of the row, c(y) the
count of an item, a the smoothing and I the number of items, the probability of y is (c(y) + a) / (n + a I), and 1 / I
where that is 0 / 0. ``tests/property/test_sequence_models.py`` checks each loop against dense rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def draw(
    offsets: Int64, columns: Int32, cumulative: Int64, a: float, n_items: int, rows: Int64, uniforms: Float, out: Int32
) -> None:  # fmt: skip
    """Write to ``out[i]`` the first item of row ``rows[i]`` whose cumulative probability exceeds ``uniforms[i]``.

    ``a`` is the smoothing and ``n_items`` the number of items. ``offsets``, ``columns`` and ``cumulative`` are the
    sparse rows of counts that the module describes.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = cumulative[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = min(int(uniforms[i] * n_items), n_items - 1)
            continue
        target = uniforms[i] * (total + a * n_items)
        low, high = first, last  # binary search: the first item whose cumulative sum exceeds the target
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] + a * (columns[middle] + 1) > target:
                high = middle
            else:
                low = middle + 1
        before = cumulative[low - 1] if low > first else 0
        if low < last and (a == 0 or target >= before + a * columns[low]):
            out[i] = columns[low]
        elif a == 0:
            out[i] = columns[last - 1]  # the uniform number rounds up to 1
        else:  # among items without counts, which have probability from smoothing only
            item = int((target - before) / a)
            item = max(item, columns[low - 1] + 1 if low > first else 0)
            out[i] = min(item, columns[low] - 1 if low < last else n_items - 1)


@njit(nogil=True, cache=True)
def probability(
    offsets: Int64, columns: Int32, cumulative: Int64, a: float, n_items: int, rows: Int64, items: Int32, out: Float
) -> None:  # fmt: skip
    """Write to ``out[i]`` the probability of ``items[i]`` in row ``rows[i]``.

    ``a`` is the smoothing and ``n_items`` the number of items. ``offsets``, ``columns`` and ``cumulative`` are the
    sparse rows of counts that the module describes.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = cumulative[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = 1.0 / n_items
            continue
        low = first + np.searchsorted(columns[first:last], items[i])
        count = 0
        if low < last and columns[low] == items[i]:
            count = cumulative[low] - (cumulative[low - 1] if low > first else 0)
        out[i] = (count + a) / (total + a * n_items)


@njit(nogil=True, cache=True)
def likeliest(offsets: Int64, columns: Int32, cumulative: Int64, rows: Int64, out: Int32) -> None:
    """Write to ``out[i]`` the item of row ``rows[i]`` with the highest count; ties go to the lowest item.

    An empty row gives item 0. ``offsets``, ``columns`` and ``cumulative`` are the sparse rows of counts that the module
    describes.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        out[i], most, before = 0, 0, 0
        for j in range(first, last):
            if cumulative[j] - before > most:
                out[i], most = columns[j], cumulative[j] - before
            before = cumulative[j]
