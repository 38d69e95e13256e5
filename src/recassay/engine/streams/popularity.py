"""Number of users who have taken each item so far: counted from the stream, whatever the model has learned.

Metrics beyond accuracy compare a list with the popularity of items right before its event. It is needed at any row of a
block, so the counts at the start of the block are kept, with the events that change them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.models.incremental.base import grown

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlockPopularity:
    """Popularity before each event of a block; items are stream codes, and a row is a position in the block.

    Popularity is the number of users who have taken an item; ``counts`` has it at the start of the block. ``items`` are
    the items of the events, and ``is_first`` says whether the event is its user's first with the item; only such events
    count. ``pairs`` and ``users`` are the numbers of distinct (user, item) pairs and of users before each row and at
    the end. ``tops[m]`` are the ``m`` most popular items at the start.
    """

    counts: Int64
    items: Int32
    is_first: Bool
    pairs: Int64  # before each row, and at the end
    users: Int64
    order: Int32  # rank of each item's id: ties of popularity are in this order
    tops: Mapping[int, tuple[int, ...]]

    @functools.cached_property
    def _keys(self) -> Int64:
        """Return the ascending pairs (item, row) of all events in which a user takes an item for the first time.

        Each pair is encoded as one number.
        """
        rows = np.flatnonzero(self.is_first)
        return np.sort(self._key(self.items[rows], rows))

    def _key(self, items: NDArray[Any], rows: Int64) -> Int64:
        return np.asarray(items.astype(np.int64) * (self.items.size + 1) + rows)

    def at(self, rows: Int64, items: Int32) -> Int64:
        """Return how many users had taken ``items[i]`` before row ``rows[i]`` of the block, for each i."""
        before = np.searchsorted(self._keys, self._key(items, rows))
        since = np.searchsorted(self._keys, self._key(items, np.zeros_like(rows)))
        return np.asarray(self.counts[items] + before - since)

    def least(self, row: int) -> int:
        """Return the smallest popularity of any item that some user had taken before a row of the block."""
        items = np.arange(self.counts.size, dtype=np.int32)
        counts = self.at(np.full(items.size, row), items)
        return int(counts[counts > 0].min(initial=np.iinfo(np.int64).max))

    def is_popular(self, rows: Int64, items: Int32, m: int) -> Bool:
        """Return whether ``items[i]`` was among the ``m`` most popular items before row ``rows[i]``, for each i."""
        start, changes, _ = self._top(m)
        is_member = np.zeros(self.counts.size, np.int64)
        is_member[list(start)] = 1
        for sign, keys in changes.items():
            before = np.searchsorted(keys, self._key(items, rows), side="right")
            is_member_change = before - np.searchsorted(keys, self._key(items, np.zeros_like(rows)), side="left")
            if sign > 0:
                entered = is_member_change
            else:
                left = is_member_change
        return np.asarray(is_member[items] + entered - left > 0)

    @functools.cache  # noqa: B019 - a block is short-lived
    def _top(self, m: int) -> tuple[tuple[int, ...], dict[int, Int64], tuple[int, ...]]:
        """Return how the set of the ``m`` most popular items changes within the block.

        The result is a tuple: the set at the start, the changes, and the set at the end. The changes are a dict: key 1
        has the items that enter the set, and key -1 those that leave it. Each value is an ascending array of pairs
        (item, row from which the change holds), each pair encoded as one number.
        """
        members, counts = list(self.tops[m]), self.counts.copy()
        entered, left = list[tuple[int, int]](), list[tuple[int, int]]()
        for row in np.flatnonzero(self.is_first).tolist():
            item = int(self.items[row])
            counts[item] += 1
            if item in members or m == 0:
                continue
            if len(members) == m:
                weakest = min(members, key=lambda one: (counts[one], -self.order[one]))
                if (counts[item], -self.order[item]) < (counts[weakest], -self.order[weakest]):
                    continue
                members.remove(weakest)
                left.append((weakest, row + 1))
            members.append(item)
            entered.append((item, row + 1))
        keys = {
            sign: np.sort(
                self._key(np.array([i for i, _ in moves], np.int64), np.array([r for _, r in moves], np.int64))
            )
            for sign, moves in ((1, entered), (-1, left))
        }
        return self.tops[m], keys, tuple(members)


class PopularityHistory:
    """The number of users of each item up to the current block, and the m most popular items for each m in ``sizes``.

    >>> history = PopularityHistory([1])
    >>> users, items = np.array([0, 0, 1, 2], np.int32), np.array([0, 1, 1, 1], np.int32)
    >>> block = history.block(users, items, np.zeros(4, bool), np.arange(2, dtype=np.int32))
    >>> rows, items = np.array([0, 2, 2, 3]), np.array([1, 0, 1, 1], np.int32)
    >>> block.at(rows, items).tolist(), block.is_popular(rows, items, 1).tolist()
    ([0, 1, 1, 2], [False, True, False, True])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.counts = np.zeros(0, np.int64)
        self.n_pairs, self.n_users = 0, 0
        self.tops: dict[int, tuple[int, ...]] = dict.fromkeys(sizes, ())

    def block(self, users: Int32, items: Int32, repeated: Bool, order: Int32) -> BlockPopularity:
        """Return the popularity before each of the next events, given by ``users`` and ``items``.

        ``repeated`` marks events with an item that the user had before, and ``order`` is the rank of each item's id.
        """
        counts = grown(self.counts, order.size)
        pairs = self.n_pairs + np.append(0, np.cumsum(~repeated))
        known = np.maximum.accumulate(np.append(self.n_users, users.astype(np.int64) + 1))
        return BlockPopularity(counts, items, ~repeated, pairs, known, order, dict(self.tops))

    def advance(self, block: BlockPopularity) -> None:
        """Add the events of a block to the counts."""
        self.counts = block.counts + np.bincount(block.items[block.is_first], minlength=block.counts.size)
        self.n_pairs, self.n_users = int(block.pairs[-1]), int(block.users[-1])
        self.tops = {m: block._top(m)[2] for m in self.tops}
