"""Compiled loops of incremental stochastic gradient descent, one event at a time, in single precision.

Item factors are stored in blocks (``_factor_blocks.py``). ``tests/property/test_streams.py`` checks the loops against a
readable version.
"""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.models.incremental._factor_blocks import ITEMS_PER_BLOCK, Float32, score_and_count, score_of
from recassay.models.incremental._walk import (
    Int32,
    StreamEvents,
    StreamQueries,
    WalkOutput,
    clock,
    learned_before,
    rank_counted,
)

ZERO, ONE = np.float32(0), np.float32(1)


@njit(cache=True, nogil=True)
def walk(
    users: Float32, items: Float32, rates: Float32, iterations: int, sequential: bool, negatives: int, queue: Int32,
    events: StreamEvents, queries: StreamQueries, output: WalkOutput,
) -> None:  # fmt: skip
    """Answer every query after learning the events before it, and write the results to ``output``, a row per query.

    The remaining events are learned at the end. ``users`` and ``items`` are the factors. ``rates`` are the learning
    rate and the penalties of user and item. An event makes ``iterations`` steps; with ``sequential`` the item moves by
    the user's new factors. ``negatives`` items whose last event is oldest are negative; ``queue`` is the linked list of
    items by last event.
    """
    row, learned = np.empty(items.shape[0] * ITEMS_PER_BLOCK, np.float32), 0
    started = clock(output.clock_buffer)  # the end of one call is the beginning of the next: a reading takes 25 ns
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            learn(
                users[events.users[event]], items, events.items[event], rates, iterations, sequential, negatives, queue
            )
            now = clock(output.clock_buffer)
            output.learn_ns[event], started = now - started, now
        learned = until
        if query == queries.users.size:
            break
        user = users[queries.users[query]]
        item, known, universe = queries.items[query], queries.known[query], queries.universe[query]
        own_score = score_of(user, items, item, known, universe, True)
        counts = score_and_count(user, items, known, True, own_score, row)
        output.position[query], output.above[query], output.tied[query], output.candidates[query] = rank_counted(
            row, item, own_score, counts, known, universe, queries.pool[queries.begin[query] : queries.end[query]],
            queries.order, output.lists, query,
        )  # fmt: skip
        now = clock(output.clock_buffer)
        output.answer_ns[query], started = now - started, now


@njit(cache=True, nogil=True)
def learn(
    user: Float32, items: Float32, item: int, rates: Float32, iterations: int, sequential: bool, negatives: int,
    queue: Int32,
) -> None:  # fmt: skip
    """Learn one event: update the user with negative items (target 0), then user and item together (target 1).

    The negative items are the ``negatives`` items whose last event is oldest. ``queue`` is a doubly linked list of
    items, oldest first: ``queue[1 + i]`` has the rows of the items before and after item i. Row 0 stands for both ends
    of the list; rows of items that are not in it are 0.

    ``user`` are the user's factors, and ``items`` those of all items. ``rates`` are the learning rate and the penalties
    of user and item; each update has ``iterations`` steps. With ``sequential`` the item is updated with the user's new
    factors.
    """
    if negatives:
        remove_from_queue(queue, 1 + item)
        first = queue[0, 1]
        for number in range(negatives):
            oldest = queue[0, 1]
            if oldest == 0 or (number > 0 and oldest == first):
                break
            negative = items[(oldest - 1) // ITEMS_PER_BLOCK, :, (oldest - 1) % ITEMS_PER_BLOCK].copy()
            gradient_step(user, negative, rates, iterations, ZERO, True, False)
            remove_from_queue(queue, oldest)
            append_to_queue(queue, oldest)
        append_to_queue(queue, 1 + item)
    factors = items[item // ITEMS_PER_BLOCK, :, item % ITEMS_PER_BLOCK].copy()
    gradient_step(user, factors, rates, iterations, ONE, sequential, True)
    items[item // ITEMS_PER_BLOCK, :, item % ITEMS_PER_BLOCK] = factors


@njit(cache=True, nogil=True)
def gradient_step(
    user: Float32, item: Float32, rates: Float32, iterations: int, target: np.float32, sequential: bool, both: bool
) -> None:
    """Move ``user``, and with ``both`` also ``item``, down the gradient of (``target`` - user . item)^2.

    This is done ``iterations`` times. ``rates`` are the learning rate and the penalties of user and item. With
    ``sequential`` the item moves by the user's new factors.
    """
    rate, reg_user, reg_item = rates[0], rates[1], rates[2]
    for _ in range(iterations):
        product = np.float32(0)
        for factor in range(user.size):
            product += user[factor] * item[factor]
        error = target - product
        for factor in range(user.size):
            old = user[factor]
            user[factor] = old + rate * (error * item[factor] - reg_user * old)
            if both:
                other = user[factor] if sequential else old
                item[factor] += rate * (error * other - reg_item * item[factor])


@njit(cache=True, nogil=True)
def remove_from_queue(queue: Int32, row: int) -> None:
    """Remove the item at ``row`` (1 + its code) from ``queue``, the linked list of :func:`learn`, if it is there."""
    before, after = queue[row, 0], queue[row, 1]
    if before or after or queue[0, 0] == row:
        queue[before, 1], queue[after, 0] = after, before
        queue[row] = 0


@njit(cache=True, nogil=True)
def append_to_queue(queue: Int32, row: int) -> None:
    """Append the item at ``row`` (1 + its code) to the end of ``queue``, the linked list of :func:`learn`."""
    last = queue[0, 0]
    queue[last, 1], queue[row, 0], queue[row, 1], queue[0, 0] = row, last, 0, row
