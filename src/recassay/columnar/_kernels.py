"""Compiled loops that lay out tables: repeats and ties inside lists, stable sorts, numbers of distinct ids.

``tests/property/test_score.py`` and ``tests/unit/columnar`` compare them with readable versions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

LOOSE = 4_096  # rows; tables of longer lists would leave the cache if they had much room
SIGN_BIT = np.int64(np.iinfo(np.int64).min)


@njit(nogil=True, cache=True)
def mark_repeated_items(
    offsets: NDArray[np.int64], items: NDArray[np.int32], begin: int, end: int
) -> NDArray[np.bool_]:
    """Return a mask of the rows of lists ``begin`` to ``end`` - 1: true if the item occurs earlier in the same list.

    ``offsets[q]:offsets[q + 1]`` are the rows of list q. The mask begins with the first row of list ``begin``.
    """
    base = offsets[begin]
    found = np.zeros(offsets[end] - base, np.bool_)
    size = 512
    slots = np.full(size, -1, np.int64)  # list and item of each slot, so that slots need no clearing between lists
    for query in range(begin, end):
        first, last = offsets[query], offsets[query + 1]
        wanted = (last - first) * (8 if last - first <= LOOSE else 2)  # with room, few items meet in a slot
        if wanted > size:
            while wanted > size:
                size *= 2
            slots = np.full(size, -1, np.int64)
        mask = np.uint32(size - 1)
        lowest = np.int64(query) << 32
        for row in range(first, last):
            key = lowest | np.int64(np.uint32(items[row]))
            slot = (np.uint32(items[row]) * np.uint32(0x9E3779B1) >> np.uint32(7)) & mask
            while slots[slot] >= lowest and slots[slot] != key:
                slot = (slot + np.uint32(1)) & mask
            found[row - base] = slots[slot] == key
            slots[slot] = key
    return found


@njit(nogil=True, cache=True)
def order_state(offsets: NDArray[np.int64], keys: NDArray[np.float64], sign: float) -> int:
    """Return how keys are ordered within groups: 0 strictly ascending, 1 ascending with ties, 2 unordered.

    The result is the largest number of any group; ``offsets[g]:offsets[g + 1]`` are the rows of group g. With ``sign``
    -1 instead of 1, read "descending" for "ascending".
    """
    state = 0
    for group in range(offsets.size - 1):
        for row in range(offsets[group] + 1, offsets[group + 1]):
            if keys[row] == keys[row - 1]:
                state = max(state, 1)
            elif (keys[row] < keys[row - 1]) == (sign > 0):
                return 2
    return state


@njit(nogil=True, cache=True)
def place_ranks(offsets: NDArray[np.int64], keys: NDArray[np.float64], order: NDArray[np.int64]) -> bool:
    """Fill ``order`` with the rows of each group in ascending order, if its keys are consecutive whole numbers.

    Return whether they are in every group; else ``order`` is not complete. ``offsets[g]:offsets[g + 1]`` are the rows
    of group g.
    """
    for group in range(offsets.size - 1):
        first, end = offsets[group], offsets[group + 1]
        low = np.inf
        for row in range(first, end):
            low = min(low, keys[row])
        order[first:end] = -1
        for row in range(first, end):
            place = keys[row] - low
            if not place < end - first or place != int(place) or order[first + int(place)] >= 0:
                return False
            order[first + int(place)] = row
    return True


@njit(nogil=True, cache=True)
def pack_keys(
    offsets: NDArray[np.int64], bits: NDArray[np.int64], descending: bool, place_bits: int
) -> NDArray[np.int64]:
    """Return integers that sort as the keys of each group do: the high bits of a key, then its position in the group.

    ``bits`` are the bits of the keys, floats without NaN. ``place_bits`` is the number of low bits that hold the
    position. ``offsets[g]:offsets[g + 1]`` are the rows of group g.
    """
    low = np.int64(-1) << np.int64(place_bits)
    flip, rest = np.int64(-1 if descending else 0) & SIGN_BIT, ~SIGN_BIT
    packed = np.empty(bits.size, np.int64)
    for group in range(offsets.size - 1):
        first = offsets[group]
        for row in range(first, offsets[group + 1]):
            key = bits[row] ^ flip
            key = np.int64(0) if key == SIGN_BIT else key  # -0.0 equals 0.0
            key ^= (key >> np.int64(63)) & rest  # the order of floats becomes that of integers
            packed[row] = (key & low) | (row - first)
    return packed


@njit(nogil=True, cache=True)
def unpack_rows(
    offsets: NDArray[np.int64], place_bits: int, packed: NDArray[np.int64], close: NDArray[np.bool_]
) -> bool:
    """Replace the integers of :func:`pack_keys`, sorted in each group, by the rows they stand for.

    ``packed``, ``offsets`` and ``place_bits`` are the result and arguments of :func:`pack_keys`.

    Mark in ``close`` each integer with the same high bits as the one before it in its group; return whether any is
    marked.
    """
    found, low = False, (np.int64(1) << np.int64(place_bits)) - np.int64(1)
    for group in range(offsets.size - 1):
        first, before = offsets[group], np.int64(0)
        for place in range(first, offsets[group + 1]):
            high = packed[place] | low
            close[place] = high == before and place > first
            found |= close[place]
            packed[place] = first + (packed[place] & low)
            before = high
    return found


@njit(nogil=True, cache=True)
def count_groups(
    codes: NDArray[np.int32], low: int, shift: int, begin: int, end: int, counts: NDArray[np.int64]
) -> None:
    """Add to ``counts`` the number of the rows begin..end in each group; the group of a row is (code - low) >> shift.

    ``codes`` has the code of each row.
    """
    for row in range(begin, end):
        counts[(np.int64(codes[row]) - low) >> shift] += 1


@njit(nogil=True, cache=True)
def scatter(
    codes: NDArray[np.int32], low: int, shift: int, begin: int, end: int,
    place: NDArray[np.int64], values: NDArray[np.generic], out: NDArray[np.generic],
) -> None:  # fmt: skip
    """Copy ``values`` of the rows begin..end to ``out``, so that the rows of each group are next to each other.

    The group of a row is ``(codes[row] - low) >> shift``. ``place[g]`` is the next free position of group g in ``out``;
    the loop advances it.
    """
    for row in range(begin, end):
        group = (np.int64(codes[row]) - low) >> shift
        out[place[group]] = values[row]
        place[group] += 1


GAPS = (1_968_300, 656_100, 218_700, 72_900, 24_300, 8_100, 3_548, 1_577, 701, 301, 132, 57, 23, 10, 4, 1)
COUNTED = 16  # up to this many items an item is put in its place by counting the smaller ones
NO_ITEM = np.int32(np.iinfo(np.int32).max)


@njit(nogil=True, cache=True)
def sort_by_gain(
    offsets: NDArray[np.int64], items: NDArray[np.int32], gains: NDArray[np.float64], begin: int, end: int
) -> bool:
    """Sort the rows of groups begin..end in place: gain descending, then item ascending.

    ``items`` and ``gains`` have the item and the gain of each row. ``offsets[g]:offsets[g + 1]`` are the rows of group
    g. If ``gains`` is empty, all gains are equal. Return whether a row then has the item of the row before it.
    """
    graded, repeats = gains.size > 0, False
    few, places = np.empty(COUNTED, np.int32), np.empty(COUNTED, np.int32)
    for group in range(begin, end):
        first, last = offsets[group], offsets[group + 1]
        if graded or last - first > COUNTED:
            _sort_many(items, gains, graded, first, last)
            for row in range(first + 1, last):
                repeats |= items[row] == items[row - 1]
        else:
            repeats |= _sort_few(items, first, last, few, places)
    return repeats


@njit(nogil=True, cache=True)
def _sort_many(items: NDArray[np.int32], gains: NDArray[np.float64], graded: bool, first: int, last: int) -> None:
    """Sort the rows first..last in place by gain, descending, if they are ``graded``, and then by item, ascending.

    This is Shell's method with Ciura's gaps: insertion sort for few rows, near n log n for many, and ten times quicker
    to compile than numba's argsort.
    """
    for gap in GAPS:
        if gap > 1 and 3 * gap > last - first:  # there are too few rows for a pass with this gap
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
def _sort_few(
    items: NDArray[np.int32], first: int, last: int, few: NDArray[np.int32], places: NDArray[np.int32]
) -> bool:
    """Sort the items of rows first..last in place, by the number of items that are smaller than each.

    Return whether an item repeats. ``few`` and ``places`` are memory for :data:`COUNTED` items each. The loop over the
    other items always has that many steps and no branch, so an instruction compares many items, and none waits for a
    wrongly predicted branch as in insertion sort.
    """
    size, total = last - first, np.int64(0)
    for other in range(COUNTED):
        few[other] = items[first + other] if other < size else NO_ITEM
    for row in range(size):
        item, place = few[row], np.int32(0)
        for other in range(COUNTED):
            place += np.int32(few[other] < item)
        places[row] = place
        total += place
    repeats: bool = total != size * (size - 1) // 2  # items that differ have the places 0, 1, ...
    if repeats:
        for row in range(size):
            for other in range(row):  # equal items follow each other
                places[row] += np.int32(few[other] == few[row])
    for row in range(size):
        items[first + places[row]] = few[row]
    return repeats


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
    above the number counted from 1. So a look-up reads one cache line, and 0 marks a free slot. Return the table, the
    first rows and the count, with the new pairs; table and first rows are new, larger arrays if half the slots were
    taken.
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
    """Add to ``counts`` the number of keys in each part; the part of a key is ``(key * GOLDEN) >> shift``."""
    for key in keys:
        counts[(key * GOLDEN) >> np.uint64(shift)] += 1


@njit(nogil=True, cache=True)
def scatter_to_parts(
    keys: NDArray[np.uint64], checks: NDArray[np.uint64], shift: int, first: int, place: NDArray[np.int64],
    out_keys: NDArray[np.uint64], out_checks: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Copy keys and checks to ``out_keys`` and ``out_checks``, so that those of a part are next to each other.

    The parts are those of :func:`count_parts`. In place of its lower half, which does not count, a check gets the
    number of its row, counted from ``first``. ``place[p]`` is the next free position of part p in both outputs; the
    loop advances it.
    """
    for row in range(keys.size):
        part = (keys[row] * GOLDEN) >> np.uint64(shift)
        here = place[part]
        out_keys[here], out_checks[here] = keys[row], (checks[row] & UPPER) | np.uint64(first + row)
        place[part] = here + 1


