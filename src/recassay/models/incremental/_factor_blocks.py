"""Item factors in blocks: ``items[b, f, i]`` is factor f of item ``ITEMS_PER_BLOCK * b + i``.

This layout scores many items with one vector instruction, and a new item takes the next free place of the last block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Float32 = NDArray[np.float32]

ITEMS_PER_BLOCK = 64
FIRST_BLOCKS = 16  # allocated at first; FIRST_BLOCKS * ITEMS_PER_BLOCK is ROWS_PER_DRAW


@njit(cache=True, nogil=True)
def products(user: Float32, items: Float32, known: int, row: Float32) -> None:
    """Write to ``row`` the product of a user's factors with those of each of the first ``known`` items.

    ``items`` (blocks, factors, items of a block) are the items' factors. Whole blocks of items are computed, four
    factors per pass.
    """
    factors = user.size
    for number in range((known + ITEMS_PER_BLOCK - 1) // ITEMS_PER_BLOCK):
        block, line = items[number], row[number * ITEMS_PER_BLOCK : (number + 1) * ITEMS_PER_BLOCK]
        for i in range(ITEMS_PER_BLOCK):
            line[i] = user[0] * block[0, i]
        factor = 1
        while factor + 4 <= factors:
            a, b, c, d = user[factor], user[factor + 1], user[factor + 2], user[factor + 3]
            w, x, y, z = block[factor], block[factor + 1], block[factor + 2], block[factor + 3]
            for i in range(ITEMS_PER_BLOCK):
                line[i] = (((line[i] + a * w[i]) + b * x[i]) + c * y[i]) + d * z[i]
            factor += 4
        while factor < factors:
            a, w = user[factor], block[factor]
            for i in range(ITEMS_PER_BLOCK):
                line[i] += a * w[i]
            factor += 1
