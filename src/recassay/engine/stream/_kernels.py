"""What a user has consumed, event by event; and how many items a user takes in a window.

Held to the readable twin in ``tests/property/test_streams.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@njit(cache=True, nogil=True)
def consume(users: Int32, items: Int32, begin: Int64, size: Int64, pool: Int32, had: Int64, again: Bool) -> None:
    """For each event how many items its user had before, and whether the event's item was one of them; then it is."""
    for event in range(users.size):
        user, item = users[event], items[event]
        had[event] = size[user]
        found = False
        for one in pool[begin[user] : begin[user] + size[user]]:
            found |= one == item
        again[event] = found
        if not found:
            pool[begin[user] + size[user]] = item
            size[user] += 1


@njit(cache=True, nogil=True)
def show(users: Int32, items: Int32, lists: Int32, shown: Int32, turn: Int64, hit: Bool) -> None:
    """Whether an item stands in the list or in one of the last lists that its user was shown; ``shown`` keeps those."""
    for row in range(users.size):
        user = users[row]
        found = False
        for one in lists[row]:
            found |= one == items[row]
        for one in shown[user].ravel():
            found |= one == items[row]
        hit[row] = found
        shown[user, turn[user] % shown.shape[1]] = lists[row]
        turn[user] += 1


@njit(cache=True, nogil=True)
def distinct(offsets: Int64, items: Int32, counts: Bool, reach: int, n_items: int, out: Int64) -> None:
    """How many items stand in each event of a user and in the events after it, so many in all: those that count."""
    times = np.zeros(n_items, np.int64)
    for user in range(offsets.size - 1):
        first, last = offsets[user], offsets[user + 1]
        ahead, different = first, 0
        for event in range(first, last):
            while ahead < min(event + reach, last):
                different += counts[ahead] and times[items[ahead]] == 0
                times[items[ahead]] += counts[ahead]
                ahead += 1
            out[event] = different
            times[items[event]] -= counts[event]
            different -= counts[event] and times[items[event]] == 0
