"""Rows become lists: one contiguous stretch of rows per query, queries ascending by id.

A file that is laid out like this already (most are) is recognised in one pass over its columns and never sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data._kernels import order_state, repeats, stable_order
from recassay.data.io import Columns
from recassay.threads import each_block

LISTS_PER_BLOCK = 16_384
TEXTS_PER_BLOCK = 1 << 19

Rows = pl.DataFrame | Columns


def grouped(table: Rows, by: str) -> tuple[Rows, pl.Series, NDArray[np.int64]]:
    """The table with one stretch of rows per distinct ``by``, ascending; rows of a stretch keep their order.

    Returns the table, the distinct values of ``by`` and the offsets of their stretches (one more than there are
    values).

    >>> frame = pl.DataFrame({"user_id": ["b", "a", "b"], "item_id": [3, 1, 2]})
    >>> frame, users, offsets = grouped(frame, "user_id")
    >>> users.to_list(), offsets.tolist(), frame["item_id"].to_list()
    (['a', 'b'], [0, 1, 3], [1, 3, 2])
    """
    values = ids_of(table, by)
    starts = _starts(values)
    heads = values.gather(starts)
    if not (heads.is_sorted() and neighbours(heads, np.not_equal).all()):
        table = pl.DataFrame({name: table[name] for name in table.columns}).sort(by, maintain_order=True)
        values = table[by]
        starts = _starts(values)
        heads = values.gather(starts)
    heads = heads.cast(pl.Int64) if heads.dtype == pl.Int32 else heads
    return table, heads, np.append(starts, values.len())


def ids_of(table: Rows, name: str) -> pl.Series:
    """A column of ids in the least memory it can be had in."""
    return table.ids(name) if isinstance(table, Columns) else table[name]


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
    return np.append(0, 1 + np.flatnonzero(neighbours(values, np.not_equal)))[: values.len()]


def neighbours(values: pl.Series, compare: np.ufunc) -> NDArray[np.bool_]:
    """``compare(value, value before it)`` for every row but the first; only ``not_equal`` for text.

    Columns come in chunks and are read as they lie: nothing is copied.

    >>> neighbours(pl.Series([1, 1, 2]), np.greater).tolist()
    [False, True]
    """
    if not values.dtype.is_numeric():
        keys, checks = hashes(values)
        return np.asarray((keys[1:] != keys[:-1]) | (checks[1:] != checks[:-1]))
    out = np.empty(max(values.len() - 1, 0), np.bool_)
    done, before = 0, None
    for chunk in values.get_chunks():
        array = chunk.to_numpy()
        if array.size == 0:
            continue
        if before is not None:
            out[done - 1] = compare(array[0], before)
        compare(array[1:], array[:-1], out=out[done : done + array.size - 1])
        done, before = done + array.size, array[-1]
    return out


def hashes(values: pl.Series) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two independent 64-bit hashes of each text, which stand for it: looking at them is much quicker than at the text.

    The pairs of two different texts are the same with probability 2^-128.
    """
    keys, checks = np.empty(values.len(), np.uint64), np.empty(values.len(), np.uint64)

    def fill(begin: int, end: int) -> None:
        part = values.slice(begin, end - begin)
        keys[begin:end], checks[begin:end] = part.hash(seed=1).to_numpy(), part.hash(seed=2).to_numpy()

    each_block(fill, values.len(), size=TEXTS_PER_BLOCK)
    return keys, checks


def strictly_ordered(offsets: NDArray[np.int64], values: pl.Series, *, descending: bool) -> bool:
    """Whether values strictly rise (or fall) inside every stretch.

    >>> strictly_ordered(np.array([0, 2, 3]), pl.Series([1, 2, 1]), descending=False)
    True
    """
    moves = neighbours(values, np.less if descending else np.greater)
    inner = offsets[1:-1]
    moves[inner[(inner > 0) & (inner <= moves.size)] - 1] = True
    return bool(moves.all())


def as_int32(values: pl.Series) -> NDArray[np.int32]:
    """Integers that fit 32 bits, chunk by chunk."""
    if values.dtype == pl.Int32 and values.n_chunks() == 1:
        return values.to_numpy()
    out, done = np.empty(values.len(), np.int32), 0
    for chunk in values.get_chunks():
        np.copyto(out[done : done + chunk.len()], chunk.to_numpy(), casting="unsafe")
        done += chunk.len()
    return out


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
    each_block(lambda begin, end: stable_order(offsets, keys, sign, begin, end, order), stretches, size=LISTS_PER_BLOCK)
    return order, True  # whether any tie is only known once sorted; the caller looks


def repeated(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Rows whose item stands earlier in the same stretch.

    >>> repeated(np.array([0, 3, 4]), np.array([7, 8, 7, 7], np.int32)).tolist()
    [False, False, True, False]
    """
    offsets, items = readonly(offsets), readonly(items)
    parts = each_block(lambda begin, end: repeats(offsets, items, begin, end), offsets.size - 1, size=LISTS_PER_BLOCK)
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


def picked(offsets: NDArray[np.int64], which: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some stretches, one stretch after the other, and the offsets they have then.

    >>> rows, begins = picked(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> rows.tolist(), begins.tolist()
    ([3, 4, 5, 0, 1], [0, 3, 5])
    """
    begins = np.append(0, np.cumsum(np.diff(offsets)[which]))
    rows = np.arange(begins[-1]) + np.repeat(offsets[which] - begins[:-1], np.diff(begins))
    return rows, begins
