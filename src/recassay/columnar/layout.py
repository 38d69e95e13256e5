"""Columns whose rows are in groups, one group after the other: comparing neighbours, ordering rows within groups.

``offsets[g]:offsets[g + 1]`` are the rows of group g.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar._kernels import mark_repeated_items, order_state, pack_keys, place_ranks, unpack_rows
from recassay.errors import UsageError
from recassay.threads import each_block

LISTS_PER_BLOCK = 16_384
ROWS_PER_BLOCK = 1 << 18
INT32 = np.iinfo(np.int32)
INTEGERS_PER_BLOCK = 1 << 18  # so that a block is still in the cache when its highest follows its lowest
CHUNKS_PER_BLOCK = 8
SORTED_PER_BLOCK = 1 << 17  # numbers of groups that are sorted together, which fit the cache
SORTED_ALONE = 64  # numbers of a group that is sorted by a call of its own


def chosen_rows(rows: Any, n: int) -> NDArray[np.int64]:
    """Return the numbers of the rows that an array or list of numbers, or a mask, chooses among ``n``.

    Raise U102 for anything else, and for rows that are not there.

    >>> chosen_rows([2, 0], 3).tolist(), chosen_rows(np.array([True, False, True]), 3).tolist()
    ([2, 0], [0, 2])
    """
    array = np.asarray(rows)
    if array.dtype == np.bool_ and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim == 1 and not array.size:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n:
        what = f"rows must be numbers from 0 to {n - 1:,} or a mask of {n:,} values, got {rows!r:.80}"
        raise UsageError("U102", what, where="take")
    return array


def groups_per_block(groups: int, rows: int, *, most: int | None = None, most_rows: int = ROWS_PER_BLOCK) -> int:
    """Return how many groups make a block of at most ``most`` groups and about ``most_rows`` rows, at least one group.

    With long groups, a number of groups alone would leave all rows in one block, and so on one thread.

    >>> groups_per_block(1_000_000, 10_000_000), groups_per_block(10_000, 10_000_000)
    (16384, 262)
    """
    return max(1, min(LISTS_PER_BLOCK if most is None else most, most_rows * groups // max(1, rows)))


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array.

    Kernels take such views of everything they only read. So data types stay immutable, and one compiled kernel serves
    arrays of any origin: to numba a read-only array is a type of its own.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def run_kernel(
    kernel: Any, n: int, inputs: Sequence[Any], *outputs: NDArray[Any], size: int, threads: int | None = None
) -> None:
    """Call ``kernel(begin, end, *inputs, *outputs)`` for each block of ``size`` numbers below ``n``, over threads.

    Arrays among ``inputs`` are given to the kernel read-only; it writes to ``outputs``.
    """
    fixed = [readonly(value) if isinstance(value, np.ndarray) else value for value in inputs]
    each_block(lambda begin, end: kernel(begin, end, *fixed, *outputs), n, size=size, threads=threads)


def one_number(value: float, rows: int) -> NDArray[np.float64]:
    """Return a read-only array with the same number in all rows, stored only once.

    >>> one_number(1.0, 3).tolist(), is_one_number(one_number(1.0, 3)), is_one_number(np.ones(3))
    ([1.0, 1.0, 1.0], True, False)
    """
    return np.broadcast_to(np.float64(value), rows)


def different_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return a shorter array with the same distinct numbers: one entry if all rows share it, else the array itself.

    An array whose rows share a number is one from :func:`one_number`.
    """
    return array[:1] if is_one_number(array) else array


def is_one_number(array: NDArray[Any]) -> bool:
    """Return whether one number stands for all rows of an array, as in :func:`one_number`."""
    return array.strides == (0,)


