"""Compiled walks of the baselines for streams: popular, recent and random items.

``tests/property/test_streams.py`` checks them against a readable version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, clock, learned_before, rank_item

Float64 = NDArray[np.float64]


@njit(cache=True, nogil=True)
def walk(
    item_scores: Float64, n_events: int, recent: bool, events: StreamEvents, queries: StreamQueries, output: WalkOutput
) -> None:
    """Answer queries with the number of events of each item, or with ``recent`` the number of its last event.

    ``item_scores`` are these numbers, updated with every event, and ``n_events`` is the number of events before this
    block. The results are written to ``output``, a row per query.
    """
    row, learned = np.empty(item_scores.size), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            started = clock(output.clock_buffer)
            item = events.items[event]
            item_scores[item] = n_events + event + 1 if recent else item_scores[item] + 1
            output.learn_ns[event] = clock(output.clock_buffer) - started
        learned = until
        if query == queries.users.size:
            break
        started = clock(output.clock_buffer)
        known = queries.known[query]
        row[:known] = item_scores[:known]
        rank_item(row, queries, query, output)
        output.answer_ns[query] = clock(output.clock_buffer) - started


@njit(cache=True, nogil=True)
def walk_random(salt: np.uint64, items: int, queries: StreamQueries, output: WalkOutput) -> None:
    """Answer queries with pseudo-random scores of user and item; write the results to ``output``, a row per query.

    ``salt`` is derived from the seed, and ``items`` is the number of items.
    """
    row = np.empty(items)
    for query in range(queries.users.size):
        started = clock(output.clock_buffer)
        random_scores(salt, queries.users[query], row[: queries.known[query]])
        rank_item(row, queries, query, output)
        output.answer_ns[query] = clock(output.clock_buffer) - started


@njit(cache=True, nogil=True)
def random_scores(salt: np.uint64, user: int, row: Float64) -> None:
    """Write to ``row`` a number in [0, 1) per item that depends on ``salt``, user and item only: a hash by SplitMix64.

    Reference: Steele, Lea and Flood (2014).
    """
    for item in range(row.size):
        value = salt ^ ((np.uint64(user) << np.uint64(32)) | np.uint64(item))
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        row[item] = np.float64((value ^ (value >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
