"""Loops that find neighbours of items and subprofiles of users. Arrays in, arrays out, no validation.

Each has a readable twin in ``tests/property/test_subprofiles.py`` that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._kernels import GAPS

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def nearest(
    item_offsets: Int64, item_users: Int32, offsets: Int64, items: Int32, begin: int, end: int, out: Int32
) -> None:
    """Fill rows begin..end of ``out`` with the most similar items of each, ties ascending.

    Cosines with one item are in the order of c^2 / n, c users shared and n users of the other item: of whole numbers
    and one division, so that what is equal is equal to the last bit.
    """
    k, n = out.shape[1], item_offsets.size - 1
    shared = np.zeros(n, np.int32)
    met = np.empty(n, np.int32)
    worth = np.empty(k, np.float64)
    for item in range(begin, end):
        found, kept = 0, 0
        for at in range(item_offsets[item], item_offsets[item + 1]):
            user = item_users[at]
            for place in range(offsets[user], offsets[user + 1]):
                other = items[place]
                if shared[other] == 0:
                    met[found] = other
                    found += 1
                shared[other] += 1
        for at in range(found):
            other = met[at]
            both = float(shared[other])
            shared[other] = 0
            if other == item:
                continue
            value = both * both / (item_offsets[other + 1] - item_offsets[other])
            if kept == k and (value < worth[k - 1] or (value == worth[k - 1] and other > out[item, k - 1])):
                continue
            place = min(kept, k - 1)
            while place and (worth[place - 1] < value or (worth[place - 1] == value and out[item, place - 1] > other)):
                worth[place], out[item, place] = worth[place - 1], out[item, place - 1]
                place -= 1
            worth[place], out[item, place] = value, other
            kept = min(kept + 1, k)


@njit(nogil=True, cache=True)
def mine(offsets: Int64, liked: Int32, near: Int32, users: Int32) -> tuple[Int64, Int64, Int32]:
    """Subprofiles of each user: offsets of users, offsets of subprofiles, items."""
    room, longest = 0, 0
    for user in users:
        if user >= 0:
            room += offsets[user + 1] - offsets[user]
            longest = max(longest, offsets[user + 1] - offsets[user])
    place_of = np.full(near.shape[0], -1, np.int32)  # of an item among those the user liked
    start = np.empty(longest + 1, np.int64)
    sets = np.empty(longest * (near.shape[1] + 1), np.int32)  # of places: set p begins at start[p]
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
            _around(mine, near, place_of, start, sets)
            kept = 0
            for place in range(mine.size):
                if not _is_inside_another(place, mine, near, place_of, start, sets):
                    order[kept] = place
                    kept += 1
            _arrange(order[:kept], start, sets)
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
def _around(mine: Int32, near: Int32, place_of: Int32, start: Int64, sets: Int32) -> None:
    """Around each place itself and all places that have it for a neighbour, ascending."""
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
    """Whether a set is part of a larger one, or equal to an earlier one.

    It can only be inside sets that have its own item in them: those around neighbours of that item.
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
def _arrange(order: Int64, start: Int64, sets: Int32) -> None:
    """Sort numbers of sets: the largest first, those of a size by their members."""
    for gap in GAPS:
        for begin in range(gap, order.size):
            one, place = order[begin], begin
            while place >= gap and _stands_before(one, order[place - gap], start, sets):
                order[place] = order[place - gap]
                place -= gap
            order[place] = one


@njit(nogil=True, cache=True)
def _stands_before(one: int, other: int, start: Int64, sets: Int32) -> bool:
    size, room = start[one + 1] - start[one], start[other + 1] - start[other]
    if size != room:
        return bool(size > room)
    for at in range(size):
        if sets[start[one] + at] != sets[start[other] + at]:
            return bool(sets[start[one] + at] < sets[start[other] + at])
    return False


@njit(nogil=True, cache=True)
def shares(offsets: Int64, sizes: Int64) -> Float:
    """Each size as a share of its stretch."""
    out = np.empty(sizes.size, np.float64)
    for stretch in range(offsets.size - 1):
        total = sizes[offsets[stretch] : offsets[stretch + 1]].sum()
        for at in range(offsets[stretch], offsets[stretch + 1]):
            out[at] = sizes[at] / total
    return out


@njit(nogil=True, cache=True)
def aspects(
    user_offsets: Int64, set_offsets: Int64, members: Int32, close: Int32, offsets: Int64, items: Int32
) -> tuple[Int64, Int32]:
    """For each row of list u the numbers of the subprofiles of user u that its item is close to, ascending."""
    head = np.full(close.shape[0], -1, np.int64)  # the last row of an item in this list
    before = np.full(items.size, -1, np.int64)  # the row before it with the same item
    counted = np.zeros(items.size + 1, np.int64)
    codes = np.empty(0, np.int32)
    for fills in range(2):  # first the numbers of each row are counted, then they are written
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
