"""The place of every row within its group: a fast sort of packed keys, and another of the rows that tie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
SIGN = np.uint64(1 << 63)


def places(groups: NDArray[np.int32], *keys: NDArray[Any]) -> NDArray[np.int64]:
    """The place 0, 1, ... of each row within its group, by the keys (the last decides first), then by row order.

    >>> places(np.array([0, 1, 0], np.int32), np.array([5, 9, 4])).tolist()
    [1, 0, 0]
    """
    counts = np.bincount(groups)
    found = np.empty(groups.size, np.int64)
    found[order_of(groups, keys)] = np.arange(groups.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def order_of(groups: NDArray[np.int32], keys: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    """What ``np.lexsort((*keys, groups))`` gives: a sort by group and last key, then rows that tie by what is left."""
    if groups.size == 0 or not keys:
        return np.argsort(groups, kind="stable")
    key = sortable(keys[-1])
    room = 64 - max(1, int(groups.max()).bit_length())
    spare = np.uint64(max(0, int(key.max()).bit_length() - room))  # low bits of the key for which there is no room
    packed = (groups.astype(np.uint64) << np.uint64(room)) | (key >> spare)
    order = np.argsort(packed)
    packed = packed[order]
    same = packed[1:] == packed[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if tied.size:
        run = np.append(0, np.cumsum(packed[tied][1:] != packed[tied][:-1])).astype(np.int32)
        in_row_order = np.argsort(order[tied])  # which a stable sort keeps
        rows, run = order[tied][in_row_order], run[in_row_order]
        left = keys[:-1] if not spare else (*keys[:-1], key & ((np.uint64(1) << spare) - np.uint64(1)))
        order[tied] = rows[order_of(run, tuple(one[rows] for one in left))]
    return order


def sortable(values: NDArray[Any]) -> Keys:
    """Numbers as unsigned integers in the same order, from 0; equal ones stay equal.

    >>> sortable(np.array([-2, 5, -2])).tolist()
    [0, 7, 0]
    >>> np.argsort(sortable(np.array([0.5, -1.0, -2.0, 0.0]))).tolist()
    [2, 1, 3, 0]
    """
    found = ordinals(values)
    return np.asarray(found - found.min())


def ordinals(values: NDArray[Any]) -> Keys:
    """As :func:`sortable`, whatever other numbers there are: parts of a column have the numbers that the whole has.

    >>> bool((ordinals(np.array([-2, 5, 3]))[1:] == ordinals(np.array([5, 3]))).all())
    True
    """
    if values.dtype.kind == "f":
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)
        return np.where(bits & SIGN, ~bits, bits | SIGN)
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ SIGN


def float_of(ordinal: int) -> float:
    """The floating point number behind an ordinal.

    >>> [float_of(int(one)) for one in ordinals(np.array([-2.5, 0.0, 7.0]))]
    [-2.5, 0.0, 7.0]
    """
    key = np.uint64(ordinal)
    return float((key ^ SIGN if key & SIGN else ~key).view(np.float64))
