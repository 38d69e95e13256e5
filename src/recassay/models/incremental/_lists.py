"""Lists of integers, one per key, to which compiled loops append: the items of a user, the users of an item.

All lists are in one array, each with free capacity at its end. :meth:`GrowingLists.reserve` allocates the memory a loop
will need, so the loop itself never moves a list. Memory is linear in the number of values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.incremental.base import grown

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Codes = NDArray[np.int32] | NDArray[np.int64]


@dataclass(eq=False)
class GrowingLists:
    """Growing lists of integers, one per key, in one array: list k is ``values[start[k] : start[k] + length[k]]``.

    List k has memory for ``capacity[k]`` values, and ``used[0]`` is the end of the part of ``values`` in use.
    ``pending`` is scratch space.

    >>> lists = GrowingLists()
    >>> lists.append(np.array([2, 0, 2]), np.array([7, 8, 9]))
    >>> [lists.get(key).tolist() for key in range(3)]
    [[8], [], [7, 9]]
    """

    start: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    length: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    capacity: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    values: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    pending: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    used: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))

    def get(self, key: int) -> Int32:
        """Return the list of a key."""
        return self.values[self.start[key] : self.start[key] + self.length[key]]

    def grow(self, keys: int) -> None:
        """Enlarge the arrays to hold at least ``keys`` lists, those of the keys 0, 1, ...; new lists are empty."""
        for name in ("start", "length", "capacity", "pending"):
            setattr(self, name, grown(getattr(self, name), keys))

    def reserve(self, keys: Codes) -> None:
        """Allocate memory so that a value can be appended to list k once for every time that k occurs in ``keys``."""
        if keys.size:
            self.grow(int(keys.max()) + 1)
            self.values = make_room(keys, self.start, self.length, self.capacity, self.pending, self.used, self.values)

    def append(self, keys: Codes, values: Codes) -> None:
        """Append ``values[i]`` to the list of ``keys[i]``, for every i in order."""
        self.reserve(keys)
        _append(keys, values, self.start, self.length, self.values)


@njit(nogil=True, cache=True)
def append_to(key: int, value: int, start: Int64, length: Int64, values: Int32) -> None:
    """Append ``value`` to the list of ``key``; the caller has allocated the memory.

    List k is ``values[start[k]:start[k] + length[k]]``.
    """
    values[start[key] + length[key]] = value
    length[key] += 1


@njit(nogil=True, cache=True)
def _append(keys: Codes, more: Codes, start: Int64, length: Int64, values: Int32) -> None:
    """Append ``more[i]`` to the list of ``keys[i]``, for every i in order; the caller has allocated the memory.

    List k is ``values[start[k]:start[k] + length[k]]``.
    """
    for row in range(keys.size):
        append_to(keys[row], more[row], start, length, values)


@njit(nogil=True, cache=True)
def make_room(
    keys: Codes, start: Int64, length: Int64, capacity: Int64, pending: Int64, used: Int64, values: Int32
) -> Int32:  # fmt: skip
    """Make room to append one value to list k for each occurrence of k in ``keys``; return the array of values.

    List k is ``values[start[k]:start[k] + length[k]]`` and has room for ``capacity[k]`` values. ``used[0]`` is the
    number of places of ``values`` that lists occupy. A list that is full moves to this position; if the array is too
    small for that, all lists move to a larger array. ``pending`` is scratch space, 0 before and after the call: first
    the number of occurrences of each key, then minus the new capacity.
    """
    for key in keys:
        pending[key] += 1
    missing = 0
    for key in keys:
        if pending[key] > 0:
            needed = length[key] + pending[key]
            pending[key] = -max(needed, 2 * capacity[key]) if needed > capacity[key] else 0
            missing -= pending[key]
    if used[0] + missing > values.size:
        values = _compacted(start, length, capacity, used, values, np.empty(2 * (used[0] + missing), np.int32))
    for key in keys:
        if pending[key] < 0:
            capacity[key] = -pending[key]
            pending[key] = 0
            for place in range(length[key]):
                values[used[0] + place] = values[start[key] + place]
            start[key] = used[0]
            used[0] += capacity[key]
    return values


@njit(nogil=True, cache=True)
def _compacted(start: Int64, length: Int64, capacity: Int64, used: Int64, values: Int32, larger: Int32) -> Int32:
    """Return ``larger``, an empty array, after copying all lists to it one after another.

    List k is ``values[start[k]:start[k] + length[k]]``, with memory for ``capacity[k]`` values; ``start`` and
    ``used[0]``, the end of the part in use, are changed to match. Lists that moved to the end of the old array had left
    gaps there, which the new array does not have.
    """
    used[0] = 0
    for key in range(capacity.size):
        for place in range(length[key]):
            larger[used[0] + place] = values[start[key] + place]
        start[key] = used[0]
        used[0] += capacity[key]
    return larger
