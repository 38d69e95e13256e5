"""Loops of the incremental item-kNN: what items have in common with the items of a user.

Held to the readable twin in ``tests/property/test_incremental_models.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.models.incremental._clock import clock
from recassay.models.incremental._in_common import BLOCK, Common, count, row_for
from recassay.models.incremental._walk import Asked, Shown, Told, place, until

Float = NDArray[np.float64]

# Weights are whole multiples of 1 / ONE, so that sums of them are exact, whatever their order: up to 2^53 / ONE, which
# is a thousand items of a user that a million others had, all of them.
ONE = 2.0**32


@njit(nogil=True, cache=True)
def walk(recent: int, common: Common, told: Told, asked: Asked, shown: Shown) -> None:
    """Answer every question, learning what is told before each, and then the rest."""
    row, learnt = np.empty(common.sizes.size), 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            count(told.items[event], told.users[event], common)
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begun = clock(shown.cell)
        score(asked.users[question], recent, common, row)
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(nogil=True, cache=True)
def score(user: int, recent: int, common: Common, scores: Float) -> None:
    """Write the sum of the similarities of every item to the items of a user, or to the last of them."""
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
