"""Compiled loops of incremental pairwise ranking: gradient steps on a user, a positive and a negative item.

Numbers have single precision. Item factors are stored in blocks (``_factor_blocks.py``), with the bias as the last
factor. Random draws are hashes of the seed, the event number and the step.
``tests/property/test_incremental_models.py`` checks the loops against a readable version.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float32, Int32, Int64
from recassay.columnar._hashes import below, mix, normal
from recassay.models.incremental._factor_blocks import ITEMS_PER_BLOCK, score_and_count, score_of
from recassay.models.incremental._lists import append_to

EVENT, USER, BOTH = 0, 1, 2  # what an event updates: see :class:`recassay.models.incremental.bprmf.BPRMF`
TRIES = 64  # draws that may hit an item of the user's profile; then all other items are enumerated
NONE = -1
RESTART, ITEM, BEFORE = (
    np.uint64(1 << 40),
    np.uint64(1 << 41),
    np.uint64(1 << 42),
)  # separate draws by purpose


class BprmfSettings(NamedTuple):
    """Constants of an incremental pairwise ranking model.

    ``rates`` are the learning rate and the penalties of user, positive item, negative item and bias. ``steps`` is the
    number of gradient steps of an event, or the number of rounds in the training before the first query. ``updates`` is
    what an event updates (EVENT, USER or BOTH). With ``by_frequency``, negative items are drawn in proportion to their
    number of users, else uniformly. ``deviation`` is the standard deviation of initial factors, and ``salt`` is derived
    from the seed.
    """

    rates: Float32
    steps: int
    updates: int
    by_frequency: bool
    deviation: float
    salt: np.uint64


class BprmfState(NamedTuple):
    """Settings, and what was learned so far: factors of ``users`` and ``items``, the items of each user, and counts.

    ``items`` (blocks, factors + 1, items of a block) has the biases as the last factor. ``profiles[start[u]:start[u] +
    length[u]]`` are the items of user u. ``pairs`` has the item of each distinct pair of user and item, and no entry if
    negatives are drawn uniformly. Profiles are marked one at a time, and the markings are numbered: ``mark[i]`` is the
    last marking that included item i. ``counts`` are the numbers of events, distinct pairs, items, users and markings,
    and last a flag: 1 once the items are trained (before the first query, unless single events train them).
    """

    settings: BprmfSettings
    users: Float32
    items: Float32  # (blocks, factors + 1, items of a block); the last factor is the bias
    start: Int64
    length: Int64
    profiles: Int32  # items of each user; start and length delimit a user's list
    pairs: Int32  # the item of each distinct pair of user and item; empty if sampling is uniform
    mark: Int64  # the number of the last profile in which an item was marked
    counts: Int64  # events, distinct pairs, items, users, markings, whether items are trained


@njit(cache=True, nogil=True)
def score(state: BprmfState, user: int, item: int, known: int, universe: int, row: Float32) -> Any:
    """Write the score of each item below ``known`` to ``row``.

    ``item`` is that of the query. Return (its score, (how many of these scores are higher, are equal, are NaN)). Items
    below ``known`` are learned; others below ``universe`` can be recommended too, below all learned ones.
    """
    if not state.counts[5]:
        train_before_queries(state)
    factors = np.ones(state.items.shape[1], np.float32)  # the last factor of an item is its bias
    factors[:-1] = state.users[user]
    own_score = score_of(factors, state.items, item, known, universe, False)
    return own_score, score_and_count(factors, state.items, known, False, own_score, row)


@njit(cache=True, nogil=True)
def learn(state: BprmfState, user: int, item: int, _value: float) -> None:
    """Learn one event; the caller has allocated memory for it in the list of the user's items."""
    count_event(user, item, state)
    if not state.counts[5]:
        return
    key = mix(state.settings.salt + mix(np.uint64(state.counts[0])))
    profile = state.profiles[state.start[user] : state.start[user] + state.length[user]]
    mark_items(profile, state)
    if state.settings.updates == EVENT:
        move_event(user, item, key, profile.size, state)
        return
    for factor in range(state.users.shape[1]):
        state.users[user, factor] = state.settings.deviation * normal(mix(key + RESTART + np.uint64(factor)))
    for step in range(profile.size):
        negative = draw_negative(
            key + np.uint64(step), profile.size, state.settings.by_frequency, state.mark, state.pairs, state.counts
        )
        if negative == NONE:
            break
        positive = profile[below(mix(key + RESTART + np.uint64(state.users.shape[1] + step)), profile.size)]
        gradient_step(state.users[user], positive, negative, state.settings.rates, True, False, False, state)
    if state.settings.updates == BOTH:
        retrain_item(item, key + ITEM, state)


