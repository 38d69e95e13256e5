"""Compiled loops over marks: the judged items that a list holds, by their positions in it.

Single-threaded, arrays in and arrays out, no validation. ``start[q]:start[q+1]`` are the marks of query q in ascending
rank. ``first[m]..last[m]`` are the positions (from 1) the mark may take: one, or a range of tied ones in random order.
Tables indexed by position hold position p at index p - 1. ``tests/property/test_kernels.py`` has readable twins.
"""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64

LINEAR = 12  # for up to this many judged items, or lookups, a scan is faster than a hash table


@njit(nogil=True, cache=True)
def find_marks(
    offsets: Int64, items: Int32, match: Int64, truth_offsets: Int64, truth_items: Int32,
    begin: int, end: int, depth: int, start: Int64, rank: Int32, judged: Int64,
) -> int:  # fmt: skip
    """Find the judged items (marks) in the first ``depth`` places of the lists of queries; return their number.

    The queries are those from ``begin`` up to ``end``. The list of query q has the rows ``offsets[l]:offsets[l + 1]``
    of ``items`` with l = ``match[q]`` (-1: no list), and its judged items are
    ``truth_items[truth_offsets[q]:truth_offsets[q + 1]]``. Write the ``rank`` of each mark and its row in the truth
    (``judged``), and ``start``: the marks of the i-th of these queries are ``start[i]:start[i + 1]``.
    """
    count = 0
    slots = np.empty(256, np.int64)
    likely = np.empty(256, np.int32)
    for query in range(begin, end):
        start[query - begin] = count
        if match[query] < 0:
            continue
        top = offsets[match[query]]
        bottom = min(offsets[match[query] + 1], top + depth)
        low, high = truth_offsets[query], truth_offsets[query + 1]
        bits = np.uint64(0)  # a bit per judged item rules out most other items without a lookup
        for row in range(low, high):
            bits |= np.uint64(1) << _bit(truth_items[row])
        if likely.size < bottom - top:
            likely = np.empty(2 * (bottom - top), np.int32)
        candidates = np.int64(0)
        for row in range(top, bottom):  # no branch here: it would be mispredicted too often
            likely[candidates] = row - top
            candidates += np.int64((bits >> _bit(items[row])) & np.uint64(1))
        few = high - low <= LINEAR or candidates <= LINEAR
        mask = np.uint32(0)
        if not few:
            while slots.size < 2 * (high - low):
                slots = np.empty(2 * slots.size, np.int64)
            mask = _hash_rows(truth_items, low, high, slots)
        for place in likely[:candidates]:
            row, at = top + place, -1
            if few:
                for candidate in range(low, high):
                    if truth_items[candidate] == items[row]:
                        at = candidate
                        break
            else:
                at = _look_up(truth_items, items[row], slots, mask)
            if at >= 0:
                rank[count] = place + 1
                judged[count] = at
                count += 1
    start[end - begin] = count
    return count


@njit(nogil=True, cache=True, inline="always")
def _bit(item: int) -> np.uint64:
    return np.uint64(np.uint32(np.uint32(item) * np.uint32(0x9E3779B1)) >> np.uint32(26))


@njit(nogil=True, cache=True, inline="always")
def _hash_rows(items: Int32, low: int, high: int, slots: Int64) -> np.uint32:
    size = np.uint32(32)
    while size < 2 * (high - low):
        size *= np.uint32(2)
    mask = size - np.uint32(1)
    slots[:size] = -1
    for row in range(low, high):
        slot = (np.uint32(items[row]) * np.uint32(0x9E3779B1) >> np.uint32(7)) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint32(1)) & mask
        slots[slot] = row
    return mask


@njit(nogil=True, cache=True, inline="always")
def _look_up(items: Int32, item: int, slots: Int64, mask: np.uint32) -> int:
    slot = (np.uint32(item) * np.uint32(0x9E3779B1) >> np.uint32(7)) & mask
    while slots[slot] >= 0 and items[slots[slot]] != item:
        slot = (slot + np.uint32(1)) & mask
    return int(slots[slot])


