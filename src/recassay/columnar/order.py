"""The position of every row within its group: a fast sort of packed keys, and a second sort of rows that tie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import ranges

Keys = NDArray[np.uint64]
SIGN = np.uint64(1 << 63)


def positions_in_groups(groups: NDArray[np.int32], *keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position 0, 1, ... of each row within its group.

    Rows of a group are ordered by the last of ``keys``, then by the one before it, and so on; equal rows stay in row
    order.

    >>> positions_in_groups(np.array([0, 1, 0], np.int32), np.array([5, 9, 4])).tolist()
    [1, 0, 0]
    """
    found = np.empty(groups.size, np.int64)
    found[lexsort_groups(groups, keys)] = ranges(0, np.bincount(groups))
    return found


def lexsort_groups(groups: NDArray[np.int32], keys: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """Return the row order of ``np.lexsort((*keys, groups))``, computed faster.

    Rows are sorted by group and last key at once; only those that tie are sorted by the other keys.
    """
    if groups.size == 0 or not keys:
        return np.argsort(groups, kind="stable")
    key = keys_from_zero(keys[-1])
    room = 64 - max(1, int(groups.max()).bit_length())
    spare = np.uint64(max(0, int(key.max()).bit_length() - room))  # low bits of the key that do not fit
    packed = (groups.astype(np.uint64) << np.uint64(room)) | (key >> spare)
    order = np.argsort(packed)
    packed = packed[order]
    same = packed[1:] == packed[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if tied.size:
        run = np.append(0, np.cumsum(packed[tied][1:] != packed[tied][:-1])).astype(np.int32)
        in_row_order = np.argsort(order[tied])  # keeps the sort stable
        rows, run = order[tied][in_row_order], run[in_row_order]
        left = keys[:-1] if not spare else (*keys[:-1], key & ((np.uint64(1) << spare) - np.uint64(1)))
        order[tied] = rows[lexsort_groups(run, tuple(key[rows] for key in left))]
    return order


def keys_from_zero(values: NDArray[Any]) -> Keys:
    """Return numbers as unsigned integers in the same order, the smallest as 0; equal numbers stay equal.

    >>> keys_from_zero(np.array([-2, 5, -2])).tolist()
    [0, 7, 0]
    >>> np.argsort(keys_from_zero(np.array([0.5, -1.0, -2.0, 0.0]))).tolist()
    [2, 1, 3, 0]
    """
    found = ordered_keys(values)
    return np.asarray(found - found.min())


def ordered_keys(values: NDArray[Any]) -> Keys:
    """Return unsigned integers in the same order as the values.

    An integer depends on its value alone, so chunks of a column can be converted one by one.

    >>> bool((ordered_keys(np.array([-2, 5, 3]))[1:] == ordered_keys(np.array([5, 3]))).all())
    True
    """
    if values.dtype.kind == "f":
        bits: Keys = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
        flipped = (bits.view(np.int64) >> 63).view(np.uint64)  # all bits of a negative number, none of another
        flipped |= SIGN
        bits ^= flipped
        return bits
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ SIGN


def float_from_key(key: int) -> float:
    """Return the floating point number that :func:`ordered_keys` turned into this key.

    >>> [float_from_key(int(key)) for key in ordered_keys(np.array([-2.5, 0.0, 7.0]))]
    [-2.5, 0.0, 7.0]
    """
    bits = np.uint64(key)
    return float((bits ^ SIGN if bits & SIGN else ~bits).view(np.float64))
