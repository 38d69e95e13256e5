"""Loops over rows that lay tables out: interning of ids, duplicates and ties inside lists.

Each has a readable twin in ``tests/property/test_layout.py`` that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def intern(keys: NDArray[np.uint64], checks: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number distinct (key, check) pairs in order of arrival: the number of each row, the first row of each number."""
    size = 1024
    slots = np.empty((size, 2), np.uint64)  # key and check stand side by side: one cache line a look-up
    code_of = np.full(size, -1, np.int32)
    first_row = np.empty(size, np.int64)
    codes = np.empty(keys.size, np.int32)
    count = 0
    for row in range(keys.size):
        if 2 * count >= size:  # half full: double the table and put every number back in its place
            old_slots, old_codes = slots, code_of
            size *= 2
            slots = np.empty((size, 2), np.uint64)
            code_of = np.full(size, -1, np.int32)
            for old in range(old_codes.size):
                if old_codes[old] >= 0:
                    slot = _free_or_equal(slots, code_of, old_slots[old, 0], old_slots[old, 1])
                    slots[slot] = old_slots[old]
                    code_of[slot] = old_codes[old]
            grown = np.empty(size, np.int64)
            grown[:count] = first_row[:count]
            first_row = grown
        slot = _free_or_equal(slots, code_of, keys[row], checks[row])
        if code_of[slot] < 0:
            slots[slot, 0], slots[slot, 1] = keys[row], checks[row]
            code_of[slot] = count
            first_row[count] = row
            count += 1
        codes[row] = code_of[slot]
    return codes, first_row[:count].copy()


@njit(nogil=True, cache=True, inline="always")
def _free_or_equal(
    slots: NDArray[np.uint64], code_of: NDArray[np.int32], key: np.uint64, check: np.uint64
) -> np.uint64:
    mask = np.uint64(code_of.size - 1)
    mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> np.uint64(29))) & mask
    while code_of[slot] >= 0 and (slots[slot, 0] != key or slots[slot, 1] != check):
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def repeats(offsets: NDArray[np.int64], items: NDArray[np.int32], begin: int, end: int) -> NDArray[np.bool_]:
    """Rows of lists begin..end whose item stands earlier in the same list."""
    base = offsets[begin]
    found = np.zeros(offsets[end] - base, np.bool_)
    size = 64
    slots = np.empty(size, np.int32)
    owner = np.full(size, -1, np.int64)  # the list that filled a slot: nothing is cleared between lists
    for query in range(begin, end):
        length = offsets[query + 1] - offsets[query]
        if 2 * length > size:
            while 2 * length > size:
                size *= 2
            slots = np.empty(size, np.int32)
            owner = np.full(size, -1, np.int64)
        mask = np.uint32(size - 1)
        for row in range(offsets[query], offsets[query + 1]):
            slot = (np.uint32(items[row]) * np.uint32(0x9E3779B1) >> np.uint32(7)) & mask
            while owner[slot] == query and slots[slot] != items[row]:
                slot = (slot + np.uint32(1)) & mask
            if owner[slot] == query:
                found[row - base] = True
            else:
                owner[slot] = query
                slots[slot] = items[row]
    return found


@njit(nogil=True, cache=True)
def order_state(offsets: NDArray[np.int64], keys: NDArray[np.float64], sign: float, begin: int, end: int) -> int:
    """How stretches begin..end stand to the order of sign x key: 0 strictly ascending, 1 with ties, 2 out of order."""
    state = 0
    for stretch in range(begin, end):
        for row in range(offsets[stretch] + 1, offsets[stretch + 1]):
            if keys[row] == keys[row - 1]:
                state = max(state, 1)
            elif (keys[row] < keys[row - 1]) == (sign > 0):
                return 2
    return state


# Stretches are sorted by Shell's method with Ciura's gaps: insertion sort for short ones, near n log n for long ones,
# and ten times quicker to compile than numba's argsort.
GAPS = (1_968_300, 656_100, 218_700, 72_900, 24_300, 8_100, 3_548, 1_577, 701, 301, 132, 57, 23, 10, 4, 1)


@njit(nogil=True, cache=True)
def stable_order(
    offsets: NDArray[np.int64], keys: NDArray[np.float64], sign: float, begin: int, end: int, order: NDArray[np.int64]
) -> None:
    """Write into ``order`` the rows of stretches begin..end, each ascending by sign x key, equal keys by row."""
    for stretch in range(begin, end):
        first, last = offsets[stretch], offsets[stretch + 1]
        for row in range(first, last):
            order[row] = row
        for gap in GAPS:
            if gap > 1 and 3 * gap > last - first:  # too few rows so far apart to be worth a round
                continue
            for start in range(first + gap, last):
                row, place = order[start], start
                key = sign * keys[row]
                while place >= first + gap:
                    other = order[place - gap]
                    above = sign * keys[other]
                    if above < key or (above == key and other < row):
                        break
                    order[place] = other
                    place -= gap
                order[place] = row


@njit(nogil=True, cache=True)
def sort_judged(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64], begin: int, end: int
) -> None:
    """Sort stretches begin..end in place: gain descending (no gains: all alike), then item ascending."""
    graded = gains.size > 0
    for stretch in range(begin, end):
        first, last = offsets[stretch], offsets[stretch + 1]
        for gap in GAPS:
            if gap > 1 and 3 * gap > last - first:  # too few rows so far apart to be worth a round
                continue
            for start in range(first + gap, last):
                item, place = items[start], start
                gain = gains[start] if graded else 0.0
                while place >= first + gap:
                    above = gains[place - gap] if graded else 0.0
                    if above > gain or (above == gain and items[place - gap] <= item):
                        break
                    items[place] = items[place - gap]
                    if graded:
                        gains[place] = above
                    place -= gap
                items[place] = item
                if graded:
                    gains[place] = gain


@njit(nogil=True, cache=True)
def has_padded(data: NDArray[np.uint8], separator: int, begin: int, end: int) -> bool:
    """Return whether a field of text begins, in these bytes, with a zero and a digit, or with a plus or a blank.

    Nothing ends the loop early, and nothing in it branches: so it takes many bytes at a time.
    """
    newline, quote, zero, nine, plus, blank = 10, 34, 48, 57, 43, 32
    first, last = max(begin, 1), min(end, data.size - 1)
    if last <= first:
        return False
    before, here, behind = data[first - 1 : last - 1], data[first:last], data[first + 1 : last + 1]
    found = np.uint8(0)
    for place in range(here.size):
        starts = (before[place] == separator) | (before[place] == newline) | (before[place] == quote)
        padded = (here[place] == zero) & (behind[place] >= zero) & (behind[place] <= nine)
        signed = (here[place] == plus) | ((here[place] == blank) & (separator != blank))
        found |= np.uint8(starts & (padded | signed))
    return bool(found)