@njit(nogil=True, cache=True)
def weighted_sum(
    start: Int64, first: Int32, last: Int32, value: Float, weight: Float, cumulative: Float, cutoff: Int64, out: Float
) -> None:
    """Write to ``out[q]`` the expected sum of value x weight(position) over the judged items in list q (its marks).

    Positions beyond ``cutoff[q]`` add nothing. ``start[q]:start[q + 1]`` are the marks of query q, and mark m takes a
    position from ``first[m]`` to ``last[m]``, all equally likely. ``value`` is per mark, ``weight[p - 1]`` is the
    weight of position p, and ``cumulative[p]`` the sum of the weights of positions 1..p.
    """
    for query in range(start.size - 1):
        total = 0.0
        for mark in range(start[query], start[query + 1]):
            top, bottom = first[mark], last[mark]
            if top > cutoff[query]:
                break
            if top == bottom:
                total += value[mark] * weight[top - 1]
            else:
                stop = min(np.int64(bottom), cutoff[query])
                total += value[mark] * (cumulative[stop] - cumulative[top - 1]) / (bottom - top + 1)
        out[query] = total


@njit(nogil=True, cache=True)
def top_sum(offsets: Int64, value: Float, weight: Float, begin: int, end: int, k: int, out: Float) -> None:
    """Write, for each query, the sum of value x weight over its first k values: the ideal DCG of graded judgements.

    ``value`` has the values of the queries from ``begin`` up to ``end``, largest first for each query; ``offsets[q] -
    offsets[begin]`` is where those of query q start. ``weight`` has a number per place. ``out`` gets one sum per query.
    """
    base = offsets[begin]
    for query in range(begin, end):
        low, high = offsets[query] - base, offsets[query + 1] - base
        total = 0.0
        for place in range(min(high - low, k)):
            total += value[low + place] * weight[place]
        out[query - begin] = total


@njit(nogil=True, cache=True)
def first_hit(start: Int64, first: Int32, last: Int32, relevant: Bool, weight: Float, cutoff: int, out: Float) -> None:
    """Write to ``out[q]`` the expected weight of the position of the first relevant item; it is 0 beyond the cut-off.

    ``start[q]:start[q + 1]`` are the marks (judged items) in list q, ``relevant`` says which are relevant, and mark m
    is tied over the positions ``first[m]`` to ``last[m]``. ``weight[p - 1]`` is the weight of position p. Of n tied
    places with r relevant items, place j (from 0) holds the first of these with probability r/(n-j) prod_{i<j}
    (n-r-i)/(n-i).
    """
    for query in range(start.size - 1):
        out[query] = 0.0
        mark, stop = start[query], start[query + 1]
        while mark < stop and first[mark] <= cutoff:
            top, size, hits = first[mark], last[mark] - first[mark] + 1, 0
            while mark < stop and first[mark] == top:
                hits += relevant[mark]
                mark += 1
            if hits == 0:
                continue
            none_yet = 1.0
            for place in range(min(size - hits, cutoff - top) + 1):
                here = none_yet * hits / (size - place)
                out[query] += here * weight[top - 1 + place]
                none_yet -= here
            break


@njit(nogil=True, cache=True)
def precision_sum(start: Int64, first: Int32, last: Int32, relevant: Bool, cutoff: Int64, out: Float) -> None:
    """Write to ``out[q]`` the expected sum of precision at the positions of relevant items, up to ``cutoff[q]``.

    ``start[q]:start[q + 1]`` are the marks (judged items) in list q, ``relevant`` says which are relevant, and mark m
    takes any position from ``first[m]`` to ``last[m]``. Each of n tied places holds a relevant item with probability
    r/n, and then (r-1)/(n-1) of the tied places above it do too (McSherry and Najork 2008).
    """
    for query in range(start.size - 1):
        total, above = 0.0, 0
        mark, stop = start[query], start[query + 1]
        while mark < stop and first[mark] <= cutoff[query]:
            top, size, hits = first[mark], last[mark] - first[mark] + 1, 0
            while mark < stop and first[mark] == top:
                hits += relevant[mark]
                mark += 1
            if hits == 0:
                continue
            share = hits / size
            others = (hits - 1) / (size - 1) if size > 1 else 0.0
            for place in range(min(np.int64(size), cutoff[query] - top + 1)):
                total += share * (above + 1 + place * others) / (top + place)
            above += hits
        out[query] = total


