"""Items each user has consumed so far: the evaluator's own record, up to date whatever the model has learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.engine.streams import _kernels
from recassay.models.incremental._lists import make_room
from recassay.models.incremental.base import grown

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class History:
    """The distinct items of each user in order of consumption, in one array; those of user u begin at ``begin[u]``.

    A list that is full moves to the end of the array, with twice the capacity.

    >>> history = History()
    >>> n_before, repeated = history.consume(np.array([0, 0, 1, 0], np.int32), np.array([5, 6, 5, 5], np.int32))
    >>> n_before.tolist(), repeated.tolist(), history.first_items(0, 2).tolist()
    ([0, 1, 0, 2], [False, False, False, True], [5, 6])
    """

    def __init__(self) -> None:
        self.begin, self.size, self.capacity = (np.zeros(0, np.int64) for _ in range(3))
        self.pool = np.zeros(0, np.int32)
        self.used = 0

    def consume(self, users: Int32, items: Int32) -> tuple[Int64, NDArray[np.bool_]]:
        """Add events in order; return the number of items each user had before, and whether the item was one of them.

        Both arrays have an entry per event. Positions in ``pool`` stay valid until the next call.
        """
        self._make_room(users)
        n_before, repeated = np.empty(users.size, np.int64), np.empty(users.size, np.bool_)
        _kernels.consume(users, items, self.begin, self.size, self.pool, n_before, repeated)
        return n_before, repeated

    def first_items(self, user: int, n: int) -> Int32:
        """Return the first ``n`` distinct items that a user consumed."""
        return self.pool[self.begin[user] : self.begin[user] + n]

    def _make_room(self, users: Int32) -> None:
        """Ensure that each user's list has room for one more item per event of the user in ``users``."""
        n_users = int(users.max(initial=-1)) + 1
        self.begin, self.size, self.capacity = (
            grown(column, n_users) for column in (self.begin, self.size, self.capacity)
        )
        pending, used = np.zeros(self.size.size, np.int64), np.array([self.used])
        self.pool = make_room(users, self.begin, self.size, self.capacity, pending, used, self.pool)
        self.used = int(used[0])
