"""Compiled loops over events: what a user has consumed so far, and how many items a user takes in a window.

A slow, readable implementation in ``tests/property/test_streams.py`` must give the same results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@njit(cache=True, nogil=True)
def consume(
    users: Int32, items: Int32, begin: Int64, size: Int64, pool: Int32, n_before: Int64, repeated: Bool
) -> None:
    """Write to ``n_before[e]`` how many items the user of event e had before it.

    ``repeated[e]`` gets whether the item of event e was one of them. A new item is then added to the user's list:
    ``pool[begin[u]:begin[u] + size[u]]`` are the items of user u, with room for more.
    """
    for event in range(users.size):
        user, item = users[event], items[event]
        n_before[event] = size[user]
        found = False
        for consumed in pool[begin[user] : begin[user] + size[user]]:
            found |= consumed == item
        repeated[event] = found
        if not found:
            pool[begin[user] + size[user]] = item
            size[user] += 1


@njit(cache=True, nogil=True)
def show(users: Int32, items: Int32, lists: Int32, shown: Int32, turn: Int64, hit: Bool) -> None:
    """Write to ``hit[i]`` whether ``items[i]`` is in ``lists[i]`` or in an earlier list recommended to ``users[i]``.

    Row i is a query: its user, the item the user took, and the recommended list. ``shown[u]`` holds the last few lists
    of user u (the oldest is overwritten by each new one), and ``turn[u]`` is the number of lists so far; both are
    updated.
    """
    for row in range(users.size):
        user = users[row]
        found = False
        for listed in lists[row]:
            found |= listed == items[row]
        for listed in shown[user].ravel():
            found |= listed == items[row]
        hit[row] = found
        shown[user, turn[user] % shown.shape[1]] = lists[row]
        turn[user] += 1


@njit(cache=True, nogil=True)
def distinct(offsets: Int64, items: Int32, counts: Bool, reach: int, n_items: int, out: Int64) -> None:
    """Write to ``out[e]`` how many distinct items the user of event e takes in the ``reach`` events from e on.

    Only the user's own events count: ``offsets[u]:offsets[u + 1]`` are those of user u, and ``items`` the item of each
    (codes below ``n_items``). Events whose ``counts`` is false are not counted.
    """
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