@njit(nogil=True, cache=True)
def cascade(start: Int64, rank: Int32, satisfied: Float, cutoff: int, out: Float) -> None:
    """Write to ``out[q]`` the expected reciprocal rank at which a reader who goes down list q stops.

    It is the sum over marks (judged items) of 1 / rank x the probability that the reader stops there and not before.
    ``start[q]:start[q + 1]`` are the marks of list q with their ``rank``; ``satisfied`` is the probability of stopping
    at a mark once it is read. Ranks beyond ``cutoff`` add nothing.
    """
    for query in range(start.size - 1):
        total, still_reading = 0.0, 1.0
        for mark in range(start[query], start[query + 1]):
            if rank[mark] > cutoff:
                break
            total += still_reading * satisfied[mark] / rank[mark]
            still_reading *= 1.0 - satisfied[mark]
        out[query] = total


@njit(nogil=True, cache=True)
def ordered_pairs(
    start: Int64, first: Int32, last: Int32, relevant: Bool, counted: Bool,
    negatives: Int64, shown: Int64, positives: Int64, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the number of (relevant, negative) pairs of query q in the right order; a tie counts half.

    ``start[q]:start[q + 1]`` are the marks (judged items) in list q, and mark m is tied over the positions ``first[m]``
    to ``last[m]``. ``relevant`` and ``counted`` say which marks are relevant and which are negatives; if ``counted`` is
    empty, every listed item that is not relevant is a negative. ``positives[q]`` and ``negatives[q]`` are the numbers
    of relevant items and of negatives of the query, listed or not, and ``shown[q]`` is the number of listed negatives.
    Items that the list does not hold are tied at its end.
    """
    for query in range(start.size - 1):
        total, above, found = 0.0, 0, 0
        mark, stop = start[query], start[query + 1]
        while mark < stop:
            top, size, hits, wrong = first[mark], last[mark] - first[mark] + 1, 0, 0
            while mark < stop and first[mark] == top:
                hits += relevant[mark]
                wrong += counted.size > 0 and counted[mark]
                mark += 1
            if counted.size == 0:
                above = top - 1 - found
                wrong = size - hits
            total += hits * (negatives[query] - above - 0.5 * wrong)
            above += wrong
            found += hits
        hidden = negatives[query] - shown[query]
        out[query] = total + (positives[query] - found) * 0.5 * hidden


@njit(nogil=True, cache=True)
def places_in_ranx(offsets: Int64, scores: Float, rows: Int32, begin: int, end: int, place: Int64) -> None:
    """Write to ``place[r]`` the position (from 0) that ranx gives row r within its list, ordered by descending score.

    The lists are those from ``begin`` up to ``end``; ``offsets[q]:offsets[q + 1]`` are the rows of list q, and ``rows``
    are their positions in the file. ranx sorts twice with numba's argsort, as this function does. That sort keeps the
    order of ties in lists of up to 15 rows and permutes them in longer ones.
    """
    for query in range(begin, end):
        first, last = offsets[query], offsets[query + 1]
        ties = False
        for row in range(first, last):
            place[row] = row - first
            ties |= row > first and scores[row] == scores[row - 1]
        if not ties:
            continue
        read = np.argsort(rows[first:last].astype(np.float64))
        keys = -scores[first:last][read]
        once = np.argsort(keys)
        found = read[once[np.argsort(keys[once])]]
        for at in range(last - first):
            place[first + found[at]] = at