def starts_in_parts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the rows of each block begin in each part (blocks, parts), if parts lie one after the other.

    ``counts`` (blocks, parts) is the number of rows of a block that belong to a part; within a part, rows of earlier
    blocks come first.

    >>> starts_in_parts(np.array([[2, 1], [3, 4]])).tolist()
    [[0, 5], [2, 6]]
    """
    return np.cumsum(counts.T.ravel()).reshape(counts.T.shape).T - counts


def compare_neighbours(values: pl.Series, compare: np.ufunc) -> NDArray[np.bool_]:
    """Return ``compare(value, previous value)`` for every row but the first; text is only compared for inequality.

    Chunked columns are read chunk by chunk, without a copy.

    >>> compare_neighbours(pl.Series([1, 1, 2]), np.greater).tolist()
    [False, True]
    """
    if not values.dtype.is_numeric():
        return values.slice(1).ne_missing(values.head(max(values.len() - 1, 0))).to_numpy()
    chunks, firsts = chunks_of(values)
    out = np.empty(max(values.len() - 1, 0), np.bool_)
    for before, chunk, first in zip(chunks, chunks[1:], firsts[1:], strict=False):
        out[first - 1] = compare(chunk[0], before[-1])

    def fill(begin: int, end: int) -> None:
        """Compare neighbours that are in the same chunk."""
        for chunk, first in zip(chunks, firsts, strict=False):
            low, high = max(begin, first), min(end, first + chunk.size - 1)
            if low < high:
                part = chunk[low - first : high - first + 1]
                compare(part[1:], part[:-1], out=out[low:high])

    each_block(fill, out.size, size=INTEGERS_PER_BLOCK)
    return out


def across_groups(offsets: NDArray[np.int64], pairs: int) -> NDArray[np.int64]:
    """Return the pairs of adjacent rows whose two rows are in different groups; pair i is rows i and i + 1.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g, and ``pairs`` is the number of pairs: of rows, less one. A
    pair is returned twice if an empty group lies between its rows.

    >>> across_groups(np.array([0, 2, 2, 5]), 4).tolist()
    [1, 1]
    """
    low, high = np.searchsorted(offsets, (1, pairs + 1))
    return offsets[low:high] - 1


def take_rows(values: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """Return a column's values in some rows, which ascend; fast also for numbers in many chunks.

    >>> take_rows(pl.Series([5, 6, 7]), np.array([0, 2])).to_list()
    [5, 7]
    """
    numbers = values.dtype.is_integer() or values.dtype.is_float()
    if not numbers or values.null_count() or values.n_chunks() == 1 or values.is_empty():
        return values.gather(rows)
    chunks, firsts = chunks_of(values)
    out, bounds = np.empty(rows.size, chunks[0].dtype), np.searchsorted(rows, firsts)

    def fill(begin: int, end: int) -> None:
        for number in range(begin, end):
            own = slice(bounds[number], bounds[number + 1])
            np.take(chunks[number], rows[own] - firsts[number], out=out[own], mode="clip")

    each_block(fill, len(chunks), size=CHUNKS_PER_BLOCK)
    return pl.Series(values.name, out, values.dtype)


def take_numbers(values: NDArray[Any], places: NDArray[np.integer], *, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return ``values[places]``, gathered on all threads and written to ``out`` if given; places are not checked.

    >>> take_numbers(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    out = np.empty(places.size, values.dtype) if out is None else out

    def fill(begin: int, end: int) -> None:
        np.take(values, places[begin:end], out=out[begin:end], mode="clip")

    each_block(fill, places.size, size=INTEGERS_PER_BLOCK)
    return out


def chunks_of(values: pl.Series) -> tuple[list[NDArray[Any]], list[int]]:
    """Return the non-empty chunks of a numeric column, and the first row of each, followed by the number of rows."""
    chunks = [chunk.to_numpy() for chunk in values.get_chunks() if chunk.len()]
    return chunks, np.append(0, np.cumsum([chunk.size for chunk in chunks], dtype=np.int64)).tolist()


def strictly_ordered(offsets: NDArray[np.int64], values: pl.Series, *, descending: bool) -> bool:
    """Return whether values strictly rise (or fall if ``descending``) inside every group.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> strictly_ordered(np.array([0, 2, 3]), pl.Series([1, 2, 1]), descending=False)
    True
    """
    ordered = compare_neighbours(values, np.less if descending else np.greater)
    ordered[across_groups(offsets, ordered.size)] = True
    return bool(ordered.all())


def narrowed(values: pl.Series) -> tuple[NDArray[np.int32], int, int] | None:
    """Return integers as (an int32 array, the lowest, the highest); None if one of them is not a 32-bit id.

    For an empty column both are 0. ``INT32.min`` is not an id. A column of one chunk of 32-bit integers is not copied.

    >>> narrowed(pl.Series([7, 5]))[1:], narrowed(pl.Series([1 << 40]))
    ((5, 7), None)
    """
    chunks, firsts = chunks_of(values)
    same = len(chunks) == 1 and chunks[0].dtype == np.int32
    out = chunks[0] if same else np.empty(values.len(), np.int32)

    def fill(begin: int, end: int) -> tuple[int, int]:
        """Copy some rows and return their lowest and highest value."""
        found = []
        for chunk, first in zip(chunks, firsts, strict=False):
            low, high = max(begin, first), min(end, first + chunk.size)
            if low < high:
                part = chunk[low - first : high - first]
                if not same:
                    np.copyto(out[low:high], part, casting="unsafe")
                found.append((int(part.min()), int(part.max())))
        return min(low for low, _ in found), max(high for _, high in found)

    bounds = each_block(fill, values.len(), size=INTEGERS_PER_BLOCK)
    low, high = min((low for low, _ in bounds), default=0), max((high for _, high in bounds), default=0)
    return (out, low, high) if INT32.min < low and high <= INT32.max else None


def sorted_within(
    offsets: NDArray[np.int64],
    keys: NDArray[Any],
    columns: Sequence[NDArray[Any]],
    *,
    descending: bool = False,
) -> tuple[Sequence[NDArray[Any]], NDArray[np.bool_] | None]:
    """Return columns with the rows of every group in ascending order of ``keys``, and which rows have equal keys.

    Rows with equal keys keep their order. The second array marks the rows whose key equals that of the row before them
    in their group; it is None if no keys are equal. If the rows are sorted already, ``columns`` themselves are
    returned. ``offsets[g]:offsets[g + 1]`` are the rows of group g. Keys are compared as 64-bit floats, to which those
    of a block of groups are converted in the processor's cache.

    >>> columns, tied = sorted_within(np.array([0, 2, 4]), np.array([2.0, 1.0, 3.0, 3.0]), [np.array([5, 6, 7, 8])])
    >>> columns[0].tolist(), tied.tolist()
    ([6, 5, 7, 8], [False, False, False, True])
    """
    sign, groups = -1.0 if descending else 1.0, offsets.size - 1
    offsets, keys = readonly(offsets), readonly(np.ascontiguousarray(keys))
    size = groups_per_block(groups, keys.size, most=groups, most_rows=SORTED_PER_BLOCK)

    def block(begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        own = keys[offsets[begin] : offsets[end]].astype(np.float64, copy=False)
        return readonly(offsets[begin : end + 1] - offsets[begin]), readonly(own)

    states = each_block(lambda begin, end: order_state(*block(begin, end), sign), groups, size=size)
    state = max(states, default=0)
    if state == 0:
        return columns, None
    ordered = [np.empty_like(column) for column in columns] if state == 2 else columns
    moves = list(zip(columns, ordered, strict=True)) if state == 2 else []
    tied = np.zeros(keys.size, np.bool_)

    def fill(begin: int, end: int) -> bool:
        rows = slice(offsets[begin], offsets[end])
        if states[begin // size] == 0:
            for column, out in moves:
                out[rows] = column[rows]
            return False
        order, found = _order_groups(*block(begin, end), sign, tied[rows])
        for column, out in moves:
            np.take(column[rows], order, out=out[rows], mode="clip")
        return found

    some_tied = any(each_block(fill, groups, size=size))
    return ordered, tied if some_tied else None


def _order_groups(
    offsets: NDArray[np.int64], keys: NDArray[np.float64], sign: float, tied: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], bool]:
    """Return the order of rows that sorts each group by sign x key, and whether keys of a group are equal.

    ``tied`` is set for the rows whose key equals the one before. If keys are consecutive whole numbers, as ranks are,
    each key gives the position of its row. Other keys are sorted: NumPy's sort of 64-bit numbers uses vector
    instructions; it is three times as fast as its search for the order that sorts them. So the low bits of each key are
    replaced by the row's position in its group. Rows whose keys agree in all other bits are sorted again by the whole
    keys; where scores do not tie, there are usually none.
    """
    order = np.empty(keys.size, np.int64)
    if sign > 0 and place_ranks(offsets, keys, order):
        return order, False
    lengths = np.diff(offsets)
    place_bits = max(1, (int(lengths.max()) - 1).bit_length())
    order = pack_keys(offsets, keys.view(np.int64), sign < 0, place_bits)
    _sort_groups(offsets, lengths, order)
    if not unpack_rows(offsets, place_bits, order, tied):
        return order, False
    places = np.flatnonzero(tied | np.append(tied[1:], False))
    close, rows = tied[places], order[places]
    values = sign * keys[rows]
    if (close[1:] & (values[1:] < values[:-1])).any():  # else they tie, and are in order already
        again = np.lexsort((values, np.cumsum(~close)))  # stable
        order[places], values = rows[again], values[again]
    tied[places[1:]] &= values[1:] == values[:-1]
    return order, bool(tied.any())


def _sort_groups(begins: NDArray[np.int64], lengths: NDArray[np.int64], values: NDArray[np.int64]) -> None:
    """Sort the values of each group in place; group g begins at ``begins[g]`` and has ``lengths[g]`` values.

    Short groups of one length are sorted together, as the rows of a matrix: the call of NumPy's sort takes longer than
    the sort of a short group.
    """
    if lengths.min() == lengths.max():
        values.reshape(lengths.size, -1).sort(axis=1)
        return
    for group in np.flatnonzero(lengths >= SORTED_ALONE):
        values[begins[group] : begins[group + 1]].sort()
    for length in np.unique(lengths[(lengths > 1) & (lengths < SORTED_ALONE)]):
        places = begins[:-1][lengths == length, np.newaxis] + np.arange(length)
        values[places] = np.sort(values[places], axis=1)


def mark_repeated(offsets: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return a mask of the rows whose item occurs earlier in the same group.

    ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> mark_repeated(np.array([0, 3, 4]), np.array([7, 8, 7, 7], np.int32)).tolist()
    [False, False, True, False]
    """
    offsets, items = readonly(offsets), readonly(items)
    masks = each_block(
        lambda begin, end: mark_repeated_items(offsets, items, begin, end),
        offsets.size - 1,
        size=groups_per_block(offsets.size - 1, items.size),
    )
    return np.concatenate(masks) if masks else np.empty(0, np.bool_)


