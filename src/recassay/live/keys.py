"""A map from texts (as two hashes each) to whole numbers, and compiled loops that use it in the order of events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar.layout import readonly

Keys = NDArray[np.uint64]
Whole = NDArray[np.int64]

ABSENT = np.iinfo(np.int64).min
SMALLEST = 1024


@njit(nogil=True, cache=True, inline="always")
def _slot(slots: Keys, values: Whole, key: np.uint64, check: np.uint64) -> np.uint64:
    """Return the slot of the hash table that holds a text, or the free slot where the text belongs.

    ``slots`` (n, 2) are the hashes of the stored texts, and ``values`` their values, ``ABSENT`` for a free slot.
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
def add_to_units(
    slots: Keys, values: Whole, keys: Keys, checks: Keys, times: Whole, arms: Whole, scores: NDArray[np.float64],
    first: Whole, arm: Whole, sums: NDArray[np.float64], counts: Whole, size: int, span: int, forget: int,
    begins: NDArray[np.bool_],
) -> int:  # fmt: skip
    """Add exposures, in order of time, to units (exposures of a user that count together); mark those that begin one.

    ``slots`` and ``values`` are the table of users with the row of each one's latest unit; ``keys``, ``checks``,
    ``times``, ``arms`` and ``scores`` (n, m) belong to the exposures. A unit has a row in ``first`` (time of its first
    exposure), ``arm``, ``sums`` (of scores) and ``counts``; ``size`` rows are in use, and there is room for a new unit
    of each exposure. An exposure ``forget`` or more after the first one of its user's unit begins another unit. One at
    most ``span`` after it adds its scores, NaN excepted, if it is in the arm of the unit. Return how many are in
    another arm.
    """
    crossed = 0
    for i in range(keys.size):
        slot = _slot(slots, values, keys[i], checks[i])
        row = values[slot]
        begins[i] = row == ABSENT or times[i] >= first[row] + forget
        if begins[i]:
            row, size = size, size + 1
            slots[slot, 0], slots[slot, 1], values[slot] = keys[i], checks[i], row
            first[row], arm[row] = times[i], arms[i]
        if times[i] >= first[row] + span:
            continue
        if arms[i] != arm[row]:
            crossed += 1
            continue
        for at in range(scores.shape[1]):
            if not np.isnan(scores[i, at]):
                sums[row, at] += scores[i, at]
                counts[row, at] += 1
    return crossed


@njit(nogil=True, cache=True)
def rebuild(slots: Keys, values: Whole, floor: int, new_slots: Keys, new_values: Whole) -> int:
    """Copy the texts whose value is at least ``floor`` to an empty table with enough room; return their number.

    ``slots`` (n, 2) and ``values`` are two hashes of each text, and its value, ``ABSENT`` for a free slot; the new
    table, ``new_slots`` and ``new_values``, has the same form.
    """
    kept = 0
    for old in range(values.size):
        if values[old] != ABSENT and values[old] >= floor:
            slot = _slot(new_slots, new_values, slots[old, 0], slots[old, 1])
            new_slots[slot] = slots[old]
            new_values[slot] = values[old]
            kept += 1
    return kept


class KeyMap:
    """A map from texts, given as pairs of 64-bit hashes, to whole numbers (stamps), kept in arrays.

    Entries with stamps below a floor are dropped when the arrays are full.

    >>> import polars as pl
    >>> from recassay.columnar.columns import text_hashes
    >>> seen, put = KeyMap(), np.ones(3, np.bool_)
    >>> hashes, times = text_hashes(pl.Series(["a", "b", "a"])), np.array([10, 11, 12])
    >>> (seen.visit(*hashes, put, times, span=5, floor=0) != ABSENT).tolist()
    [False, False, True]
    >>> (seen.visit(*hashes, put, times + 6, span=5, floor=0) != ABSENT).tolist()
    [False, False, True]
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(SMALLEST)

    def _allocate(self, size: int) -> None:
        self.slots: Keys = np.zeros((size, 2), np.uint64)
        self.values: Whole = np.full(size, ABSENT, np.int64)

    def visit(
        self, keys: Keys, checks: Keys, put: NDArray[np.bool_], stamps: NDArray[np.int64], *, span: int, floor: int
    ) -> Whole:
        """Look up texts in order, store ``stamps`` where ``put`` is true, and return the stamps that were found.

        ``keys`` and ``checks`` are two hashes of each text. The result is :data:`ABSENT` for a text without a stamp.
        Where ``put`` is true, a stored stamp is replaced, and counts as absent, only if it is more than ``span`` lower
        than the new one; with ``span`` -1 it is always replaced, and returned. Stamps below ``floor`` may be dropped.
        """
        self.reserve(int(put.sum()), floor)
        found = np.empty(keys.size, np.int64)
        self.count += visit(self.slots, self.values, keys, checks, put, readonly(stamps), span, found)
        return found

    def reserve(self, more: int, floor: int) -> None:
        """Rebuild the arrays if ``more`` new entries would fill more than half of them.

        Entries with stamps below ``floor`` are dropped then.
        """
        if 2 * (self.count + more) <= self.values.size:
            return
        alive = int((self.values >= max(floor, ABSENT + 1)).sum())
        size = SMALLEST
        while size < 3 * (alive + more):
            size *= 2
        slots, values = self.slots, self.values
        self._allocate(size)
        self.count = rebuild(slots, values, max(floor, ABSENT + 1), self.slots, self.values)
