"""Loops of the incremental user-kNN: items in common, nearest users, scores.

Nothing of size users x users is kept. How many items a user has in common with every other is counted from the lists
of who had what, and kept exact for the few users asked last (``rows``): an event changes one number of each.
Held to the readable twin in ``tests/property/test_uknn.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._top import keep
from recassay.models.incremental._lists import append_to
from recassay.models.incremental._walk import Asked, Shown, Told, clock, place, until

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]
Float = NDArray[np.float64]

BLOCK = 64  # users that are passed over together where a row has nothing in common with any of them
NOBODY = -1


class State(NamedTuple):
    """What is learnt (two sets of lists, each user's number of items), what is kept to save time, and room to work."""

    had_start: Int64
    had_length: Int64
    had: Int32  # items of each user
    owner_start: Int64
    owner_length: Int64
    owners: Int32  # users of each item
    sizes: NDArray[np.float32]  # items of each user once more; infinite for a user without any
    rows: Int32  # items that the user of a row has in common with every user
    touched: Bools  # blocks of a row with anything but 0
    user_of: Int64  # the user of a row
    row_of: Int64  # the row of a user
    recent: Bools  # rows asked for since the hand passed
    hand: Int64  # the row to give away next
    level: Float  # where a user's nearest ended when last asked: a guess that saves sorting, and changes nothing
    near: Int32  # nearest users, ascending
    closeness: Float  # of each of them: what they are chosen by, and then what they weigh
    scores: Float


@njit(nogil=True, cache=True)
def walk(k: int, nearby: Int32, state: State, told: Told, asked: Asked, shown: Shown) -> None:
    """Answer every question, learning what is told before each, and then the rest.

    ``nearby`` holds neighbours found when each user learnt something; without columns they are found when asked.
    """
    learnt = 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            learn(told.users[event], told.items[event], k, nearby, state)
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begun = clock(shown.cell)
        score(asked.users[question], asked.known[question], k, nearby, state)
        place(state.scores, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(nogil=True, cache=True)
def learn(user: int, item: int, k: int, nearby: Int32, state: State) -> None:
    """Learn one event; there is room in the lists."""
    count(user, item, state)
    if nearby.shape[1]:
        found = nearest(user, k, state)
        nearby[user, :found] = state.near[:found]
        nearby[user, found:] = NOBODY


@njit(nogil=True, cache=True)
def count(user: int, item: int, state: State) -> None:
    """Count one event; a pair that is known changes nothing."""
    had = state.had[state.had_start[user] : state.had_start[user] + state.had_length[user]]
    for known in had:
        if known == item:
            return
    others = state.owners[state.owner_start[item] : state.owner_start[item] + state.owner_length[item]]
    block = user // BLOCK
    for other in others:
        row = state.row_of[other]
        if row != NOBODY:
            state.rows[row, user] += 1
            state.touched[row, block] = True
    if state.row_of[user] != NOBODY:
        _add(others, state.rows[state.row_of[user]], state.touched[state.row_of[user]])
    append_to(user, item, state.had_start, state.had_length, state.had)
    append_to(item, user, state.owner_start, state.owner_length, state.owners)
    state.sizes[user] = state.had_length[user]


@njit(nogil=True, cache=True, inline="always")
def _add(others: Int32, row: Int32, touched: Bools) -> None:
    for other in others:
        row[np.uint32(other)] += 1
        touched[np.uint32(other) // np.uint32(BLOCK)] = True


@njit(nogil=True, cache=True)
def row_for(user: int, state: State) -> Any:
    """The row of items in common with a user: kept, or counted anew in place of one long not asked for."""
    row = state.row_of[user]
    if row == NOBODY:
        while state.recent[state.hand[0]]:
            state.recent[state.hand[0]] = False
            state.hand[0] = (state.hand[0] + 1) % state.recent.size
        row = state.hand[0]
        state.hand[0] = (row + 1) % state.recent.size
        if state.user_of[row] != NOBODY:
            state.row_of[state.user_of[row]] = NOBODY
        state.user_of[row], state.row_of[user] = user, row
        _count_anew(user, state.rows[row], state.touched[row], state)
    state.recent[row] = True
    return row


@njit(nogil=True, cache=True)
def _count_anew(user: int, row: Int32, touched: Bools, state: State) -> None:
    row[:] = 0
    touched[:] = False
    had = state.had[state.had_start[user] : state.had_start[user] + state.had_length[user]]
    pairs = 0
    for item in had:
        pairs += state.owner_length[item]
    everywhere = pairs > row.size // 8  # then nearly every block is touched, and saying so each time costs most
    if everywhere:
        touched[:] = True
    for item in had:
        others = state.owners[state.owner_start[item] : state.owner_start[item] + state.owner_length[item]]
        if everywhere:
            for other in others:
                row[np.uint32(other)] += 1
        else:
            _add(others, row, touched)
    row[user] = 0


@njit(nogil=True, cache=True)
def nearest(user: int, k: int, state: State) -> int:
    """Find the k users most similar to one, in ascending order of code in ``state.near``; returns how many there are.

    By c^2 / |v|, the order of which is that of c / (sqrt |u| sqrt |v|) and which no rounding makes unequal where it
    is equal; equal ones by code.
    """
    row = state.rows[row_for(user, state)]
    touched = state.touched[state.row_of[user]]
    guess = state.level[user]
    found, enough = _closer_than(guess, row, touched, state)
    if guess > 0 and enough < k:
        found, enough = _closer_than(0.0, row, touched, state)
    state.level[user] = 0.0
    if found <= k:
        return found
    closest, places = state.closeness[:found].copy(), np.arange(found).astype(np.int32)
    keep(places, closest, state.near, found, k)
    last, room = closest[:k].min(), k
    for at in range(found):
        room -= state.closeness[at] > last
    kept = 0
    for at in range(found):
        level = state.closeness[at] == last
        if state.closeness[at] > last or (level and room > 0):
            room -= level
            state.near[kept] = state.near[at]
            kept += 1
    state.level[user] = 0.95 * last  # others drift away as they learn what this user does not
    return kept


@njit(nogil=True, cache=True)
def _closer_than(guess: float, row: Int32, touched: Bools, state: State) -> tuple[int, int]:
    """Users about as close as the guess or closer: how many, and how many are really as close."""
    found, enough = 0, 0
    bound = np.float32(guess * (1 - 1e-5))  # single precision passes over many at a time, and may let a few more in
    for block in range(touched.size):
        if not touched[block]:
            continue
        common, sizes = row[block * BLOCK : (block + 1) * BLOCK], state.sizes[block * BLOCK : (block + 1) * BLOCK]
        hits = np.int32(0)
        for at in range(BLOCK):
            hits += np.int32(np.float32(common[at]) * np.float32(common[at]) > bound * sizes[at])
        if hits:
            for at in range(BLOCK):
                if np.float32(common[at]) * np.float32(common[at]) > bound * sizes[at]:
                    closeness = np.float64(common[at]) * common[at] / sizes[at]
                    state.near[found], state.closeness[found] = block * BLOCK + at, closeness
                    found += 1
                    enough += closeness >= guess
    return found, enough


@njit(nogil=True, cache=True)
def score(user: int, known: int, k: int, nearby: Int32, state: State) -> None:
    """Write into ``state.scores`` the share of the neighbours of a user, by similarity, that have each known item."""
    state.scores[:known] = 0.0
    if nearby.shape[1]:
        found = 0
        while found < k and nearby[user, found] != NOBODY:
            state.near[found] = nearby[user, found]
            found += 1
    else:
        found = nearest(user, k, state)
    row, total = state.rows[row_for(user, state)], 0.0
    for at in range(found):
        other = state.near[at]
        weight = row[other] / np.sqrt(np.float64(state.sizes[other]))
        state.closeness[at] = weight
        total += weight
    for at in range(found):
        other, weight = state.near[at], state.closeness[at] / total
        for item in state.had[state.had_start[other] : state.had_start[other] + state.had_length[other]]:
            state.scores[np.uint32(item)] += weight
