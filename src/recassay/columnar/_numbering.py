"""Compiled loops that number the distinct ones of many hashed ids.

Each one is tested against a readable reference version in ``tests/property/test_numbering.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

ONE, LOWER, UPPER = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: its multiples spread over all bits
LARGE_TABLE = 1 << 21  # words, two per slot; a larger table grows more slowly


@njit(nogil=True, cache=True)
def intern(
    keys: NDArray[np.uint64], checks: NDArray[np.uint64], begin: int,
    slots: NDArray[np.uint64], first_row: NDArray[np.int64], count: int, codes: NDArray[np.int32],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:  # fmt: skip
    """Assign numbers to the distinct pairs of a key and the upper half of a check, by first appearance.

    ``keys`` and ``checks`` are two hashes of each row's value. ``codes`` receives the number of each row's pair, from
    0, and ``first_row`` for each new number the first row that has it; rows count from ``begin``. ``slots`` is the hash
    table, with the first ``count`` numbers in it. It has two words per slot: a key, then the upper half of the check
    above the number counted from 1. So a look-up reads one cache line, and 0 marks a free slot. Return the table, first
    rows and count with the new pairs; table and first rows are other arrays once half the slots were taken.
    """
    row, count = _number_until_half_full(keys, checks, begin, 0, count, slots, codes, first_row)
    while row < keys.size:  # make a larger table and insert every number again
        size = slots.size * (4 if slots.size < LARGE_TABLE else 2)
        old, slots = slots, np.zeros(size, np.uint64)
        for place in range(0, old.size, 2):
            if old[place + 1] != 0:
                slot = _slot_of(slots, old[place], old[place + 1] & UPPER)
                slots[slot], slots[slot + ONE] = old[place], old[place + 1]
        known, first_row = first_row, np.empty(size // 4, np.int64)
        first_row[:count] = known
        row, count = _number_until_half_full(keys, checks, begin, row, count, slots, codes, first_row)
    return slots, first_row, count


@njit(nogil=True, cache=True)
def _number_until_half_full(
    keys: NDArray[np.uint64], checks: NDArray[np.uint64], begin: int, row: int, count: int,
    slots: NDArray[np.uint64], codes: NDArray[np.int32], first_row: NDArray[np.int64],
) -> tuple[int, int]:  # fmt: skip
    """Assign numbers to rows from ``row`` on until the hash table ``slots`` is half full (see :func:`intern`).

    Return (next row, number of numbers assigned so far). ``count`` numbers are in the table already; ``codes`` and
    ``first_row`` are written. This loop is a function of its own because its arrays stay the same: in a loop that may
    replace an array, numba counts the references to it in every row, which takes twice the time.
    """
    while row < keys.size and count < first_row.size:
        key, check = keys[row], checks[row] & UPPER
        slot = _slot_of(slots, key, check)
        number = slots[slot + ONE] & LOWER
        if number == 0:
            first_row[count] = begin + row
            count += 1
            number = np.uint64(count)
            slots[slot], slots[slot + ONE] = key, check | number
        codes[row] = number - ONE
        row += 1
    return row, count


@njit(nogil=True, cache=True, inline="always")
def _slot_of(slots: NDArray[np.uint64], key: np.uint64, check: np.uint64) -> np.uint64:
    """Return the position in the hash table ``slots`` of a (key, check) pair, or of the free slot where it belongs."""
    mask = np.uint64(slots.size - 1)
    mixed = key * GOLDEN
    slot = ((mixed ^ (mixed >> np.uint64(32))) << ONE) & mask
    while slots[slot + ONE] != 0 and (slots[slot] != key or (slots[slot + ONE] & UPPER) != check):
        slot = (slot + np.uint64(2)) & mask
    return slot


@njit(nogil=True, cache=True)
def count_parts(keys: NDArray[np.uint64], shift: int, counts: NDArray[np.int64]) -> None:
    """Add to ``counts`` the number of keys in each part; the high bits of a hash, all above ``shift``, are its part."""
    for key in keys:
        counts[(key * GOLDEN) >> np.uint64(shift)] += 1


@njit(nogil=True, cache=True)
def scatter_to_parts(
    keys: NDArray[np.uint64], checks: NDArray[np.uint64], shift: int, first: int, place: NDArray[np.int64],
    out_keys: NDArray[np.uint64], out_checks: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Copy keys and checks to ``out_keys`` and ``out_checks``, so that those of a part are next to each other.

    The parts are those of :func:`count_parts`. In place of its lower half, which does not count, a check gets the
    number of its row, counted from ``first``. ``place[p]`` is the next free place of part p, and is advanced in place.
    """
    for row in range(keys.size):
        part = (keys[row] * GOLDEN) >> np.uint64(shift)
        here = place[part]
        out_keys[here], out_checks[here] = keys[row], (checks[row] & UPPER) | np.uint64(first + row)
        place[part] = here + 1


@njit(nogil=True, cache=True)
def put(values: NDArray[np.int32], codes: NDArray[np.int32], rows: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
    """Write ``values[codes[i]]`` to the place in ``out`` that the lower half of ``rows[i]`` says, for each i."""
    for place in range(rows.size):
        out[rows[place] & LOWER] = values[codes[place]]