@njit(cache=True, nogil=True)
def move_event(user: int, item: int, key: np.uint64, n_own: int, state: BprmfState) -> None:
    """Make the gradient steps of one event, each with a negative item drawn at random; stop if there is none.

    ``key`` seeds the draws, and ``n_own`` is the number of the user's items, which are marked. Factors of items are
    copied, because those of one item are not adjacent in memory.
    """
    users, items, mark, pairs, counts = state.users, state.items, state.mark, state.pairs, state.counts
    rates, by_frequency, mine = state.settings.rates, state.settings.by_frequency, users[user]
    up, down = np.empty(items.shape[1], np.float32), np.empty(items.shape[1], np.float32)
    copy_factors(items, item, up)
    for step in range(state.settings.steps):
        negative = draw_negative(key + np.uint64(step), n_own, by_frequency, mark, pairs, counts)
        if negative == NONE:
            break
        copy_factors(items, negative, down)
        move_factors(mine, up, down, rates, True, True, True)
        store_factors(items, negative, down)
    store_factors(items, item, up)


@njit(cache=True, nogil=True)
def copy_factors(items: Float32, item: Any, factors: Float32) -> None:
    """Copy the factors and the bias of an item to ``factors``."""
    block, place = item // ITEMS_PER_BLOCK, item % ITEMS_PER_BLOCK
    for factor in range(factors.size):
        factors[factor] = items[block, factor, place]


@njit(cache=True, nogil=True)
def store_factors(items: Float32, item: Any, factors: Float32) -> None:
    """Store ``factors`` as the factors and the bias of an item."""
    block, place = item // ITEMS_PER_BLOCK, item % ITEMS_PER_BLOCK
    for factor in range(factors.size):
        items[block, factor, place] = factors[factor]