def offsets_without(offsets: NDArray[np.int64], dropped: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the group offsets after the rows in the mask ``dropped`` are removed; a group may become empty.

    >>> offsets_without(np.array([0, 3, 4]), np.array([False, True, True, False])).tolist()
    [0, 1, 2]
    """
    kept_before = np.append(0, np.cumsum(~dropped))
    return np.asarray(kept_before[offsets])


def count_groups_with(offsets: NDArray[np.int64], rows: NDArray[np.bool_]) -> int:
    """Return the number of groups that have a row in the mask ``rows``.

    >>> count_groups_with(np.array([0, 2, 2, 3]), np.array([True, True, False]))
    1
    """
    return int((np.diff(np.append(0, np.cumsum(rows))[offsets]) > 0).sum())


def row_groups(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group number of each row; ``offsets[g]:offsets[g + 1]`` are the rows of group g.

    >>> row_groups(np.array([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def ranges(begins: NDArray[np.int64] | int, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return, for each group g, the ``sizes[g]`` consecutive numbers from ``begins[g]`` on, one group after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist(), ranges(0, np.array([2, 3])).tolist()
    ([5, 6, 0, 1, 2], [0, 1, 0, 1, 2])
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    numbers = np.repeat(begins - ends + sizes, sizes)
    numbers += np.arange(numbers.size)
    return numbers


def rows_of_groups(
    offsets: NDArray[np.int64], which: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of some groups, in the order of ``which``, and the offsets of these groups among them.

    >>> rows, begins = rows_of_groups(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> rows.tolist(), begins.tolist()
    ([3, 4, 5, 0, 1], [0, 3, 5])
    """
    sizes = np.diff(offsets)[which]
    return ranges(offsets[which], sizes), np.append(0, np.cumsum(sizes))
