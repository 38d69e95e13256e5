"""Item factors in blocks: ``items[b, f, i]`` is factor f of item ``ITEMS_PER_BLOCK * b + i``.

This layout scores many items with one vector instruction, and a new item takes the next free place of the last block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Float32 = NDArray[np.float32]

ITEMS_PER_BLOCK = 64
F1, F2, F3, F4, F5, F6, F7 = (np.uint64(n * ITEMS_PER_BLOCK) for n in range(1, 8))  # to an item's next factors
NEUTRAL = np.float32(-0.0)  # x + -0.0 has the bits of x, also for x = -0.0
FIRST_BLOCKS = 16  # allocated at first; FIRST_BLOCKS * ITEMS_PER_BLOCK is ROWS_PER_DRAW


@njit(cache=True, nogil=True)
def products(user: Float32, items: Float32, known: int, row: Float32) -> None:
    """Write to ``row`` the product of a user's factors with those of each of the first ``known`` items.

    ``items`` (blocks, factors, items of a block) are the items' factors. Whole blocks of items are computed, eight,
    two or one factors per pass: a pass reads and writes the sums, which costs as much as two factors.
    """
    factors, flat = user.size, items.reshape(items.size)  # one index, so that one check finds that row is elsewhere
    for number in range((known + ITEMS_PER_BLOCK - 1) // ITEMS_PER_BLOCK):
        to, at = number * ITEMS_PER_BLOCK, number * factors * ITEMS_PER_BLOCK
        row[to : to + ITEMS_PER_BLOCK] = NEUTRAL
        factor = 0
        while factor + 8 <= factors:
            add_eight(user[factor : factor + 8], flat, np.uint64(at + factor * ITEMS_PER_BLOCK), row, np.uint64(to))
            factor += 8
        while factor + 2 <= factors:
            add_two(user[factor : factor + 2], flat, np.uint64(at + factor * ITEMS_PER_BLOCK), row, np.uint64(to))
            factor += 2
        if factor < factors:
            a, begin = user[factor], np.uint64(at + factor * ITEMS_PER_BLOCK)
            for i in range(ITEMS_PER_BLOCK):
                row[np.uint64(to) + np.uint64(i)] += a * flat[begin + np.uint64(i)]


@njit(cache=True, nogil=True, inline="always")
def add_eight(weights: Float32, flat: Float32, at: np.uint64, row: Float32, to: np.uint64) -> None:
    """Add to a block of ``row``, which begins at ``to``, its products with eight factors of a user, ``weights``.

    ``flat`` are the factors of all items as one array, and the eight begin at ``at``. They are added one after another,
    so that a sum has the bits of a plain loop over factors. Unsigned positions need no check for negative ones.
    """
    a, b, c, d = weights[0], weights[1], weights[2], weights[3]
    e, f, g, h = weights[4], weights[5], weights[6], weights[7]
    for i in range(ITEMS_PER_BLOCK):
        one = at + np.uint64(i)
        half = row[to + np.uint64(i)] + a * flat[one] + b * flat[one + F1] + c * flat[one + F2] + d * flat[one + F3]
        half = half + e * flat[one + F4] + f * flat[one + F5]
        row[to + np.uint64(i)] = half + g * flat[one + F6] + h * flat[one + F7]


@njit(cache=True, nogil=True, inline="always")
def add_two(weights: Float32, flat: Float32, at: np.uint64, row: Float32, to: np.uint64) -> None:
    """Add two factors as :func:`add_eight` adds eight."""
    a, b = weights[0], weights[1]
    for i in range(ITEMS_PER_BLOCK):
        one = at + np.uint64(i)
        row[to + np.uint64(i)] = row[to + np.uint64(i)] + a * flat[one] + b * flat[one + F1]
