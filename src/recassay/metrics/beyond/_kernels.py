"""Loops over the items of lists and of profiles. Single-threaded, arrays in, arrays out, no validation.

``offsets[q]:offsets[q+1]`` are the places of list q; ``rows`` is the item with features that stands there, or -1.
``feature_offsets`` and ``feature_codes`` are the features of each such item, ascending; ``masks`` the same as bits,
if 64 bits are enough.
Each loop has a readable twin in ``tests/property/test_beyond.py`` that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._sets import distance, is_bare

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Words = NDArray[np.uint64]
Table = NDArray[np.float64]


@njit(nogil=True, cache=True)
def in_profile(profile_offsets: Int64, profile_items: Int32, user: Int32, item: Int32, out: Bool) -> None:
    """Whether each item is in the profile (ascending) of the user beside it."""
    for row in range(item.size):
        out[row] = False
        if user[row] < 0 or item[row] < 0:
            continue
        low, high = profile_offsets[user[row]], profile_offsets[user[row] + 1]
        while low < high:
            middle = (low + high) // 2
            if profile_items[middle] < item[row]:
                low = middle + 1
            else:
                high = middle
        out[row] = low < profile_offsets[user[row] + 1] and profile_items[low] == item[row]


@njit(nogil=True, inline="always")
def _apart(
    masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Table, cosine: bool, one: int, other: int
) -> float:
    """The distance of two items, from a table if there is one, else from their features; 1 if one has nothing."""
    if one >= 0 and one == other:
        return 0.0
    if table.shape[0] == 0:
        return distance(masks, feature_offsets, feature_codes, one, other, cosine)
    return float(table[one, other]) if one >= 0 and other >= 0 else 1.0


@njit(nogil=True, cache=True)
def pair_distance(
    offsets: Int64, rows: Int32, masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Table,
    cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Mean distance over the unordered pairs of each list; NaN without a pair. ``skip`` leaves out bare items."""
    for query in range(offsets.size - 1):
        total, pairs = 0.0, 0
        for place in range(offsets[query], offsets[query + 1]):
            if skip and is_bare(feature_offsets, rows[place]):
                continue
            for above in range(offsets[query], place):
                if skip and is_bare(feature_offsets, rows[above]):
                    continue
                pairs += 1
                total += _apart(masks, feature_offsets, feature_codes, table, cosine, rows[above], rows[place])
        out[query] = total / pairs if pairs else np.nan


@njit(nogil=True, cache=True)
def expected_distance(
    offsets: Int64, rows: Int32, gain: Float, discount: Float,
    masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Table, cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Mean over the places of each list, by discount, of gain times the expected distance to the other places.

    The weight of another place is its gain, discounted by how far below it stands: not at all above, nor right below.
    """
    for query in range(offsets.size - 1):
        top, stop = offsets[query], offsets[query + 1]
        total, weight, counted = 0.0, 0.0, 0
        for place in range(top, stop):
            if skip and is_bare(feature_offsets, rows[place]):
                continue
            counted += 1
            weight += discount[place - top]
            if gain[place] == 0:
                continue
            near, away = 0.0, 0.0
            for other in range(top, stop):
                if other == place or (skip and is_bare(feature_offsets, rows[other])):
                    continue
                own = discount[max(0, other - place - 1)] * gain[other]
                near += own
                away += own * _apart(masks, feature_offsets, feature_codes, table, cosine, rows[place], rows[other])
            if near > 0:
                total += discount[place - top] * gain[place] * away / near
        out[query] = total / weight if counted > 1 else np.nan


@njit(nogil=True, cache=True)
def profile_distance(
    offsets: Int64, rows: Int32, items: Int32, user: Int32, profile_offsets: Int64, profile_items: Int32,
    profile_rows: Int32, masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Table,
    cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Mean over the items of a list of their mean distance to the items of the user's profile."""
    for query in range(offsets.size - 1):
        total, counted = 0.0, 0
        for place in range(offsets[query], offsets[query + 1]):
            if user[query] < 0 or (skip and is_bare(feature_offsets, rows[place])):
                continue
            away, pairs = 0.0, 0
            for near in range(profile_offsets[user[query]], profile_offsets[user[query] + 1]):
                liked = profile_items[near]
                if skip and is_bare(feature_offsets, profile_rows[liked]):
                    continue
                pairs += 1
                if liked != items[place]:
                    other = profile_rows[liked]
                    away += _apart(masks, feature_offsets, feature_codes, table, cosine, rows[place], other)
            if pairs:
                total += away / pairs
                counted += 1
        out[query] = total / counted if counted else np.nan


@njit(nogil=True, cache=True)
def distinct_features(
    offsets: Int64, rows: Int32, counted: Bool, feature_offsets: Int64, feature_codes: Int32, features: int, out: Float
) -> None:
    """Number of different features among the counted items of each list."""
    last_seen = np.full(features, -1, np.int64)
    for query in range(offsets.size - 1):
        found = 0
        for place in range(offsets[query], offsets[query + 1]):
            if not counted[place] or rows[place] < 0:
                continue
            for at in range(feature_offsets[rows[place]], feature_offsets[rows[place] + 1]):
                found += last_seen[feature_codes[at]] != query
                last_seen[feature_codes[at]] = query
        out[query] = found


@njit(nogil=True, inline="always")
def _add_shares(feature_offsets: Int64, feature_codes: Int32, row: int, weight: float, shares: Float) -> float:
    """Spread the weight of an item evenly over its features; returns what was spread."""
    if is_bare(feature_offsets, row):
        return 0.0
    first, last = feature_offsets[row], feature_offsets[row + 1]
    for at in range(first, last):
        shares[feature_codes[at]] += weight / (last - first)
    return weight


@njit(nogil=True, cache=True)
def taste(
    starts: Int64, stops: Int64, rows: Int32, weight: Float, feature_offsets: Int64, feature_codes: Int32, out: Float
) -> None:
    """The weighted mean, over the items starts[q]..stops[q], of the item's features sharing 1; NaN where none has any.

    An empty ``weight`` weighs all alike.
    """
    for query in range(starts.size):
        total = 0.0
        out[query, :] = 0.0
        for place in range(starts[query], stops[query]):
            own = weight[place] if weight.size else 1.0
            total += _add_shares(feature_offsets, feature_codes, rows[place], own, out[query])
        for feature in range(out.shape[1]):
            out[query, feature] = out[query, feature] / total if total > 0 else np.nan
