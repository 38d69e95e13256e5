"""Incremental stochastic gradient descent, one event at a time; single precision throughout.

Item factors lie in tiles.

Held to the readable twin in ``tests/property/test_streams.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from recassay.models.incremental._tiles import LANES, Float32, products
from recassay.models.incremental._walk import Asked, Int32, Shown, Told, clock, place, until

ZERO, ONE = np.float32(0), np.float32(1)


@njit(cache=True, nogil=True)
def walk(
    users: Float32, items: Float32, rates: Float32, iterations: int, sequential: bool, negatives: int, queue: Int32,
    told: Told, asked: Asked, shown: Shown,
) -> None:  # fmt: skip
    """Answer every question, learning what is told before each, and then the rest."""
    row, learnt = np.empty(items.shape[0] * LANES, np.float32), 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            learn(users[told.users[event]], items, told.items[event], rates, iterations, sequential, negatives, queue)
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begun = clock(shown.cell)
        score(users[asked.users[question]], items, asked.known[question], row)
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(cache=True, nogil=True)
def score(user: Float32, items: Float32, known: int, row: Float32) -> None:
    """Minus the distance of every known item's product from 1."""
    products(user, items, known, row)
    for item in range(known):
        row[item] = -abs(ONE - row[item])


@njit(cache=True, nogil=True)
def learn(
    user: Float32, items: Float32, item: int, rates: Float32, iterations: int, sequential: bool, negatives: int,
    queue: Int32,
) -> None:  # fmt: skip
    """One event: negatives, if there are to be any, move the user alone; then both sides move to a product of 1.

    ``queue[1 + i]`` holds the rows before and after that of item i in the order in which items were last met; row 0
    stands for both ends. An item that stands nowhere has 0 for both, and so has an empty queue.
    """
    if negatives:
        leave(queue, 1 + item)
        first = queue[0, 1]
        for number in range(negatives):
            oldest = queue[0, 1]
            if oldest == 0 or (number > 0 and oldest == first):
                break
            against = items[(oldest - 1) // LANES, :, (oldest - 1) % LANES].copy()
            move(user, against, rates, iterations, ZERO, True, False)
            leave(queue, oldest)
            join(queue, oldest)
        join(queue, 1 + item)
    factors = items[item // LANES, :, item % LANES].copy()
    move(user, factors, rates, iterations, ONE, sequential, True)
    items[item // LANES, :, item % LANES] = factors


@njit(cache=True, nogil=True)
def move(
    user: Float32, item: Float32, rates: Float32, iterations: int, target: np.float32, sequential: bool, both: bool
) -> None:
    """Steps of gradient descent on the squared distance of the product from a target."""
    rate, of_user, of_item = rates[0], rates[1], rates[2]
    for _ in range(iterations):
        product = np.float32(0)
        for factor in range(user.size):
            product += user[factor] * item[factor]
        error = target - product
        for factor in range(user.size):
            old = user[factor]
            user[factor] = old + rate * (error * item[factor] - of_user * old)
            if both:
                other = user[factor] if sequential else old
                item[factor] += rate * (error * other - of_item * item[factor])


@njit(cache=True, nogil=True)
def leave(queue: Int32, row: int) -> None:
    """Take a row out of the queue, if it is in it."""
    before, after = queue[row, 0], queue[row, 1]
    if before or after or queue[0, 0] == row:
        queue[before, 1], queue[after, 0] = after, before
        queue[row] = 0


@njit(cache=True, nogil=True)
def join(queue: Int32, row: int) -> None:
    """Put a row at the end of the queue."""
    last = queue[0, 0]
    queue[last, 1], queue[row, 0], queue[row, 1], queue[0, 0] = row, last, 0, row