@njit(cache=True, nogil=True)
def retrain_item(item: int, key: np.uint64, state: BprmfState) -> None:
    """Reset an item's factors and train them on random users.

    In each step the item is the positive item if the random user had it, else the negative one. ``key`` seeds the
    random draws.
    """
    for factor in range(state.users.shape[1]):
        start = state.settings.deviation * normal(mix(key + RESTART + np.uint64(factor)))
        state.items[item // ITEMS_PER_BLOCK, factor, item % ITEMS_PER_BLOCK] = start
    for step in range(state.counts[1] // state.counts[2]):
        draw = mix(key + np.uint64(step))
        user = below(draw, state.counts[3])
        profile = state.profiles[state.start[user] : state.start[user] + state.length[user]]
        mark_items(profile, state)
        if state.mark[item] == state.counts[4]:
            negative = draw_negative(
                draw, profile.size, state.settings.by_frequency, state.mark, state.pairs, state.counts
            )
            if negative != NONE:
                gradient_step(state.users[user], item, negative, state.settings.rates, False, True, False, state)
        elif profile.size:
            positive = profile[below(mix(draw + RESTART), profile.size)]
            gradient_step(state.users[user], positive, item, state.settings.rates, False, False, True, state)


@njit(cache=True, nogil=True)
def train_before_queries(state: BprmfState) -> None:
    """Train on the events before the first query; do nothing on later calls, or if single events train the items.

    Each of the ``steps`` rounds has as many steps as there are distinct pairs of user and item, each on a random user.
    """
    if state.counts[5]:
        return
    state.counts[5] = 1
    key = mix(state.settings.salt + BEFORE)
    for step in range(state.settings.steps * state.counts[1]):
        draw = mix(key + np.uint64(step))
        user = below(draw, state.counts[3])
        profile = state.profiles[state.start[user] : state.start[user] + state.length[user]]
        mark_items(profile, state)
        negative = (
            draw_negative(draw, profile.size, state.settings.by_frequency, state.mark, state.pairs, state.counts)
            if profile.size
            else NONE
        )
        if negative != NONE:
            positive = profile[below(mix(draw + RESTART), profile.size)]
            gradient_step(state.users[user], positive, negative, state.settings.rates, True, True, True, state)


@njit(cache=True, nogil=True)
def count_event(user: int, item: int, state: BprmfState) -> None:
    """Count an event in ``state``, and its pair of user and item if the pair is new.

    The caller has allocated memory for it in the list of the user's items.
    """
    state.counts[0] += 1
    state.counts[2] = max(state.counts[2], item + 1)
    state.counts[3] = max(state.counts[3], user + 1)
    for known in state.profiles[state.start[user] : state.start[user] + state.length[user]]:
        if known == item:
            return
    if state.settings.by_frequency:
        state.pairs[state.counts[1]] = item
    state.counts[1] += 1
    append_to(user, item, state.start, state.length, state.profiles)


@njit(cache=True, nogil=True)
def mark_items(profile: Int32, state: BprmfState) -> None:
    """Mark the items of ``profile`` in ``state.mark`` with a new number, so that earlier marks no longer count.

    ``profile`` has the item codes of one user.
    """
    state.counts[4] += 1
    for item in profile:
        state.mark[item] = state.counts[4]


@njit(cache=True, nogil=True)
def draw_negative(key: np.uint64, n_own: int, by_frequency: bool, mark: Int64, pairs: Int32, counts: Int64) -> Any:
    """Return a random item that the user does not have; -1 if there is none.

    All such items are equally likely, or with ``by_frequency`` an item is drawn in proportion to its number of users.
    ``key`` seeds the draw. The user has ``n_own`` items, for which :func:`mark_items` must have been called just
    before.
    """
    n_items, marking = counts[2], counts[4]
    if n_own >= n_items:
        return NONE
    draw, n_drawn = mix(key), counts[1] if by_frequency else n_items
    for _ in range(TRIES):
        number = below(draw, n_drawn)
        item = pairs[number] if by_frequency else number
        if mark[item] != marking:
            return item
        draw = mix(draw)
    left = 0
    for pair in range(n_drawn):
        left += mark[pairs[pair] if by_frequency else pair] != marking
    wanted = below(draw, left)
    for pair in range(n_drawn):
        other = pairs[pair] if by_frequency else pair
        wanted -= mark[other] != marking
        if wanted < 0:
            return other
    return NONE


@njit(cache=True, nogil=True)
def gradient_step(
    user: Float32, positive: int, negative: int, rates: Float32, move_user: bool, move_positive: bool,
    move_negative: bool, state: BprmfState,
) -> None:  # fmt: skip
    """Move the factors up the gradient of the log-probability that the positive item ranks above the negative one.

    ``user`` are the user's factors; those of the items are in ``state``. ``move_user``, ``move_positive`` and
    ``move_negative`` say whose factors move; ``rates`` are the learning rate and the penalties of user, positive item,
    negative item and bias.
    """
    up = state.items[positive // ITEMS_PER_BLOCK, :, positive % ITEMS_PER_BLOCK]
    down = state.items[negative // ITEMS_PER_BLOCK, :, negative % ITEMS_PER_BLOCK]
    move_factors(user, up, down, rates, move_user, move_positive, move_negative)


@njit(cache=True, nogil=True)
def move_factors(
    user: Float32, up: Float32, down: Float32, rates: Float32, move_user: bool, move_positive: bool,
    move_negative: bool,
) -> None:  # fmt: skip
    """Make a :func:`gradient_step`, whose other arguments are the same, on the arrays of the two items.

    ``up`` are the factors and the bias of the positive item, ``down`` those of the negative one.
    """
    rate, reg_user, reg_positive, reg_negative, reg_bias = rates
    bias = user.size
    margin = up[bias] - down[bias]
    for factor in range(user.size):
        margin += user[factor] * (up[factor] - down[factor])
    pull = np.float32(1.0 / (1.0 + math.exp(np.float64(margin))))
    if move_positive:
        up[bias] += rate * (pull - reg_bias * up[bias])
    if move_negative:
        down[bias] += rate * (-pull - reg_bias * down[bias])
    for factor in range(user.size):
        mine, above, below_it = user[factor], up[factor], down[factor]
        if move_user:
            user[factor] = mine + rate * (pull * (above - below_it) - reg_user * mine)
        if move_positive:
            up[factor] = above + rate * (pull * mine - reg_positive * above)
        if move_negative:
            down[factor] = below_it + rate * (-pull * mine - reg_negative * below_it)
