"""Compiled loops over the items of lists and of profiles. Single-threaded, arrays in, arrays out, no validation.

``offsets[q]:offsets[q+1]`` are the places of list q; ``rows`` are their items as row numbers in the table of features,
or -1. ``feature_offsets`` and ``feature_codes`` are the features of each item, ascending; ``masks`` holds the same as
bits, if 64 bits are enough.

Tests compare each loop with a slow, readable implementation in ``tests/property/test_beyond.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar._sets import distance, is_empty_set

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Words = NDArray[np.uint64]
Table = NDArray[np.float64]


@njit(nogil=True, cache=True)
def in_profile(profile_offsets: Int64, profile_items: Int32, user: Int32, item: Int32, out: Bool) -> None:
    """Write to ``out[i]`` whether ``item[i]`` is in the profile of ``user[i]``.

    ``profile_offsets[u]:profile_offsets[u + 1]`` are the ``profile_items`` of user u, ascending.
    """
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
    """Return the distance of items ``one`` and ``other``, from ``table`` if it is not empty, else from their features.

    The distance is 1 if one of the items has no features, or the row -1 (not in the table of features). ``cosine``
    chooses cosine instead of Jaccard distance. The features of row r are
    ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``, and ``masks[r]``, unless ``masks`` is empty, the same
    as bits.
    """
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
    """Write to ``out[q]`` the mean distance over the unordered pairs of items of list q; NaN without a pair.

    ``offsets[q]:offsets[q + 1]`` are the places of list q, and ``rows`` the item at each place (-1: unknown). Distances
    are from ``table``, or, if it is empty, from the features of items (``cosine`` or Jaccard): those of item r are
    ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``, and ``masks[r]``, unless ``masks`` is empty, the same
    as bits. With ``skip``, items without features are ignored.
    """
    for query in range(offsets.size - 1):
        total, pairs = 0.0, 0
        for place in range(offsets[query], offsets[query + 1]):
            if skip and is_empty_set(feature_offsets, rows[place]):
                continue
            for above in range(offsets[query], place):
                if skip and is_empty_set(feature_offsets, rows[above]):
                    continue
                pairs += 1
                total += _apart(masks, feature_offsets, feature_codes, table, cosine, rows[above], rows[place])
        out[query] = total / pairs if pairs else np.nan


@njit(nogil=True, cache=True)
def expected_distance(
    offsets: Int64, rows: Int32, gain: Float, discount: Float,
    masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Table, cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` sum_p d(p) g_p D_p / sum_p d(p); D_p is a mean distance of the item at place p to others.

    d is ``discount`` and g is ``gain``. In D_p another place r has the weight g_r d(max(1, r - p)), so places above p
    and the next one below are not discounted. ``offsets[q]:offsets[q + 1]`` are the places of list q, and ``rows`` the
    item at each place. Distances are from ``table``, or, if it is empty, from the features of items (``cosine`` or
    Jaccard): those of item i are ``feature_codes[feature_offsets[i]:feature_offsets[i + 1]]``, and ``masks[i]``, unless
    ``masks`` is empty, the same as bits. With ``skip``, items without features are left out of all sums.
    """
    for query in range(offsets.size - 1):
        top, stop = offsets[query], offsets[query + 1]
        total, weight, counted = 0.0, 0.0, 0
        for place in range(top, stop):
            if skip and is_empty_set(feature_offsets, rows[place]):
                continue
            counted += 1
            weight += discount[place - top]
            if gain[place] == 0:
                continue
            near, away = 0.0, 0.0
            for other in range(top, stop):
                if other == place or (skip and is_empty_set(feature_offsets, rows[other])):
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
    """Write to ``out[q]`` the mean over the items of list q of their mean distance to the items of the user's profile.

    ``offsets[q]:offsets[q + 1]`` are the places of list q, with their ``items`` and the ``rows`` of these items in the
    table of features. ``user[q]`` is the user's number u in the log, whose ``profile_items`` are those from
    ``profile_offsets[u]`` up to ``profile_offsets[u + 1]``; ``profile_rows`` is the row in the table of features of
    each item of the log. Distances are from ``table``, or, if it is empty, from the features of items (``cosine`` or
    Jaccard): those of row r are ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``, and ``masks[r]``, unless
    ``masks`` is empty, the same as bits. With ``skip``, items without features are ignored.
    """
    for query in range(offsets.size - 1):
        total, counted = 0.0, 0
        for place in range(offsets[query], offsets[query + 1]):
            if user[query] < 0 or (skip and is_empty_set(feature_offsets, rows[place])):
                continue
            away, pairs = 0.0, 0
            for near in range(profile_offsets[user[query]], profile_offsets[user[query] + 1]):
                liked = profile_items[near]
                if skip and is_empty_set(feature_offsets, profile_rows[liked]):
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
    """Write to ``out[q]`` the number of different features among the ``counted`` items of list q.

    ``offsets[q]:offsets[q + 1]`` are the places of list q, ``rows`` the item at each place, and
    ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]`` the features of item r. Their codes are below
    ``features``.
    """
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
