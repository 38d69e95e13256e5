"""Compiled loops of the incremental user-kNN: nearest users, and scores of items.

``tests/property/test_incremental_models.py`` checks them against a readable version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.incremental._clock import clock
from recassay.models.incremental._co_counts import BLOCK, NONE, Bools, CoCounts, count, row_for
from recassay.models.incremental._walk import Int32, StreamEvents, StreamQueries, WalkOutput, learned_before, rank_among

Float = NDArray[np.float64]

# Weights are whole multiples of 1 / ONE, so sums are exact up to 2^53 / ONE = 2^15. A weight is at most the square root
# of a neighbour's number of items: that suffices for a hundred neighbours with a hundred thousand items each.
ONE = 2.0**38
EXACT = 2.0**52  # sums below it differ by more than a division can hide
SLACK = 0.98  # of the last k-th similarity: others move away when they learn other items


class NeighbourBuffers(NamedTuple):
    """Buffers for the search for nearest users, and the neighbours ``kept`` from earlier searches (users, k).

    ``kept`` has no columns if neighbours are found at each query. ``found`` are the nearest users, ascending, and
    ``closeness`` their similarities. ``threshold`` is a guess of each user's k-th largest similarity: it saves time and
    never changes results.
    """

    kept: Int32  # neighbours at each user's last event; without columns they are found at each query
    threshold: Float  # a guess of the k-th closeness, from the last query: it saves sorting and never changes results
    found: Int32  # nearest users, ascending
    closeness: Float  # of each: first the value they are selected by, then their weight
    ranked: Float  # memory for a selection
    is_near: NDArray[np.uint8]  # of each user of a block, whether the guess is reached


@njit(nogil=True, cache=True)
def walk(
    k: int,
    buffers: NeighbourBuffers,
    common: CoCounts,
    events: StreamEvents,
    queries: StreamQueries,
    output: WalkOutput,
) -> None:
    """Answer every query after learning the events before it, and write the results to ``output``, a row per query.

    The remaining events are learned at the end. ``k`` is the number of neighbours, and ``common`` has the co-counts of
    users, whose features are items.
    """
    row, learned = np.empty(max(queries.universe.max(), 1) if queries.universe.size else 1), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            started = clock(output.clock_buffer)
            learn(events.users[event], events.items[event], k, buffers, common)
            output.learn_ns[event] = clock(output.clock_buffer) - started
        learned = until
        if query == queries.users.size:
            break
        started = clock(output.clock_buffer)
        scores = row[: queries.known[query]]
        total = add_weights(queries.users[query], k, buffers, common, scores)
        if total >= EXACT:
            scores /= total
        output.position[query], output.above[query], output.tied[query], output.candidates[query] = rank_among(
            row, queries.items[query], queries.known[query], queries.universe[query],
            queries.pool, queries.begin[query], queries.end[query], queries.order, output.lists, query,
        )  # fmt: skip
        output.answer_ns[query] = clock(output.clock_buffer) - started


@njit(nogil=True, cache=True)
def learn(user: int, item: int, k: int, buffers: NeighbourBuffers, common: CoCounts) -> None:
    """Learn one event, and find the user's ``k`` neighbours if they are kept; the caller has allocated memory."""
    count(user, item, common)
    if buffers.kept.shape[1]:
        found = nearest(user, k, buffers, common)
        buffers.kept[user, :found] = buffers.found[:found]
        buffers.kept[user, found:] = NONE


@njit(nogil=True, cache=True)
def nearest(user: int, k: int, buffers: NeighbourBuffers, common: CoCounts) -> int:
    """Write the ``k`` users most similar to ``user`` to ``buffers.found``, ascending by code, and return their number.

    They are selected by c^2 / |v|, which has the order of c / (sqrt |u| sqrt |v|) and is rounded once, so equal
    similarities stay equal. Ties are ordered by code. ``common`` has the co-counts of users.
    """
    row = common.rows[row_for(user, common)]
    touched = common.touched[common.row_of[user]]
    guess = buffers.threshold[user]
    found, enough = _users_within(guess, row, touched, buffers, common)
    if guess > 0 and enough < k:
        buffers.threshold[user] = 0.0
        found, enough = _users_within(0.0, row, touched, buffers, common)
    if found <= k:
        return found
    closeness = buffers.closeness[:found]
    buffers.ranked[:found] = closeness
    last, room = kth_largest(buffers.ranked[:found], k), k
    for at in range(found):
        room -= closeness[at] > last
    kept = 0
    for at in range(found):  # branch-free: which of them are kept cannot be predicted
        tied = closeness[at] == last
        buffers.found[kept] = buffers.found[at]
        kept += (closeness[at] > last) | (tied & (room > 0))
        room -= tied
    buffers.threshold[user] = SLACK * last
    return kept


