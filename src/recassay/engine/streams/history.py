"""Items each user has consumed so far: the evaluator's own record, up to date whatever the model has learned."""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Int32, Int64
from recassay.models.incremental._lists import GrowingLists


class History(GrowingLists):
    """The distinct items of each user in order of consumption.

    >>> history = History()
    >>> n_before, repeated = history.consume(np.array([0, 0, 1, 0], np.int32), np.array([5, 6, 5, 5], np.int32))
    >>> n_before.tolist(), repeated.tolist(), history.first_items(0, 2).tolist()
    ([0, 1, 0, 2], [False, False, False, True], [5, 6])
    """

    def consume(self, users: Int32, items: Int32) -> tuple[Int64, Bool]:
        """Add events in order; return the number of items each user had before, and whether the item was one of them.

        Both arrays have an entry per event. Positions in ``values`` stay valid until the next call.
        """
        self.reserve(users)
        n_before, repeated = np.empty(users.size, np.int64), np.empty(users.size, np.bool_)
        consume(users, items, self.start, self.length, self.values, n_before, repeated)
        return n_before, repeated

    def first_items(self, user: int, n: int) -> Int32:
        """Return the first ``n`` distinct items that a user consumed."""
        return self.values[self.start[user] : self.start[user] + n]


@njit(cache=True, nogil=True)
def consume(
    users: Int32, items: Int32, start: Int64, length: Int64, pool: Int32, n_before: Int64, repeated: Bool
) -> None:
    """Write to ``n_before[e]`` how many items the user of event e had before it.

    ``repeated[e]`` gets whether the item of event e was one of them. A new item is then added to the user's list:
    ``pool[start[u]:start[u] + length[u]]`` are the items of user u, with room for more. A slow, readable implementation
    in ``tests/property/test_streams.py`` must give the same results.
    """
    for event in range(users.size):
        user, item = users[event], items[event]
        n_before[event] = length[user]
        found = False
        for consumed in pool[start[user] : start[user] + length[user]]:
            found |= consumed == item
        repeated[event] = found
        if not found:
            pool[start[user] + length[user]] = item
            length[user] += 1
