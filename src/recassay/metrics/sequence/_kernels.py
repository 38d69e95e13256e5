"""Compiled loops over generated sequences, their references and pairs of items. Single-threaded, no validation.

``items`` are generated sequences (rows), -1 after the end of a short one. If ``out`` has a column per place, its width
is the number of places that count. ``sequences[offsets[s]:offsets[s+1]]`` is test sequence s: the seed (first item),
then the reference. Tests compare each loop with a slow, readable implementation in
``tests/property/test_sequence_kernels.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@njit(nogil=True, cache=True)
def match(items: Int32, offsets: Int64, sequences: Int32, hits: Bool, times: Int32, places: Int32) -> None:
    """Write for each generated item how often (``times``) and where first (``places``, or -1) the reference has it.

    ``hits`` says whether it is a hit: the reference holds it more often than the list does before it. So the hits up to
    any place count the multiset intersection of the list up to there with the reference. Row s of ``items`` is the list
    for test sequence ``sequences[offsets[s]:offsets[s + 1]]``, whose first item is the seed; the others are the
    reference.
    """
    for row in range(items.shape[0]):
        first, last = offsets[row] + 1, offsets[row + 1]
        for j in range(items.shape[1]):
            item = items[row, j]
            found, where = 0, -1
            if item >= 0:
                for at in range(first, last):
                    if sequences[at] == item:
                        found += 1
                        if where < 0:
                            where = at - first
            before = 0
            if found:
                for p in range(j):
                    before += items[row, p] == item
            times[row, j], places[row, j], hits[row, j] = found, where, before < found


@njit(nogil=True, cache=True)
def disorder(items: Int32, times: Int32, places: Int32, agree: bool, out: Float) -> None:
    """Write to ``out[s, j]`` the disorder at place j of list s, a sum over the places before it.

    A place before j adds 0 if its item and that at place j are in the order of the reference, 1 if they are in reverse
    order, and 1/2 if the order is unknown. The order is known if both ``items`` occur exactly once in the reference:
    ``times`` is how often an item occurs there, and ``places`` where first. Two places with the same item add 1/2, but
    0 with ``agree``.
    """
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            if items[row, j] >= 0:
                for p in range(j):
                    if times[row, p] != 1 or times[row, j] != 1 or (items[row, p] == items[row, j] and not agree):
                        total += 0.5
                    elif places[row, j] < places[row, p]:
                        total += 1.0
            out[row, j] = total


@njit(nogil=True, cache=True)
def discordance(places: Int32, k: int, out: Float) -> None:
    """Write to ``out[s]`` the share of pairs of common items of list and reference s that are in reverse order.

    ``places`` (lists, k) is where each item first occurs in the reference, -1 for nowhere. An item counts at its first
    place in the list.
    """
    order = np.empty(k, np.int64)
    for row in range(places.shape[0]):
        common, against = 0, 0
        for j in range(k):
            if places[row, j] < 0:
                continue
            new = True
            for p in range(common):
                new = new and order[p] != places[row, j]
            if new:
                for p in range(common):
                    against += places[row, j] < order[p]
                order[common] = places[row, j]
                common += 1
        out[row] = 2.0 * against / (common * (common - 1)) if common > 1 else np.nan


@njit(nogil=True, cache=True)
def common_subsequence(items: Int32, offsets: Int64, sequences: Int32, k: int, out: Int64) -> None:
    """Write to ``out[s]`` the length of the longest common subsequence of list s and its reference.

    Only the first k items of list s count. The reference is all of ``sequences[offsets[s] + 1:offsets[s + 1]]``.
    """
    best = np.empty(k + 1, np.int64)  # of the reference so far, with the first j items of the list
    for row in range(items.shape[0]):
        best[:] = 0
        for at in range(offsets[row] + 1, offsets[row + 1]):
            diagonal = 0
            for j in range(k):
                above = best[j + 1]
                if items[row, j] == sequences[at]:
                    best[j + 1] = diagonal + 1
                elif best[j] > above:
                    best[j + 1] = best[j]
                diagonal = above
        out[row] = best[k]


@njit(nogil=True, cache=True)
def occurrences(offsets: Int64, sequences: Int32, counts: Int64) -> tuple[Int64, Int32]:
    """Return (starts, numbers): ``numbers[starts[i]:starts[i+1]]`` are the sequences with item i.

    A sequence is repeated as often as it has the item. ``sequences[offsets[s]:offsets[s + 1]]`` are the items of
    sequence s, and ``counts`` the occurrences of each item.
    """
    starts = np.zeros(counts.size + 1, np.int64)
    starts[1:] = np.cumsum(counts)
    place, numbers = starts[:-1].copy(), np.empty(sequences.size, np.int32)
    for s in range(offsets.size - 1):
        for at in range(offsets[s], offsets[s + 1]):
            item = sequences[at]
            numbers[place[item]] = s
            place[item] += 1
    return starts, numbers


@njit(nogil=True, cache=True)
def squared_norms(starts: Int64, numbers: Int32) -> Int64:
    """Return for each item i the sum over sequences of the squared number of its occurrences.

    ``numbers[starts[i]:starts[i + 1]]`` are the sequences it occurs in, once per occurrence.
    """
    norms = np.zeros(starts.size - 1, np.int64)
    for item in range(norms.size):
        run = 0
        for at in range(starts[item], starts[item + 1]):
            run = run + 1 if at > starts[item] and numbers[at] == numbers[at - 1] else 1
            norms[item] += 2 * run - 1
    return norms


@njit(nogil=True, cache=True)
def shared_sequences(
    owners: Int64, bounds: Int64, partners: Int64, starts: Int64, numbers: Int32,
    offsets: Int64, sequences: Int32, out: Int64,
) -> None:  # fmt: skip
    """Write to ``out[p]`` the dot product of the count vectors of the two items of pair p.

    The count vector of an item says how often it occurs in each sequence. For p from ``bounds[o]`` to ``bounds[o + 1]``
    - 1, the items of pair p are ``owners[o]`` and ``partners[p]``. ``numbers[starts[i]:starts[i + 1]]`` are the
    sequences of item i, once per occurrence, and ``sequences[offsets[s]:offsets[s + 1]]`` the items of sequence s.
    Every occurrence of an owner visits its sequence once. The cost is the length of the owner's sequences, whatever the
    number of its partners.
    """
    slot = np.full(starts.size - 1, -1, np.int64)  # the pair in which an item is counted, if it is a partner
    for o in range(owners.size):
        for pair in range(bounds[o], bounds[o + 1]):
            slot[partners[pair]] = pair
            out[pair] = 0
        for at in range(starts[owners[o]], starts[owners[o] + 1]):
            for row in range(offsets[numbers[at]], offsets[numbers[at] + 1]):
                pair = slot[sequences[row]]
                if pair >= 0:
                    out[pair] += 1
        for pair in range(bounds[o], bounds[o + 1]):
            slot[partners[pair]] = -1


@njit(nogil=True, cache=True, inline="always")
def _place_of(keys: Int64, key: np.int64) -> np.uint64:
    """Return the slot of ``key`` in an open hash table, or the free slot (-1 in ``keys``) where it belongs."""
    mask = np.uint64(keys.size - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = (mixed ^ (mixed >> np.uint64(32))) & mask
    while keys[place] >= 0 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return place


@njit(nogil=True, cache=True)
def note_pairs(items: Int32, k: int, known: Bool, keys: Int64, values: Float, count: int) -> tuple[Int64, Float, int]:
    """Add all pairs of two known items in the first k places of each list to a hash table, with value NaN if new.

    The table is ``keys`` and ``values``, with ``count`` pairs. The key of a pair is lower item * number of items +
    higher item. Return keys, values and number of pairs; the arrays are larger if more than half of the table was full.
    """
    for row in range(items.shape[0]):
        for j in range(k):
            for p in range(j):
                one, other = items[row, p], items[row, j]
                if one == other or one < 0 or other < 0 or not (known[one] and known[other]):
                    continue
                if 2 * count >= keys.size:
                    old_keys, old_values = keys, values
                    keys, values = np.full(2 * old_keys.size, -1, np.int64), np.empty(2 * old_keys.size, np.float64)
                    for old in range(old_keys.size):
                        if old_keys[old] >= 0:
                            place = _place_of(keys, old_keys[old])
                            keys[place], values[place] = old_keys[old], old_values[old]
                key = np.int64(min(one, other)) * known.size + max(one, other)
                place = _place_of(keys, key)
                if keys[place] < 0:
                    keys[place], values[place] = key, np.nan
                    count += 1
    return keys, values, count


@njit(nogil=True, cache=True)
def distances(items: Int32, own: Float, keys: Int64, values: Float, out: Float) -> None:
    """Write to ``out[s, j]`` the sum of 1 - similarity of the item at place j of list s to each item before it.

    ``own[i]`` is the similarity of item i to itself, for items that come again. The hash table of ``keys`` and
    ``values`` holds the similarities of pairs of items i < j, by the key i * len(own) + j; a pair outside the table has
    similarity 0.
    """
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            if items[row, j] >= 0:
                for p in range(j):
                    one, other = items[row, p], items[row, j]
                    if one == other:
                        total += 1.0 - own[one]
                        continue
                    place = _place_of(keys, np.int64(min(one, other)) * own.size + max(one, other))
                    total += 1.0 - values[place] if keys[place] >= 0 else 1.0
            out[row, j] = total
