"""Compiled loops of the incremental item-kNN: similarities of all items to the items of a user.

``tests/property/test_incremental_models.py`` checks them against a readable version.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.models.incremental._clock import clock
from recassay.models.incremental._co_counts import BLOCK, CoCounts, count, row_for
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, learned_before, rank_item

Float = NDArray[np.float64]

# Weights are whole multiples of 1 / ONE, so sums of them are exact in any order up to 2^53 / ONE. That suffices for a
# user with a thousand items that a million other users had, all of them.
ONE = 2.0**32


@njit(nogil=True, cache=True)
def walk(recent: int, common: CoCounts, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
    """Answer every query after learning the events before it, and write the results to ``output``, a row per query.

    The remaining events are learned at the end. Only the last ``recent`` items of a user count (0: all). ``common`` has
    the co-counts of items, whose features are users.
    """
    row, learned = np.empty(common.sizes.size), 0
    for query, until in enumerate(learned_before(events, queries)):
        for event in range(learned, until):
            started = clock(output.clock_buffer)
            count(events.items[event], events.users[event], common)
            output.learn_ns[event] = clock(output.clock_buffer) - started
        learned = until
        if query == queries.users.size:
            break
        started = clock(output.clock_buffer)
        score(queries.users[query], recent, common, row)
        rank_item(row, queries, query, output)
        output.answer_ns[query] = clock(output.clock_buffer) - started


@njit(nogil=True, cache=True)
def score(user: int, recent: int, common: CoCounts, scores: Float) -> None:
    """Write to ``scores`` how similar each item is to the items of ``user``: the sum of the similarities.

    Only the last ``recent`` items of the user count (0: all). ``common`` has the co-counts of items, whose features are
    users.
    """
    scores[:] = 0.0
    end = common.owners_start[user] + common.owners_length[user]
    first = end - min(recent, common.owners_length[user]) if recent else common.owners_start[user]
    for mine in common.owners[first:end]:
        row = common.rows[row_for(mine, common)]
        touched, weight = common.touched[common.row_of[mine]], np.rint(ONE / np.sqrt(np.float64(common.sizes[mine])))
        for block in range(touched.size):
            if touched[block]:
                line, shared = scores[block * BLOCK : (block + 1) * BLOCK], row[block * BLOCK : (block + 1) * BLOCK]
                for at in range(BLOCK):
                    line[at] += weight * shared[at]
    for item in range(scores.size):
        scores[item] /= ONE * np.sqrt(np.float64(common.sizes[item]))
