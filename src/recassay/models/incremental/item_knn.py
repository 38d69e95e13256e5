"""Incremental item neighbours: counts of users that two items have in common, updated event by event.

``tests/property/test_incremental_models.py`` checks the compiled loops against a readable version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.models.incremental._lists import BLOCK, GrowingCoCounts, count, row_for
from recassay.models.incremental._walk import StreamEvents, own_score_and_counts
from recassay.models.incremental.base import Incremental, Walker
from recassay.naming.named import COUNT

# Weights are whole multiples of 1 / ONE, so sums of them are exact in any order up to 2^53 / ONE. That suffices for a
# user with a thousand items that a million other users had, all of them.
ONE = 2.0**32
LEAST_ROWS = 64  # items whose co-counts with all others are cached at least
ROW_CELLS = 1 << 24  # co-counts cached in all, if that is more rows: 64 MiB


@njit(nogil=True, cache=True)
def _learn(state: Any, user: int, item: int, _value: float) -> None:
    """Add a pair of user and item to the co-counts; a repeated pair changes nothing."""
    count(item, user, state[0])


@njit(nogil=True, cache=True)
def _score(state: Any, user: int, item: int, known: int, universe: int, scores: Float) -> Any:
    """Write to ``scores`` how similar each item is to the items of ``user``: the sum of the similarities.

    ``state`` are the co-counts of items, and how many of the user's last items are compared (0: all). Return the result
    of ``own_score_and_counts``.
    """
    common, recent = state
    scores[:] = 0.0
    end = common.owners_start[user] + common.owners_length[user]
    first = end - min(recent, common.owners_length[user]) if recent else common.owners_start[user]
    for mine in common.owners[first:end]:
        place = row_for(mine, common)
        row, touched = common.rows[place], common.touched[place]
        weight = np.rint(ONE / np.sqrt(np.float64(common.sizes[mine])))
        for block in range(touched.size):
            if touched[block]:
                line, shared = scores[block * BLOCK : (block + 1) * BLOCK], row[block * BLOCK : (block + 1) * BLOCK]
                for at in range(BLOCK):
                    line[at] += weight * shared[at]
    for other in range(scores.size):
        scores[other] /= ONE * np.sqrt(np.float64(common.sizes[other]))
    return own_score_and_counts(scores, item, known, universe)


@dataclass(frozen=True, repr=False)
class StreamItemKNN(Incremental):
    """Incremental item-kNN: the score of an item is the sum of its similarities to the items of the user.

    The similarity of i and j is c / (sqrt |i| sqrt |j|), where c users had both and |i| users had i; every item is a
    neighbour. An event counts a pair of user and item; repeated pairs change nothing. ``recent`` uses only the user's
    last items, which bounds the cost of a query. 1 / sqrt |i| is rounded to a multiple of 2^-32, so sums are exact and
    ties do not depend on the order of the user's items.

    Edges: a user without items, or whose items no other user has, has scores of 0.

    >>> learner = StreamItemKNN().start()
    >>> learner.learn(np.array([0, 0, 1, 1, 2], np.int32), np.array([0, 1, 0, 2, 1], np.int32), np.ones(5))
    >>> learner.scores(2).round(3).tolist()
    [0.5, 0.0, 0.0]

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    recent: Annotated[int | None, COUNT] = None

    def start(self) -> LearningItemKNN:
        """Return a new learner that has learned nothing."""
        return LearningItemKNN(self)


class LearningItemKNN(Walker):
    """The learner of ``StreamItemKNN``: it keeps the distinct pairs of user and item.

    Memory is linear in users, items and pairs.
    """

    kernels = _learn, _score

    def __init__(self, model: StreamItemKNN) -> None:
        self.recent, self.common = model.recent or 0, GrowingCoCounts(LEAST_ROWS, ROW_CELLS)

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float]:
        """Enlarge the tables of co-counts to hold at least ``users`` users and ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """
        if events is not None:
            self.common.reserve(events.items, events.users)
        self.common.widen(items, users)
        return (self.common.arrays, self.recent), np.empty(self.common.sizes.size)
