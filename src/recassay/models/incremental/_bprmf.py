"""Incremental pairwise ranking: steps on a user, an item the user had and one the user had not; single precision.

Item factors lie in tiles, as those of ISGD, with the bias as one factor more. What is drawn is a hash of the seed, the
number of the event and the step. Held to the readable twin in ``tests/property/test_incremental_models.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from recassay.data._hashes import below, mix, normal
from recassay.models.incremental._clock import clock
from recassay.models.incremental._lists import append_to
from recassay.models.incremental._tiles import LANES, Float32, products
from recassay.models.incremental._walk import Asked, Int32, Int64, Shown, Told, place, until
from recassay.portable._kernels import exp

EVENT, USER, BOTH = 0, 1, 2  # what an event teaches: see :class:`recassay.models.incremental.bprmf.BPRMF`
TRIES = 64  # draws that may hit items the user had; then one is picked from a list of the others
NONE = -1
RESTART, ITEM, BEFORE = np.uint64(1 << 40), np.uint64(1 << 41), np.uint64(1 << 42)  # set draws of other purposes apart


class State(NamedTuple):
    """What is learnt."""

    users: Float32
    items: Float32  # a tile, a factor (the last one is the bias) and a lane
    start: Int64
    length: Int64
    had: Int32  # items of each user
    tree: Int64  # how many users had each item, in a Fenwick tree; empty where nobody asks
    mark: Int64  # the number of the last marking that an item was in
    counts: Int64  # events, distinct pairs, items met, users met, marks made, whether what came first was trained


class How(NamedTuple):
    """What does not change: learning rate and penalties of user, item, negative and bias, then what and how to draw."""

    rates: Float32
    steps: int
    teaches: int
    by_frequency: bool
    deviation: float
    salt: np.uint64


@njit(cache=True, nogil=True)
def walk(how: How, state: State, told: Told, asked: Asked, shown: Shown) -> None:
    """Answer every question, learning what is told before each, and then the rest."""
    row, learnt = np.empty(state.items.shape[0] * LANES, np.float32), 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            learn(told.users[event], told.items[event], how, state)
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begin_asking(how, state)
        begun = clock(shown.cell)
        score(asked.users[question], asked.known[question], state, row)
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(cache=True, nogil=True)
def score(user: int, known: int, state: State, row: Float32) -> None:
    """The product of factors and the bias of every known item."""
    factors = np.ones(state.items.shape[1], np.float32)
    factors[:-1] = state.users[user]
    products(factors, state.items, known, row)


@njit(cache=True, nogil=True)
def learn(user: int, item: int, how: How, state: State) -> None:
    """Learn one event; there is room in the lists."""
    note(user, item, state)
    if how.teaches != EVENT and not state.counts[5]:
        return
    key = mix(how.salt + mix(np.uint64(state.counts[0])))
    had = state.had[state.start[user] : state.start[user] + state.length[user]]
    mark(had, state)
    if how.teaches == EVENT:
        for step in range(how.steps):
            against = other(key + np.uint64(step), had, how.by_frequency, state)
            if against == NONE:
                return
            move(state.users[user], item, against, how.rates, True, True, True, state)
        return
    for factor in range(state.users.shape[1]):
        state.users[user, factor] = how.deviation * normal(mix(key + RESTART + np.uint64(factor)))
    for step in range(had.size):
        against = other(key + np.uint64(step), had, how.by_frequency, state)
        if against == NONE:
            break
        liked = had[below(mix(key + RESTART + np.uint64(state.users.shape[1] + step)), had.size)]
        move(state.users[user], liked, against, how.rates, True, False, False, state)
    if how.teaches == BOTH:
        relearn(item, key + ITEM, how, state)


@njit(cache=True, nogil=True)
def relearn(item: int, key: np.uint64, how: How, state: State) -> None:
    """Start an item's factors anew and move them by random users: up if they had it, else down."""
    for factor in range(state.users.shape[1]):
        start = how.deviation * normal(mix(key + RESTART + np.uint64(factor)))
        state.items[item // LANES, factor, item % LANES] = start
    for step in range(state.counts[1] // state.counts[2]):
        lot = mix(key + np.uint64(step))
        user = below(lot, state.counts[3])
        had = state.had[state.start[user] : state.start[user] + state.length[user]]
        mark(had, state)
        if state.mark[item] == state.counts[4]:
            against = other(lot, had, how.by_frequency, state)
            if against != NONE:
                move(state.users[user], item, against, how.rates, False, True, False, state)
        elif had.size:
            liked = had[below(mix(lot + RESTART), had.size)]
            move(state.users[user], liked, item, how.rates, False, False, True, state)


@njit(cache=True, nogil=True)
def begin_asking(how: How, state: State) -> None:
    """Train on what came before the first question, if events alone would not teach the items.

    In rounds of as many steps as there are pairs, each on a random user.
    """
    if how.teaches == EVENT or state.counts[5]:
        return
    state.counts[5] = 1
    key = mix(how.salt + BEFORE)
    for step in range(how.steps * state.counts[1]):
        lot = mix(key + np.uint64(step))
        user = below(lot, state.counts[3])
        had = state.had[state.start[user] : state.start[user] + state.length[user]]
        mark(had, state)
        against = other(lot, had, how.by_frequency, state) if had.size else NONE
        if against != NONE:
            liked = had[below(mix(lot + RESTART), had.size)]
            move(state.users[user], liked, against, how.rates, True, True, True, state)


@njit(cache=True, nogil=True)
def note(user: int, item: int, state: State) -> None:
    """Count an event; a pair that is known is no new pair."""
    state.counts[0] += 1
    state.counts[2] = max(state.counts[2], item + 1)
    state.counts[3] = max(state.counts[3], user + 1)
    for known in state.had[state.start[user] : state.start[user] + state.length[user]]:
        if known == item:
            return
    state.counts[1] += 1
    append_to(user, item, state.start, state.length, state.had)
    node = item + 1
    while node < state.tree.size:
        state.tree[node] += 1
        node += node & -node


@njit(cache=True, nogil=True)
def mark(had: Int32, state: State) -> None:
    """Mark what a user had."""
    state.counts[4] += 1
    for item in had:
        state.mark[item] = state.counts[4]


@njit(cache=True, nogil=True)
def other(key: np.uint64, had: Int32, by_frequency: bool, state: State) -> Any:
    """An item that was met and is not marked, uniform or by how many users had it; -1 if there is none."""
    met, now = state.counts[2], state.counts[4]
    if had.size >= met:
        return NONE
    lot = mix(key)
    for _ in range(TRIES):
        item = holder(below(lot, state.counts[1]), state.tree) if by_frequency else below(lot, met)
        if state.mark[item] != now:
            return item
        lot = mix(lot)
    left = 0
    for item in range(met):
        if state.mark[item] != now:
            left += frequency(item, state.tree) if by_frequency else 1
    wanted = below(lot, left)
    for item in range(met):
        if state.mark[item] != now:
            wanted -= frequency(item, state.tree) if by_frequency else 1
            if wanted < 0:
                return item
    return NONE


@njit(cache=True, nogil=True)
def holder(pair: Any, tree: Int64) -> int:
    """The item of a pair, where pairs are numbered item by item (Fenwick 1994)."""
    node, step = 0, tree.size - 1
    while step:
        if node + step < tree.size and tree[node + step] <= pair:
            node += step
            pair -= tree[node]
        step //= 2
    return node


@njit(cache=True, nogil=True)
def frequency(item: int, tree: Int64) -> Any:
    """How many users had an item."""
    node = item + 1
    count, stop = tree[node], node - (node & -node)
    node -= 1
    while node != stop:
        count -= tree[node]
        node -= node & -node
    return count


@njit(cache=True, nogil=True)
def move(
    user: Float32, liked: int, against: int, rates: Float32, of_user: bool, of_liked: bool, of_against: bool,
    state: State,
) -> None:  # fmt: skip
    """One step up the gradient of the logarithm of the chance that one item stands above another."""
    rate, reg_user, reg_liked, reg_against, reg_bias = rates
    up, down = state.items[liked // LANES, :, liked % LANES], state.items[against // LANES, :, against % LANES]
    bias = user.size
    margin = up[bias] - down[bias]
    for factor in range(user.size):
        margin += user[factor] * (up[factor] - down[factor])
    pull = np.float32(1.0 / (1.0 + exp(np.float64(margin))))
    if of_liked:
        up[bias] += rate * (pull - reg_bias * up[bias])
    if of_against:
        down[bias] += rate * (-pull - reg_bias * down[bias])
    for factor in range(user.size):
        mine, above, below_it = user[factor], up[factor], down[factor]
        if of_user:
            user[factor] = mine + rate * (pull * (above - below_it) - reg_user * mine)
        if of_liked:
            up[factor] = above + rate * (pull * mine - reg_liked * above)
        if of_against:
            down[factor] = below_it + rate * (-pull * mine - reg_against * below_it)
