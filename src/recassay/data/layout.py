"""Rows become lists: one contiguous stretch of rows per query, queries ascending by id.

A file that is laid out like this already (most are) is recognised in one pass over its columns and never sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data._kernels import order_state, repeats, stable_order
from recassay.threads import each_block

LISTS_PER_BLOCK = 16_384


def grouped(frame: pl.DataFrame, by: str) -> tuple[pl.DataFrame, pl.Series, NDArray[np.int64]]:
    """The frame with one stretch of rows per distinct ``by``, ascending; rows of a stretch keep their order.

    Returns the frame, the distinct values of ``by`` and the offsets of their stretches (one more than there are
    values).

    >>> frame = pl.DataFrame({"user_id": ["b", "a", "b"], "item_id": [3, 1, 2]})
    >>> frame, users, offsets = grouped(frame, "user_id")
    >>> users.to_list(), offsets.tolist(), frame["item_id"].to_list()
    (['a', 'b'], [0, 1, 3], [1, 3, 2])
    """
    starts = _starts(frame[by])
    heads = frame[by].gather(starts)
    if not (heads.is_sorted() and _differs(heads).all()):
        frame = frame.sort(by, maintain_order=True)
        starts = _starts(frame[by])
        heads = frame[by].gather(starts)
    return frame, heads, np.append(starts, frame.height)


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to.

    Kernels take such views of everything they only read: nouns stay immutable, and one compiled kernel serves arrays
    of any origin (to numba a read-only array is another type).
    """
    view = array.view()
    view.setflags(write=False)
    return view


def _starts(values: pl.Series) -> NDArray[np.int64]:
    """Rows at which a stretch of equal values begins."""
    return np.append(0, 1 + np.flatnonzero(_differs(values)))[: values.len()]


def _differs(values: pl.Series) -> NDArray[np.bool_]:
    """Whether each value differs from the one before it, from the second row on."""
    if values.dtype.is_numeric():
        array = values.to_numpy()
        return np.asarray(array[1:] != array[:-1])
    return (values.slice(1) != values.slice(0, max(values.len() - 1, 0))).to_numpy()


def order_within(
    offsets: NDArray[np.int64], keys: NDArray[np.float64], *, descending: bool = False
) -> tuple[NDArray[np.int64] | None, bool]:
    """The stable order of rows that sorts ``keys`` inside every stretch (None if they are sorted), and if keys tie.

    >>> order, tied = order_within(np.array([0, 2, 4]), np.array([2.0, 1.0, 3.0, 3.0]))
    >>> order.tolist(), tied
    ([1, 0, 2, 3], True)
    """
    sign, stretches = -1.0 if descending else 1.0, offsets.size - 1
    offsets, keys = readonly(offsets), readonly(keys)
    states = each_block(
        lambda begin, end: order_state(offsets, keys, sign, begin, end), stretches, size=LISTS_PER_BLOCK
    )
    state = max(states, default=0)
    if state < 2:
        return None, state == 1
    order = np.empty(keys.size, np.int64)
    each_block(
        lambda begin, end: stable_order(offsets, keys, sign, begin, end, order), stretches, size=LISTS_PER_BLOCK
    )
    return order, True  # whether any tie is only known once sorted; the caller looks


def repeated(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Rows whose item stands earlier in the same stretch.

    >>> repeated(np.array([0, 3, 4]), np.array([7, 8, 7, 7], np.int32)).tolist()
    [False, False, True, False]
    """
    offsets, items = readonly(offsets), readonly(items)
    parts = each_block(
        lambda begin, end: repeats(offsets, items, begin, end), offsets.size - 1, size=LISTS_PER_BLOCK
    )
    return np.concatenate(parts) if parts else np.empty(0, np.bool_)


def offsets_without(offsets: NDArray[np.int64], dropped: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The offsets that remain when some rows are dropped.

    >>> offsets_without(np.array([0, 3, 4]), np.array([False, True, True, False])).tolist()
    [0, 1, 2]
    """
    kept_before = np.append(0, np.cumsum(~dropped))
    return np.asarray(kept_before[offsets])


def stretch_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the number of its stretch.

    >>> stretch_of(np.array([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
