"""Columns whose rows are in groups, one group after the other: comparing neighbours, ordering rows within groups.

``offsets[g]:offsets[g + 1]`` are the rows of group g.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import mark_repeated_items, order_state
from recassay.threads import each_block

LISTS_PER_BLOCK = 16_384
TEXTS_PER_BLOCK = 1 << 16  # the second hash then finds the texts in the processor's cache
SORTED_PER_BLOCK = 1 << 17  # numbers of groups that are sorted together, which fit the cache
ROWS_PER_BLOCK = 1 << 18


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array.

    Kernels take such views of everything they only read. So data types stay immutable, and one compiled kernel serves
    arrays of any origin: to numba a read-only array is a type of its own.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def compare_neighbours(values: pl.Series, compare: np.ufunc) -> NDArray[np.bool_]:
    """Return ``compare(value, previous value)`` for every row but the first; for text always whether they differ.

    Chunked columns are read chunk by chunk, without a copy.

    >>> compare_neighbours(pl.Series([1, 1, 2]), np.greater).tolist()
    [False, True]
    """
    if not values.dtype.is_numeric():
        return values.slice(1).ne_missing(values.head(max(values.len() - 1, 0))).to_numpy()
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


def text_hashes(values: pl.Series) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two independent 64-bit hashes of each text, as two arrays; they compare much faster than the texts.

    A vocabulary compares 96 of the 128 bits, so it confuses two different texts with probability 2^-96.
    """
    keys, checks = np.empty(values.len(), np.uint64), np.empty(values.len(), np.uint64)

    def fill(begin: int, end: int) -> None:
        texts = values.slice(begin, end - begin)
        keys[begin:end], checks[begin:end] = texts.hash(seed=1).to_numpy(), texts.hash(seed=2).to_numpy()

    each_block(fill, values.len(), size=TEXTS_PER_BLOCK)
    return keys, checks


def strictly_ordered(offsets: NDArray[np.int64], values: pl.Series, *, descending: bool) -> bool:
    """Return whether values strictly rise (or fall if ``descending``) inside every group.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> strictly_ordered(np.array([0, 2, 3]), pl.Series([1, 2, 1]), descending=False)
    True
    """
    ordered = compare_neighbours(values, np.less if descending else np.greater)
    inner = offsets[1:-1]
    ordered[inner[(inner > 0) & (inner <= ordered.size)] - 1] = True  # pairs that cross a group boundary
    return bool(ordered.all())


def as_int32(values: pl.Series) -> NDArray[np.int32]:
    """Return integers that fit 32 bits as an int32 array; chunked columns are converted chunk by chunk."""
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
    """Return (stable row order that sorts ``keys`` inside every group, whether keys of a group may be equal).

    The order is None if the rows are sorted already. ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> order, tied = order_within(np.array([0, 2, 4]), np.array([2.0, 1.0, 3.0, 3.0]))
    >>> order.tolist(), tied
    ([1, 0, 2, 3], True)
    """
    sign, groups = -1.0 if descending else 1.0, offsets.size - 1
    offsets, keys = readonly(offsets), readonly(keys)
    size = max(1, SORTED_PER_BLOCK * groups // max(1, keys.size))
    states = each_block(lambda begin, end: order_state(offsets, keys, sign, begin, end), groups, size=size)
    state = max(states, default=0)
    if state < 2:
        return None, state == 1
    order = np.empty(keys.size, np.int64)

    def fill(begin: int, end: int) -> None:
        if states[begin // size] < 2:
            order[offsets[begin] : offsets[end]] = np.arange(offsets[begin], offsets[end])
        else:
            _order_groups(offsets[begin : end + 1], keys, sign, order)

    each_block(fill, groups, size=size)
    return order, True  # ties are only visible after sorting; the caller checks for them


def _order_groups(offsets: NDArray[np.int64], keys: NDArray[np.float64], sign: float, order: NDArray[np.int64]) -> None:
    """Write to ``order`` the rows of each group in ascending order of sign x key; equal keys keep their order.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g. Groups of one length are sorted together, as the rows of a
    matrix: NumPy's sort uses vector instructions, and is four to eight times as fast as a compiled loop over groups. It
    is not stable, so a group with equal keys is sorted again by a stable sort.
    """
    lengths = np.diff(offsets)
    by_length = np.argsort(lengths, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(lengths[by_length])) + 1, lengths.size)
    for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
        groups = by_length[first:last]
        length = int(lengths[groups[0]])
        if length == 0:
            continue
        if groups.size == lengths.size:  # all groups: their rows need not be gathered
            found = _row_order(sign * keys[offsets[0] : offsets[-1]].reshape(-1, length))
            found += offsets[:-1, np.newaxis]
            order[offsets[0] : offsets[-1]] = found.ravel()
        else:
            rows = offsets[groups, np.newaxis] + np.arange(length)
            order[rows] = np.take_along_axis(rows, _row_order(sign * keys[rows]), axis=1)


def _row_order(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, for each row of a matrix, the column indices that sort it; equal values keep their order."""
    order = np.argsort(matrix, axis=1)
    ordered = np.take_along_axis(matrix, order, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if tied.any():
        order[tied] = np.argsort(matrix[tied], axis=1, kind="stable")
    return order


def take(values: NDArray[Any], rows: NDArray[np.integer]) -> NDArray[Any]:
    """Return ``values[rows]``, on all threads.

    >>> take(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    out = np.empty(rows.size, values.dtype)
    each_block(
        lambda begin, end: np.take(values, rows[begin:end], out=out[begin:end], mode="clip"),
        rows.size,
        size=ROWS_PER_BLOCK,
    )
    return out


def mark_repeated(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return a mask of the rows whose item occurs earlier in the same group.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> mark_repeated(np.array([0, 3, 4]), np.array([7, 8, 7, 7], np.int32)).tolist()
    [False, False, True, False]
    """
    offsets, items = readonly(offsets), readonly(items)
    masks = each_block(
        lambda begin, end: mark_repeated_items(offsets, items, begin, end), offsets.size - 1, size=LISTS_PER_BLOCK
    )
    return np.concatenate(masks) if masks else np.empty(0, np.bool_)


def offsets_without(offsets: NDArray[np.int64], dropped: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the group offsets after the rows in the mask ``dropped`` are removed; a group may become empty.

    >>> offsets_without(np.array([0, 3, 4]), np.array([False, True, True, False])).tolist()
    [0, 1, 2]
    """
    kept_before = np.append(0, np.cumsum(~dropped))
    return np.asarray(kept_before[offsets])


def row_groups(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group number of each row; ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> row_groups(np.array([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def rows_of_groups(
    offsets: NDArray[np.int64], which: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of some groups, in the order of ``which``, and the offsets of these groups among them.

    >>> rows, begins = rows_of_groups(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> rows.tolist(), begins.tolist()
    ([3, 4, 5, 0, 1], [0, 3, 5])
    """
    begins = np.append(0, np.cumsum(np.diff(offsets)[which]))
    rows = np.arange(begins[-1]) + np.repeat(offsets[which] - begins[:-1], np.diff(begins))
    return rows, begins
