"""Compiled loops over keys of events: look-ups that depend on the order of events, one after another.

``tests/property/test_live_kernels.py`` compares each with a dict.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Keys = NDArray[np.uint64]
Whole = NDArray[np.int64]

ABSENT = np.iinfo(np.int64).min


@njit(nogil=True, cache=True, inline="always")
def _slot(slots: Keys, values: Whole, key: np.uint64, check: np.uint64) -> np.uint64:
    """Return the slot that holds a (key, check) pair, or the free slot where the pair belongs."""
    mask = np.uint64(values.size - 1)
    mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> np.uint64(29))) & mask
    while values[slot] != ABSENT and (slots[slot, 0] != key or slots[slot, 1] != check):
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def visit(
    slots: Keys, values: Whole, keys: Keys, checks: Keys, put: NDArray[np.bool_], stamps: Whole, span: int, found: Whole
) -> int:
    """Look up each pair in order and write its value, or ``ABSENT``, to ``found``; return how many pairs were added.

    Where ``put`` is true, the pair gets the value ``stamps`` if it has none or one more than ``span`` below; such an
    old value counts as absent. With ``span`` -1 the value is always replaced, and ``found`` has the one before.
    """
    added = 0
    for row in range(keys.size):
        slot = _slot(slots, values, keys[row], checks[row])
        before = values[slot]
        found[row] = before
        if put[row] and (before == ABSENT or stamps[row] - before > span):
            if before == ABSENT:
                slots[slot, 0], slots[slot, 1] = keys[row], checks[row]
                added += 1
            elif span >= 0:
                found[row] = ABSENT
            values[slot] = stamps[row]
    return added


@njit(nogil=True, cache=True)
def rebuild(slots: Keys, values: Whole, floor: int, new_slots: Keys, new_values: Whole) -> int:
    """Copy the pairs whose value is at least ``floor`` to an empty table; return their number."""
    kept = 0
    for old in range(values.size):
        if values[old] != ABSENT and values[old] >= floor:
            slot = _slot(new_slots, new_values, slots[old, 0], slots[old, 1])
            new_slots[slot] = slots[old]
            new_values[slot] = values[old]
            kept += 1
    return kept