@njit(nogil=True, cache=True)
def kth_largest(values: Float, k: int) -> Any:
    """Return the ``k``-th largest of the values, which are reordered (Hoare's selection)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot, left, right = values[(low + high) // 2], low, high
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            break
    return values[k - 1]


@njit(nogil=True, cache=True)
def _users_within(
    guess: float, row: Int32, touched: Bools, buffers: NeighbourBuffers, common: CoCounts
) -> tuple[int, int]:
    """Write to ``buffers`` all users whose similarity to a user is at least ``guess``, and perhaps a few just below it.

    ``row`` are the user's co-counts with all users, and ``touched`` is true for its blocks that are not all 0. The
    users go to ``buffers.found`` and their similarities to ``buffers.closeness``. Return the number of users written,
    and how many of them reach the guess.
    """
    found, enough, is_near = 0, 0, buffers.is_near
    bound = np.float32(guess * (1 - 1e-5))  # single precision is faster and may let a few more users through
    for block in range(touched.size):
        if not touched[block]:
            continue
        shared, sizes = row[block * BLOCK : (block + 1) * BLOCK], common.sizes[block * BLOCK : (block + 1) * BLOCK]
        hits = np.int32(0)
        for at in range(BLOCK):
            near = np.float32(shared[at]) * np.float32(shared[at]) > bound * sizes[at]
            is_near[at] = near
            hits = np.int32(hits + np.int32(near))
        for at in range(BLOCK if hits else 0):  # branch-free
            buffers.found[found] = block * BLOCK + at
            found += is_near[at]
    for at in range(found):
        other = buffers.found[at]
        buffers.closeness[at] = np.float64(row[other]) * row[other] / common.sizes[other]
        enough += buffers.closeness[at] >= guess
    return found, enough


@njit(nogil=True, cache=True)
def score(user: int, k: int, buffers: NeighbourBuffers, common: CoCounts, scores: Float) -> None:
    """Write to ``scores`` the share of a user's ``k`` neighbours, weighted by similarity, that have each known item.

    A rank needs only the sums of :func:`add_weights`: sums below 2^52 are whole numbers, so different sums have
    different shares, in the same order.
    """
    total = add_weights(user, k, buffers, common, scores)
    if total > 0:
        scores /= total


@njit(nogil=True, cache=True)
def add_weights(user: int, k: int, buffers: NeighbourBuffers, common: CoCounts, scores: Float) -> float:
    """Write to ``scores`` the weight of a user's ``k`` neighbours that have each known item; return that of all.

    Items of equally similar neighbours get bit-equal sums. Weights are roots of c^2 / |v|, which are equal for equal
    fractions, rounded to multiples of 1 / ONE, so sums are exact in any order. ``common`` has the co-counts of users.
    """
    scores[:] = 0.0
    if buffers.kept.shape[1]:
        found = 0
        while found < k and buffers.kept[user, found] != NONE:
            buffers.found[found] = buffers.kept[user, found]
            found += 1
    else:
        found = nearest(user, k, buffers, common)
    row, total = common.rows[row_for(user, common)], 0.0
    for at in range(found):
        other = buffers.found[at]
        buffers.closeness[at] = np.rint(ONE * np.sqrt(np.float64(row[other]) * row[other] / common.sizes[other]))
        total += buffers.closeness[at]
    for at in range(found):
        other, weight = buffers.found[at], buffers.closeness[at]
        for item in common.features[
            common.features_start[other] : common.features_start[other] + common.features_length[other]
        ]:
            scores[np.uint32(item)] += weight
    return total
