"""Lists of whole numbers, one per key, to which compiled loops append: who had an item, what a user had.

All lists lie in one array, each with room at its end. :meth:`GrowingLists.reserve` makes room for what a loop will
append, so the loop itself never moves anything. Memory is linear in what the lists hold. Held to a list of lists in
``tests/property/test_incremental_lists.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.models.incremental.base import grown

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Codes = NDArray[np.int32] | NDArray[np.int64]


@dataclass(eq=False)
class GrowingLists:
    """List k is ``values[start[k] : start[k] + length[k]]``.

    >>> lists = GrowingLists()
    >>> lists.append(np.array([2, 0, 2]), np.array([7, 8, 9]))
    >>> [lists.of(key).tolist() for key in range(3)]
    [[8], [], [7, 9]]
    """

    start: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    length: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    room: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    values: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    wanted: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    used: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))

    def of(self, key: int) -> Int32:
        """The list of a key."""
        return self.values[self.start[key] : self.start[key] + self.length[key]]

    def grow(self, keys: int) -> None:
        """Be lists of so many keys."""
        for name in ("start", "length", "room", "wanted"):
            setattr(self, name, grown(getattr(self, name), keys))

    def reserve(self, keys: Codes) -> None:
        """Make room for every key to be appended to as often as it stands here."""
        if keys.size:
            self.grow(int(keys.max()) + 1)
            self.values = _reserve(keys, self.start, self.length, self.room, self.wanted, self.used, self.values)

    def append(self, keys: Codes, values: Codes) -> None:
        """Append a value to the list of each key, in order."""
        self.reserve(keys)
        _append(keys, values, self.start, self.length, self.values)


@njit(nogil=True, cache=True)
def append_to(key: int, value: int, start: Int64, length: Int64, values: Int32) -> None:
    """Append one value; there is room."""
    values[start[key] + length[key]] = value
    length[key] += 1


@njit(nogil=True, cache=True)
def _append(keys: Codes, more: Codes, start: Int64, length: Int64, values: Int32) -> None:
    for row in range(keys.size):
        append_to(keys[row], more[row], start, length, values)


@njit(nogil=True, cache=True)
def _reserve(
    keys: Codes, start: Int64, length: Int64, room: Int64, wanted: Int64, used: Int64, values: Int32
) -> Int32:  # fmt: skip
    """The array of values with room for all: full lists move to its end; if that is too far, a larger one is laid out.

    ``wanted`` is 0 before and after: first how often each key stands in ``keys``, then minus the room it moves to.
    """
    for key in keys:
        wanted[key] += 1
    missing = 0
    for key in keys:
        if wanted[key] > 0:
            needed = length[key] + wanted[key]
            wanted[key] = -max(needed, 2 * room[key]) if needed > room[key] else 0
            missing -= wanted[key]
    if used[0] + missing > values.size:
        values = _laid_out(start, length, room, used, values, np.empty(2 * (used[0] + missing), np.int32))
    for key in keys:
        if wanted[key] < 0:
            room[key] = -wanted[key]
            wanted[key] = 0
            for place in range(length[key]):
                values[used[0] + place] = values[start[key] + place]
            start[key] = used[0]
            used[0] += room[key]
    return values


@njit(nogil=True, cache=True)
def _laid_out(start: Int64, length: Int64, room: Int64, used: Int64, values: Int32, larger: Int32) -> Int32:
    """All lists one after the other, without the gaps that those left who moved."""
    used[0] = 0
    for key in range(room.size):
        for place in range(length[key]):
            larger[used[0] + place] = values[start[key] + place]
        start[key] = used[0]
        used[0] += room[key]
    return larger
