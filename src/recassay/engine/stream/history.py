"""What every user has consumed so far: the evaluator's own record, always up to date, whatever the model has learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.engine.stream import _kernels
from recassay.models.incremental.base import grown

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
LEAST = 8  # places of a user at first


class History:
    """Distinct items of each user, in the order they came, in one array: those of user u begin at ``begin[u]``.

    A user who runs out of places moves to the end of the array, with twice as many. What is left behind is never more
    than what is used.

    >>> history = History()
    >>> had, again = history.consume(np.array([0, 0, 1, 0], np.int32), np.array([5, 6, 5, 5], np.int32))
    >>> had.tolist(), again.tolist(), history.of(0, 2).tolist()
    ([0, 1, 0, 2], [False, False, False, True], [5, 6])
    """

    def __init__(self) -> None:
        self.begin, self.size, self.room = (np.zeros(0, np.int64) for _ in range(3))
        self.pool = np.zeros(0, np.int32)
        self.used = 0

    def consume(self, users: Int32, items: Int32) -> tuple[Int64, NDArray[np.bool_]]:
        """For each event how many items its user had, and whether its item was among them; then it is.

        Places in the array stay what they are until the next call.
        """
        self._make_room(users)
        had, again = np.empty(users.size, np.int64), np.empty(users.size, np.bool_)
        _kernels.consume(users, items, self.begin, self.size, self.pool, had, again)
        return had, again

    def of(self, user: int, had: int) -> Int32:
        """The first so many items of a user."""
        return self.pool[self.begin[user] : self.begin[user] + had]

    def _make_room(self, users: Int32) -> None:
        whom, more = np.unique(users, return_counts=True)
        n_users = int(users.max(initial=-1)) + 1
        self.begin, self.size, self.room = (grown(one, n_users) for one in (self.begin, self.size, self.room))
        wanted = self.size[whom] + more
        moved, wanted = whom[wanted > self.room[whom]], wanted[wanted > self.room[whom]]
        room = np.maximum(np.maximum(2 * self.room[moved], LEAST), wanted)
        begin = self.used + np.cumsum(room) - room
        self.used += int(room.sum())
        self.pool = grown(self.pool, self.used)
        for user, to in zip(moved.tolist(), begin.tolist(), strict=True):
            size = self.size[user]
            self.pool[to : to + size] = self.pool[self.begin[user] : self.begin[user] + size]
        self.begin[moved], self.room[moved] = begin, room
