"""Loops of the incremental user-kNN: nearest users and scores.

Held to the readable twin in ``tests/property/test_incremental_models.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._top import keep
from recassay.models.incremental._clock import clock
from recassay.models.incremental._in_common import BLOCK, NOBODY, Bools, Common, count, row_for
from recassay.models.incremental._walk import Asked, Int32, Shown, Told, place, until

Float = NDArray[np.float64]

# Weights are whole numbers of 1 / ONE. Sums are exact up to 2^53 / ONE = 2^15: a weight is at most the root of how many
# items the neighbour had, so that is a hundred neighbours with a hundred thousand items each.
ONE = 2.0**38


class Near(NamedTuple):
    """Who is near: found anew each time, or kept."""

    kept: Int32  # neighbours found when each user learnt something; without columns they are found when asked
    level: Float  # where a user's nearest ended when last asked: a guess that saves sorting, and changes nothing
    found: Int32  # nearest users, ascending
    closeness: Float  # of each of them: what they are chosen by, and then what they weigh


@njit(nogil=True, cache=True)
def walk(k: int, near: Near, common: Common, told: Told, asked: Asked, shown: Shown) -> None:
    """Answer every question, learning what is told before each, and then the rest."""
    row, learnt = np.empty(max(asked.universe.max(), 1) if asked.universe.size else 1), 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            learn(told.users[event], told.items[event], k, near, common)
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begun = clock(shown.cell)
        score(asked.users[question], k, near, common, row[: asked.known[question]])
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(nogil=True, cache=True)
def learn(user: int, item: int, k: int, near: Near, common: Common) -> None:
    """Learn one event; there is room in the lists."""
    count(user, item, common)
    if near.kept.shape[1]:
        found = nearest(user, k, near, common)
        near.kept[user, :found] = near.found[:found]
        near.kept[user, found:] = NOBODY


@njit(nogil=True, cache=True)
def nearest(user: int, k: int, near: Near, common: Common) -> int:
    """Find the k users most similar to one, in ascending order of code in ``near.found``; returns how many there are.

    By c^2 / |v|, the order of which is that of c / (sqrt |u| sqrt |v|) and which no rounding makes unequal where it
    is equal; equal ones by code.
    """
    row = common.rows[row_for(user, common)]
    touched = common.touched[common.row_of[user]]
    guess = near.level[user]
    found, enough = _closer_than(guess, row, touched, near, common)
    if guess > 0 and enough < k:
        found, enough = _closer_than(0.0, row, touched, near, common)
    near.level[user] = 0.0
    if found <= k:
        return found
    closest, places = near.closeness[:found].copy(), np.arange(found).astype(np.int32)
    keep(places, closest, near.found, found, k)
    last, room = closest[:k].min(), k
    for at in range(found):
        room -= near.closeness[at] > last
    kept = 0
    for at in range(found):
        level = near.closeness[at] == last
        if near.closeness[at] > last or (level and room > 0):
            room -= level
            near.found[kept] = near.found[at]
            kept += 1
    near.level[user] = 0.95 * last  # others drift away as they learn what this user does not
    return kept


@njit(nogil=True, cache=True)
def _closer_than(guess: float, row: Int32, touched: Bools, near: Near, common: Common) -> tuple[int, int]:
    """Users about as close as the guess or closer: how many, and how many are really as close."""
    found, enough = 0, 0
    bound = np.float32(guess * (1 - 1e-5))  # single precision passes over many at a time, and may let a few more in
    for block in range(touched.size):
        if not touched[block]:
            continue
        shared, sizes = row[block * BLOCK : (block + 1) * BLOCK], common.sizes[block * BLOCK : (block + 1) * BLOCK]
        hits = np.int32(0)
        for at in range(BLOCK):
            hits = np.int32(hits + np.int32(np.float32(shared[at]) * np.float32(shared[at]) > bound * sizes[at]))
        for at in range(BLOCK if hits else 0):  # set aside without a branch
            near.found[found] = block * BLOCK + at
            found += np.float32(shared[at]) * np.float32(shared[at]) > bound * sizes[at]
    for at in range(found):
        other = near.found[at]
        near.closeness[at] = np.float64(row[other]) * row[other] / common.sizes[other]
        enough += near.closeness[at] >= guess
    return found, enough


@njit(nogil=True, cache=True)
def score(user: int, k: int, near: Near, common: Common, scores: Float) -> None:
    """Write the share of the neighbours of a user, by similarity, that have each known item.

    Items that equally similar users had have equal scores, to the bit, whoever these users are: weights are roots of
    c^2 / |v|, equal where the fractions are, and multiples of 1 / ONE, so that sums are exact in any order.
    """
    scores[:] = 0.0
    if near.kept.shape[1]:
        found = 0
        while found < k and near.kept[user, found] != NOBODY:
            near.found[found] = near.kept[user, found]
            found += 1
    else:
        found = nearest(user, k, near, common)
    row, total = common.rows[row_for(user, common)], 0.0
    for at in range(found):
        other = near.found[at]
        near.closeness[at] = np.rint(ONE * np.sqrt(np.float64(row[other]) * row[other] / common.sizes[other]))
        total += near.closeness[at]
    for at in range(found):
        other, weight = near.found[at], near.closeness[at]
        for item in common.things[
            common.things_start[other] : common.things_start[other] + common.things_length[other]
        ]:
            scores[np.uint32(item)] += weight
    if total > 0:
        for item in range(scores.size):
            scores[item] /= total