@njit(nogil=True, cache=True)
def put(values: NDArray[np.int32], codes: NDArray[np.int32], rows: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
    """Write ``values[codes[i]]`` to ``out[row]`` for each i; row is the lower half of ``rows[i]``."""
    for place in range(rows.size):
        out[rows[place] & LOWER] = values[codes[place]]


@njit(nogil=True, cache=True)
def has_padded(data: NDArray[np.uint8], separator: int) -> bool:
    """Return whether some field of a text begins with a zero before another digit, with a plus, or with a blank.

    ``data`` are the bytes of a block of the text, with one more byte before and behind it. ``separator`` is the byte
    between fields. The loop has no branch and no early exit, and holds bytes and truth values only, so that an
    instruction treats 64 bytes; with an integer of 64 bits among them it treats eight.
    """
    newline, quote, zero, nine, plus, blank = 10, 34, 48, 57, 43, 32
    between = np.uint8(separator)
    before, here, after = data[:-2], data[1:-1], data[2:]
    found = False
    for place in range(here.size):
        starts = (before[place] == between) | (before[place] == newline) | (before[place] == quote)
        padded = (here[place] == zero) & (after[place] >= zero) & (after[place] <= nine)
        signed = (here[place] == plus) | ((here[place] == blank) & (between != blank))
        found |= starts & (padded | signed)
    return found
