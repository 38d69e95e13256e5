"""Incremental matrix factorisation: each event moves the product of a user's and an item's factors towards 1.

Factors have single precision, and those of items are stored in blocks (``_factor_blocks.py``).
``tests/property/test_streams.py`` checks the compiled loops against a readable version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float32, Int32
from recassay.models.incremental._factor_blocks import (
    FIRST_BLOCKS,
    ITEMS_PER_BLOCK,
    draw_blocks,
    draw_rows,
    score_and_count,
    score_of,
    score_row,
)
from recassay.models.incremental._walk import StreamEvents
from recassay.models.incremental.base import Incremental, Walker, grown
from recassay.naming.grammar import Value
from recassay.naming.named import AT_LEAST_0, COUNT

ZERO, ONE = np.float32(0), np.float32(1)


@njit(cache=True, nogil=True, inline="always")
def _learn(state: Any, user: int, item: int, _value: float) -> None:
    """Learn one event: update the user with negative items (target 0), then user and item together (target 1).

    ``state`` are the factors of users and items, the learning rate with the penalties of user and item, the steps of an
    update, whether the item moves by the user's new factors, the number of negative items, and a queue. The negative
    items are those whose last event is oldest. The queue is a doubly linked list of items, oldest first: ``queue[1 +
    i]`` has the rows of the items before and after item i. Row 0 stands for both ends of the list; rows of items that
    are not in it are 0.
    """
    mine, items, rates = state[0][user], state[1], state[2]
    iterations, sequential, negatives = state[3], state[4], state[5]  # taking the queue, too, would cost 4 % of time
    if negatives:
        queue = state[6]
        remove_from_queue(queue, 1 + item)
        first = queue[0, 1]
        for number in range(negatives):
            oldest = queue[0, 1]
            if oldest == 0 or (number > 0 and oldest == first):
                break
            negative = items[(oldest - 1) // ITEMS_PER_BLOCK, :, (oldest - 1) % ITEMS_PER_BLOCK].copy()
            gradient_step(mine, negative, rates, iterations, ZERO, True, False)
            remove_from_queue(queue, oldest)
            append_to_queue(queue, oldest)
        append_to_queue(queue, 1 + item)
    factors = items[item // ITEMS_PER_BLOCK, :, item % ITEMS_PER_BLOCK].copy()
    gradient_step(mine, factors, rates, iterations, ONE, sequential, True)
    items[item // ITEMS_PER_BLOCK, :, item % ITEMS_PER_BLOCK] = factors


@njit(cache=True, nogil=True, inline="always")
def _score(state: Any, user: int, item: int, known: int, universe: int, row: Float32) -> Any:
    """Write the score of each item below ``known`` to ``row``.

    ``item`` is that of the query. Return (its score, (how many of these scores are higher, are equal, are NaN)). Items
    below ``known`` are learned; others below ``universe`` can be recommended too, below all learned ones.
    """
    mine, items = state[0][user], state[1]
    own_score = score_of(mine, items, item, known, universe, True)
    return own_score, score_and_count(mine, items, known, True, own_score, row)


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
    """Remove an item from the queue of items, which are in order of their last event; do nothing if it is not there.

    ``queue`` is a doubly linked list in an array: ``queue[row]`` has the rows before and after. The row of an item is 1
    + its code; row 0 stands for both ends.
    """
    before, after = queue[row, 0], queue[row, 1]
    if before or after or queue[0, 0] == row:
        queue[before, 1], queue[after, 0] = after, before
        queue[row] = 0


@njit(cache=True, nogil=True)
def append_to_queue(queue: Int32, row: int) -> None:
    """Append an item to the end of the queue of items, whose last item is the most recent one.

    ``queue`` is a doubly linked list in an array: ``queue[row]`` has the rows before and after. The row of an item is 1
    + its code; row 0 stands for both ends.
    """
    last = queue[0, 0]
    queue[last, 1], queue[row, 0], queue[row, 1], queue[0, 0] = row, last, 0, row


@dataclass(frozen=True, repr=False)
class ISGD(Incremental):
    """Incremental matrix factorisation: a score is minus the distance of the product of user and item factors from 1.

    An event moves both factors ``iterations`` times down the gradient of (1 - P_u Q_i)^2, with the learning rate
    ``rate`` and the weights ``reg_user`` and ``reg_item`` of the penalties; ``update="sequential"`` moves the item by
    the user's new factors, ``"simultaneous"`` by the old ones. Initial factors are Normal(0, ``deviation``), drawn by
    ``seed`` and code. Numbers have single precision.

    All events are positive, so products saturate on long streams. With ``negatives`` = n (RAISGD), the n items whose
    last event is oldest move the user towards a product of 0 before each event. They then become the most recent.

    >>> learner = ISGD(factors=2, rate=0.1, seed=1).start()
    >>> users, items = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    >>> learner.learn(users, items, np.ones(3))
    >>> bool(learner.scores(1).argmax() == 0)
    True

    References: Vinagre, Jorge and Gama, Fast incremental matrix factorization for recommendation with positive-only
    feedback, UMAP 2014, and Collaborative filtering with recency-based negative feedback, SAC 2015.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "mymedialite": {"iterations": 30, "rate": 0.31, "reg_user": 0.032, "reg_item": 0.032, "update": "simultaneous"},
        "ml-1m": {"factors": 160, "iterations": 8, "rate": 0.1, "reg_user": 0.4, "reg_item": 0.4},
        "palco-playlists": {"factors": 90, "iterations": 8, "rate": 0.3, "reg_user": 0.4, "reg_item": 0.4},
        "palco-listening": {"factors": 200, "iterations": 6, "rate": 0.35, "reg_user": 0.5, "reg_item": 0.5},
        "lastfm": {"factors": 160, "iterations": 4, "rate": 0.5, "reg_user": 0.4, "reg_item": 0.4},
        "yahoo": {"factors": 200, "iterations": 9, "rate": 0.25, "reg_user": 0.45, "reg_item": 0.45},
    }

    factors: Annotated[int, COUNT] = 10
    iterations: Annotated[int, COUNT] = 10
    rate: Annotated[float, AT_LEAST_0] = 0.01
    reg_user: Annotated[float, AT_LEAST_0] = 0.1
    reg_item: Annotated[float, AT_LEAST_0] = 0.1
    update: Literal["sequential", "simultaneous"] = "sequential"
    negatives: Annotated[int, AT_LEAST_0] = 0
    deviation: Annotated[float, AT_LEAST_0] = 0.1
    seed: int = 0

    def start(self) -> LearningISGD:
        """Return a new learner that has learned nothing."""
        return LearningISGD(self)


class LearningISGD(Walker):
    """The learner of ``ISGD``: its current factors of users and items, and a queue of items by their last event."""

    kernels = _learn, _score

    def __init__(self, model: ISGD) -> None:
        self.model = model
        self.users = np.zeros((0, model.factors), np.float32)
        self.items = np.zeros((0, model.factors, ITEMS_PER_BLOCK), np.float32)
        self.queue = np.zeros((1, 2), np.int32)

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float32]:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """
        model = self.model
        self.users = grown(self.users, users, draw_rows(model, "ISGD user"))
        self.items = grown(
            self.items, -(-items // ITEMS_PER_BLOCK), draw_blocks(model, "ISGD item"), first=FIRST_BLOCKS
        )
        if model.negatives:
            self.queue = grown(self.queue, items + 1)
        rates = np.array([model.rate, model.reg_user, model.reg_item], np.float32)
        settings = (rates, model.iterations, model.update == "sequential", model.negatives)
        return (self.users, self.items, *settings, self.queue), score_row(self.items)
