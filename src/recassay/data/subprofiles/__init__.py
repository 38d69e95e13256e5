"""Subprofiles of users, and the items close to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.data.interactions import Interactions
from recassay.data.subprofiles import _kernels
from recassay.threads import each_block

NO_ITEM = -1  # marks a missing neighbour
ITEMS_PER_BLOCK = 256


def nearest(log: Interactions, k: int, *, threads: int | None = None) -> NDArray[np.int32]:
    """Return the k items most similar to each item (items, k), most similar first; -1 if there are fewer.

    Similarity is the cosine of 0/1 item vectors, |U_i and U_j| / sqrt(|U_i| |U_j|), U_i being the users of item i. An
    item is not its own neighbour, and neighbours share at least one user. Ties are in ascending order of id.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2, 3], "item_id": [7, 8, 7, 8, 9, 6]}))
    >>> nearest(log, 2).tolist()
    [[-1, -1], [2, 3], [1, 3], [1, 2]]
    """
    offsets, items = (readonly(array) for array in log.by_user)
    item_offsets, item_users = (readonly(array) for array in log.by_item)
    found = np.full((log.n_items, k), NO_ITEM, np.int32)

    def fill(begin: int, end: int) -> None:
        _kernels.nearest(item_offsets, item_users, offsets, items, begin, end, found)

    each_block(fill, log.n_items, size=ITEMS_PER_BLOCK, threads=threads)
    return found


Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Miner:
    """A finder of the subprofiles of users, which are groups of similar items among the items that a user likes.

    The subprofile around a liked item i is i and all liked items j that have i among their ``k1`` nearest neighbours. A
    subprofile inside another is dropped, equal ones are kept once. An item is close to a subprofile if it is among the
    ``k2`` nearest neighbours of one of its items. Neighbours come from the whole log, see :func:`nearest`.

    >>> import polars as pl
    >>> baskets = {1: [1, 2, 3], 2: [1, 2, 4], 3: [1, 2], 4: [3, 5, 6], 5: [5, 6], 6: [4, 7], 7: [1, 7], 8: [1, 2, 5]}
    >>> rows = [(user, item) for user, items in baskets.items() for item in items]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"))
    >>> Miner.of(log, k1=2, k2=2).mine(np.array([7], np.int32)).sets(0)
    [[0, 1], [4]]
    """

    offsets: Int64  # of each user's liked items
    liked: Int32  # distinct, ascending
    near: Int32  # (items, k1)
    close: Int32  # (items, k2)

    @classmethod
    def of(
        cls,
        log: Interactions,
        *,
        k1: int = 10,
        k2: int = 10,
        liked_from: float | None = None,
        threads: int | None = None,
    ) -> Miner:
        """Return a finder of subprofiles of the users of a log.

        A subprofile is made with the ``k1`` nearest neighbours of items, and items close to it with ``k2``. Liked items
        have a rating of at least ``liked_from``; with None a user likes all of their items.
        """
        offsets, liked = log.take(log.liked(liked_from)).by_user
        neighbours = nearest(log, max(k1, k2), threads=threads)
        near, close = (np.ascontiguousarray(neighbours[:, :k]) for k in (k1, k2))
        return cls(readonly(offsets), readonly(liked), readonly(near), readonly(close))

    def mine(self, users: Int32) -> Subprofiles:
        """Return the subprofiles of some users, in the order given.

        ``users`` are codes in the log; -1 is an unknown user, who has no subprofiles.
        """
        return Subprofiles(
            *_kernels.mine(*(readonly(one) for one in (self.offsets, self.liked, self.near, users))), self.close
        )


@dataclass(frozen=True, eq=False)
class Subprofiles:
    """The subprofiles of some users, which are sets of item codes of the log.

    User u of the block has the subprofiles numbered ``offsets[u]`` to ``offsets[u + 1]`` (excluded), the largest first,
    then by their items. Subprofile s has the items ``items[set_offsets[s]:set_offsets[s + 1]]``, ascending.
    """

    offsets: Int64
    set_offsets: Int64
    items: Int32
    close: Int32  # (items, k2): the neighbours of every item of the log

    def sets(self, user: int) -> list[list[int]]:
        """Return the subprofiles of one user of the block, as lists of item codes."""
        bounds = self.set_offsets[self.offsets[user] : self.offsets[user + 1] + 1]
        return [self.items[begin:end].tolist() for begin, end in pairwise(bounds)]

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return p(S | u) of each subprofile S: its size as a share of the summed sizes of user u's subprofiles."""
        sums = np.diff(self.set_offsets[self.offsets])
        return np.asarray(np.diff(self.set_offsets) / np.repeat(sums, np.diff(self.offsets)))

    def aspects(self, offsets: Int64, items: Int32) -> tuple[Int64, Int32]:
        """Return, for each row of some lists, the numbers of the user's subprofiles that its item is close to.

        List u is for user u of the block and has the items ``items[offsets[u]:offsets[u + 1]]``, in codes of the log;
        -1 is an item that the log does not have, close to no subprofile. The first result has the offsets of the rows
        in the second, which has the numbers 0, 1, ... of the user's subprofiles, ascending. A subprofile is a group of
        similar items that the user likes.
        """
        return _kernels.aspects(
            readonly(self.offsets), readonly(self.set_offsets), readonly(self.items), readonly(self.close),
            readonly(offsets), readonly(items),
        )  # fmt: skip
