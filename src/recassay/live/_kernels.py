"""Compiled loops over a hash table of texts: look-ups that depend on the order of events, one after another.

``tests/property/test_live.py`` compares a watch with dicts and loops.
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
    """Return the slot of the hash table that holds a text, given by two hashes, or the free slot where it belongs.

    ``slots`` (n, 2) are the hashes of the stored texts, and ``values`` their stamps, ``ABSENT`` for a free slot.
    ``key`` and ``check`` are the two hashes; n is a power of 2.
    """
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
    """Look up texts in order, store new values, and write to ``found`` the value that each text had before.

    ``slots`` (n, 2) and ``values`` are the table: two hashes of each text, and its value, ``ABSENT`` for a free slot.
    ``keys`` and ``checks`` are the two hashes of each text to look up. ``found`` is ``ABSENT`` for a text that is not
    in the table. Where ``put`` is false, nothing is stored. Where ``put`` is true, the value in ``stamps`` is stored if
    the text has no value, or a value that is more than ``span`` below the stamp; ``found`` is then ``ABSENT``. With
    ``span`` -1 every put replaces the value, and ``found`` is the replaced one. Return the number of texts added.
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
def add_rows(sums: NDArray[np.float64], counts: Whole, rows: Whole, values: NDArray[np.float64]) -> None:
    """Add row i of ``values`` (n, m) to row ``rows[i]`` of ``sums``, and count each number in ``counts``; skip NaN."""
    for i in range(rows.size):
        row = rows[i]
        for at in range(values.shape[1]):
            value = values[i, at]
            if not np.isnan(value):
                sums[row, at] += value
                counts[row, at] += 1


@njit(nogil=True, cache=True)
def rebuild(slots: Keys, values: Whole, floor: int, new_slots: Keys, new_values: Whole) -> int:
    """Copy the texts whose value is at least ``floor`` to an empty table with enough room; return their number.

    ``slots`` (n, 2) and ``values`` are two hashes of each text, and its value, ``ABSENT`` for a free slot; the new
    table has the same form.
    """
    kept = 0
    for old in range(values.size):
        if values[old] != ABSENT and values[old] >= floor:
            slot = _slot(new_slots, new_values, slots[old, 0], slots[old, 1])
            new_slots[slot] = slots[old]
            new_values[slot] = values[old]
            kept += 1
    return kept
