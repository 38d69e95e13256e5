"""Walks of what is popular, recent, or chance.

Held to the readable twin in ``tests/property/test_streams.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.models.incremental._walk import Asked, Shown, Told, clock, place, until

Float64 = NDArray[np.float64]


@njit(cache=True, nogil=True)
def walk(worth: Float64, events: int, recent: bool, told: Told, asked: Asked, shown: Shown) -> None:
    """Scores are counts of events, or the number of the last one."""
    row, learnt = np.empty(worth.size), 0
    for question in range(asked.users.size + 1):
        for event in range(learnt, until(told, asked, question)):
            begun = clock(shown.cell)
            item = told.items[event]
            worth[item] = events + event + 1 if recent else worth[item] + 1
            shown.learning[event] = clock(shown.cell) - begun
        learnt = until(told, asked, question)
        if question == asked.users.size:
            break
        begun = clock(shown.cell)
        known = asked.known[question]
        row[:known] = worth[:known]
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(cache=True, nogil=True)
def walk_at_random(salt: np.uint64, items: int, asked: Asked, shown: Shown) -> None:
    """Scores are mixed from the user and the item."""
    row = np.empty(items)
    for question in range(asked.users.size):
        begun = clock(shown.cell)
        lots(salt, asked.users[question], row[: asked.known[question]])
        place(row, asked, question, shown)
        shown.asking[question] = clock(shown.cell) - begun


@njit(cache=True, nogil=True)
def lots(salt: np.uint64, user: int, row: Float64) -> None:
    """Numbers from 0 to below 1, of user and item alone: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    for item in range(row.size):
        value = salt ^ ((np.uint64(user) << np.uint64(32)) | np.uint64(item))
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        row[item] = np.float64((value ^ (value >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
