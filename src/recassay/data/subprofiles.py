"""Subprofiles of users, and the items close to each of them.

The compiled loops do not validate arguments. Each is tested against a readable reference version in
``tests/property/test_subprofiles.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar._kernels import GAPS
from recassay.columnar.layout import readonly
from recassay.data.interactions import Interactions
from recassay.threads import each_block

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

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
        _fill_nearest(item_offsets, item_users, offsets, items, begin, end, found)

    each_block(fill, log.n_items, size=ITEMS_PER_BLOCK, threads=threads)
    return found


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
            *_mine_sets(*(readonly(one) for one in (self.offsets, self.liked, self.near, users))), self.close
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
        return _find_aspects(
            readonly(self.offsets), readonly(self.set_offsets), readonly(self.items), readonly(self.close),
            readonly(offsets), readonly(items),
        )  # fmt: skip


@njit(nogil=True, cache=True)
def _fill_nearest(
    item_offsets: Int64, item_users: Int32, offsets: Int64, items: Int32, begin: int, end: int, out: Int32
) -> None:
    """Write to rows begin..end of ``out`` the most similar items of each item, best first, ties by ascending item.

    ``out`` (items, k) keeps its contents where there are fewer than k. ``item_users[item_offsets[i]:item_offsets[i +
    1]]`` are the users of item i, and ``items[offsets[u]:offsets[u + 1]]`` the items of user u. Cosines with one item
    are ordered like c^2 / n, for c shared users and n users of the other item. This takes whole numbers and one
    division, so equal similarities are equal to the last bit.
    """
    k, n = out.shape[1], item_offsets.size - 1
    shared = np.zeros(n, np.int32)
    candidates = np.empty(n, np.int32)
    similarity = np.empty(k, np.float64)
    for item in range(begin, end):
        found, kept = 0, 0
        for at in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[at]
            for place in range(offsets[user], offsets[user + 1]):
                other = items[place]
                if shared[other] == 0:
                    candidates[found] = other
                    found += 1
                shared[other] += 1
        for at in range(found):
            other = candidates[at]
            both = float(shared[other])
            shared[other] = 0
            if other == item:
                continue
            value = both * both / (item_offsets[other + 1] - item_offsets[other])
            if kept == k and (value < similarity[k - 1] or (value == similarity[k - 1] and other > out[item, k - 1])):
                continue
            place = min(kept, k - 1)
            while place and (
                similarity[place - 1] < value or (similarity[place - 1] == value and out[item, place - 1] > other)
            ):
                similarity[place], out[item, place] = similarity[place - 1], out[item, place - 1]
                place -= 1
            similarity[place], out[item, place] = value, other
            kept = min(kept + 1, k)


@njit(nogil=True, cache=True)
def _mine_sets(offsets: Int64, liked: Int32, near: Int32, users: Int32) -> tuple[Int64, Int64, Int32]:
    """Return the subprofiles of each of ``users`` in three arrays: user_offsets, set_offsets and members.

    A subprofile is a group of similar items that a user likes. The user in row u of ``users`` has the subprofiles s
    from ``user_offsets[u]`` to ``user_offsets[u + 1]``, and s has the items ``members[set_offsets[s]:set_offsets[s +
    1]]``. A user is a code v of the log with the liked items ``liked[offsets[v]:offsets[v + 1]]``, or -1 if unknown.
    ``near[i]`` are the nearest neighbours of item i, padded with -1.
    """
    room, longest = 0, 0
    for user in users:
        if user >= 0:
            room += offsets[user + 1] - offsets[user]
            longest = max(longest, offsets[user + 1] - offsets[user])
    place_of = np.full(near.shape[0], -1, np.int32)  # the index of an item among the user's liked items
    start = np.empty(longest + 1, np.int64)
    sets = np.empty(longest * (near.shape[1] + 1), np.int32)  # members as indices: set p begins at start[p]
    order = np.empty(longest, np.int64)
    user_offsets = np.zeros(users.size + 1, np.int64)
    set_offsets = np.zeros(room + 1, np.int64)
    out = np.empty(room * (near.shape[1] + 1), np.int32)
    found, written = 0, 0
    for number in range(users.size):
        if users[number] >= 0:
            mine = liked[offsets[users[number]] : offsets[users[number] + 1]]
            for place in range(mine.size):
                place_of[mine[place]] = place
            _build_sets(mine, near, place_of, start, sets)
            kept = 0
            for place in range(mine.size):
                if not _is_inside_another(place, mine, near, place_of, start, sets):
                    order[kept] = place
                    kept += 1
            _sort_sets(order[:kept], start, sets)
            for at in range(kept):
                for member in range(start[order[at]], start[order[at] + 1]):
                    out[written] = mine[sets[member]]
                    written += 1
                found += 1
                set_offsets[found] = written
            for item in mine:
                place_of[item] = -1
        user_offsets[number + 1] = found
    return user_offsets, set_offsets[: found + 1].copy(), out[:written].copy()


@njit(nogil=True, cache=True)
def _build_sets(mine: Int32, near: Int32, place_of: Int32, start: Int64, sets: Int32) -> None:
    """Write one set per liked item of a user: the item and all liked items that have it among their neighbours.

    ``mine`` are the user's liked items, ascending. Set p, around ``mine[p]``, is written to ``sets[start[p]:start[p +
    1]]`` as ascending positions in ``mine``. ``near[i]`` are the neighbours of item i, padded with -1, and
    ``place_of[i]`` is the position of item i in ``mine``, -1 if it is not liked.
    """
    start[: mine.size + 1] = 0
    for place in range(mine.size):
        start[place + 1] += 1
        for item in near[mine[place]]:
            if item >= 0 and place_of[item] >= 0:
                start[place_of[item] + 1] += 1
    for place in range(mine.size):
        start[place + 1] += start[place]
    filled = start[: mine.size].copy()
    for place in range(mine.size):
        sets[filled[place]] = place
        filled[place] += 1
        for item in near[mine[place]]:
            if item >= 0 and place_of[item] >= 0:
                at = place_of[item]
                sets[filled[at]] = place
                filled[at] += 1


@njit(nogil=True, cache=True)
def _is_inside_another(place: int, mine: Int32, near: Int32, place_of: Int32, start: Int64, sets: Int32) -> bool:
    """Return whether the set numbered ``place`` is part of a larger set, or equal to one with a lower number.

    Set p belongs to the item ``mine[p]`` and is ``sets[start[p]:start[p + 1]]``, as :func:`_build_sets` writes it. A
    set can only be inside sets that contain its own item, which are those around the item's neighbours ``near``.
    ``place_of[i]`` is the position of item i in ``mine``, -1 if it is not there.
    """
    size = start[place + 1] - start[place]
    for item in near[mine[place]]:
        if item < 0 or place_of[item] < 0:
            continue
        other = place_of[item]
        room = start[other + 1] - start[other]
        if room < size or (room == size and other > place):
            continue
        at, last = start[other], start[other + 1]
        inside = True
        for member in range(start[place], start[place + 1]):
            while at < last and sets[at] < sets[member]:
                at += 1
            if at == last or sets[at] != sets[member]:
                inside = False
                break
        if inside:
            return True
    return False


@njit(nogil=True, cache=True)
def _sort_sets(order: Int64, start: Int64, sets: Int32) -> None:
    """Sort the numbers of sets in ``order``: the largest set first, sets of equal size by their members.

    Set p has the members ``sets[start[p]:start[p + 1]]``.
    """
    for gap in GAPS:
        for begin in range(gap, order.size):
            one, place = order[begin], begin
            while place >= gap and _comes_before(one, order[place - gap], start, sets):
                order[place] = order[place - gap]
                place -= gap
            order[place] = one


@njit(nogil=True, cache=True)
def _comes_before(one: int, other: int, start: Int64, sets: Int32) -> bool:
    size, room = start[one + 1] - start[one], start[other + 1] - start[other]
    if size != room:
        return bool(size > room)
    for at in range(size):
        if sets[start[one] + at] != sets[start[other] + at]:
            return bool(sets[start[one] + at] < sets[start[other] + at])
    return False


@njit(nogil=True, cache=True)
def _find_aspects(
    user_offsets: Int64, set_offsets: Int64, members: Int32, close: Int32, offsets: Int64, items: Int32
) -> tuple[Int64, Int32]:
    """Return, for each row of some lists, the ascending numbers of the user's subprofiles that its item is close to.

    A subprofile is a group of similar items that a user likes. The first result has the offsets of the rows in the
    second, which has the numbers. List u is for user u and has the items ``items[offsets[u]:offsets[u + 1]]``; -1 is an
    unknown item. User u has the subprofiles s from ``user_offsets[u]`` to ``user_offsets[u + 1]``, numbered from 0, and
    s has the items ``members[set_offsets[s]:set_offsets[s + 1]]``. An item is close to a subprofile if, for one of its
    items i, it is in ``close[i]``, the nearest neighbours of i.
    """
    head = np.full(close.shape[0], -1, np.int64)  # the last row of an item in this list
    before = np.full(items.size, -1, np.int64)  # the previous row with the same item
    counted = np.zeros(items.size + 1, np.int64)
    codes = np.empty(0, np.int32)
    for fills in range(2):  # the first pass counts the numbers of each row, the second writes them
        last = np.full(items.size, -1, np.int64)
        if fills:
            for row in range(items.size):
                counted[row + 1] += counted[row]
            codes = np.empty(counted[items.size], np.int32)
        written = counted.copy()
        for user in range(offsets.size - 1):
            for row in range(offsets[user], offsets[user + 1]):
                if items[row] >= 0:
                    before[row] = head[items[row]]
                    head[items[row]] = row
            for one in range(user_offsets[user], user_offsets[user + 1]):
                for member in members[set_offsets[one] : set_offsets[one + 1]]:
                    for item in close[member]:
                        row = head[item] if item >= 0 else -1
                        while row >= 0 and last[row] != one:
                            last[row] = one
                            if fills:
                                codes[written[row]] = one - user_offsets[user]
                                written[row] += 1
                            else:
                                counted[row + 1] += 1
                            row = before[row]
            for row in range(offsets[user], offsets[user + 1]):
                if items[row] >= 0:
                    head[items[row]] = -1
    return counted, codes
