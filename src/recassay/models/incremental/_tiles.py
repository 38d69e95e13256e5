"""Item factors in tiles: ``items[t, f, lane]`` is factor f of item ``LANES * t + lane``.

So one pass scores many items at a time, and an item that is new needs no room but its lane.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

LANES = 64
TILES = 16  # made at first: a multiple of what is drawn together


@njit(cache=True, nogil=True)
def products(user: Float32, items: Float32, known: int, row: Float32) -> None:
    """The product of a user's factors and every known item's, whole tiles at a time; four factors in one pass."""
    factors = user.size
    for number in range((known + LANES - 1) // LANES):
        tile, line = items[number], row[number * LANES : (number + 1) * LANES]
        for lane in range(LANES):
            line[lane] = user[0] * tile[0, lane]
        factor = 1
        while factor + 4 <= factors:
            a, b, c, d = user[factor], user[factor + 1], user[factor + 2], user[factor + 3]
            w, x, y, z = tile[factor], tile[factor + 1], tile[factor + 2], tile[factor + 3]
            for lane in range(LANES):
                line[lane] = (((line[lane] + a * w[lane]) + b * x[lane]) + c * y[lane]) + d * z[lane]
            factor += 4
        while factor < factors:
            a, w = user[factor], tile[factor]
            for lane in range(LANES):
                line[lane] += a * w[lane]
            factor += 1
