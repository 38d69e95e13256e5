"""Jaccard and cosine distances between sets, as building blocks of compiled loops over items.

Set s has the members ``codes[offsets[s]:offsets[s + 1]]``, ascending. ``masks[s]`` has the same members as bits of a
64-bit word; ``masks`` is empty if the sets have more than 64 different members.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Words = NDArray[np.uint64]


@njit(nogil=True, inline="always")
def count_bits(word: np.uint64) -> int:
    """Return the number of bits that are 1."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True, inline="always")
def shared_members(masks: Words, offsets: Int64, codes: Int32, one: int, other: int) -> int:
    """Return the number of members that the sets numbered ``one`` and ``other`` have in common.

    Set s has the members ``codes[offsets[s]:offsets[s + 1]]``, ascending, and as bits of the word ``masks[s]``;
    ``masks`` is empty if a word cannot hold all members.
    """
    if masks.size:
        return count_bits(masks[one] & masks[other])
    left, right, shared = offsets[one], offsets[other], 0
    while left < offsets[one + 1] and right < offsets[other + 1]:
        difference = codes[left] - codes[right]
        shared += difference == 0
        left += difference <= 0
        right += difference >= 0
    return shared


@njit(nogil=True, inline="always")
def distance_from_sizes(shared: int, left: int, right: int, cosine: bool) -> float:
    """Return the distance of two non-empty sets with ``left`` and ``right`` members, ``shared`` of them in common.

    It is the cosine distance if ``cosine``, else the Jaccard distance.
    """
    if cosine:
        return float(1.0 - shared / np.sqrt(left * right))
    return float(1.0 - shared / (left + right - shared))


@njit(nogil=True, inline="always")
def is_empty_set(offsets: Int64, row: int) -> bool:
    """Return whether the set ``row``, with members ``offsets[row]`` to ``offsets[row + 1]`` - 1, is empty.

    Row -1 is an unknown item, whose set is empty.
    """
    return row < 0 or offsets[row] == offsets[row + 1]


@njit(nogil=True, inline="always")
def distance(masks: Words, offsets: Int64, codes: Int32, one: int, other: int, cosine: bool) -> float:
    """Return the distance of the sets numbered ``one`` and ``other``; 1 if one of them is empty.

    It is the cosine distance if ``cosine``, else the Jaccard distance. Set s has the members
    ``codes[offsets[s]:offsets[s + 1]]``, ascending, and as bits of the word ``masks[s]``; ``masks`` is empty if a word
    cannot hold all members.
    """
    if is_empty_set(offsets, one) or is_empty_set(offsets, other):
        return 1.0
    shared = shared_members(masks, offsets, codes, one, other)
    return distance_from_sizes(shared, offsets[one + 1] - offsets[one], offsets[other + 1] - offsets[other], cosine)


@njit(nogil=True, cache=True)
def feature_shares(
    profile_offsets: Int64, profile_items: Int32, profile_rows: Int32, feature_offsets: Int64, feature_codes: Int32,
    users: Int32, out: Float,
) -> int:  # fmt: skip
    """Write to ``out`` (users, features) each feature's share among all features of the items in a user's profile.

    Row u of ``out`` is for user ``users[u]``. ``profile_offsets[v]:profile_offsets[v + 1]`` are the rows of user v in
    ``profile_items``. ``profile_rows`` has the row of each item in the feature table, and ``feature_offsets[r]:
    feature_offsets[r + 1]`` the ``feature_codes`` of row r. A user whose profile has no feature gets equal shares;
    return the number of such users.
    """
    without = 0
    for query in range(users.size):
        out[query, :] = 0.0
        total = 0
        if users[query] >= 0:
            for place in range(profile_offsets[users[query]], profile_offsets[users[query] + 1]):
                row = profile_rows[profile_items[place]]
                if row >= 0:
                    for at in range(feature_offsets[row], feature_offsets[row + 1]):
                        out[query, feature_codes[at]] += 1.0
                        total += 1
        if total:
            for feature in range(out.shape[1]):
                out[query, feature] /= total
        else:
            without += 1
            out[query, :] = 1.0 / max(out.shape[1], 1)
    return without


@njit(nogil=True, inline="always")
def _add_shares(feature_offsets: Int64, feature_codes: Int32, row: int, weight: float, shares: Float) -> float:
    """Divide ``weight`` equally among the features of an item, and add the parts to ``shares`` in place.

    Return ``weight``, or 0 if the item has no features. The item's features are ``feature_codes[feature_offsets[row]:
    feature_offsets[row + 1]]``; row -1 is an unknown item.
    """
    if is_empty_set(feature_offsets, row):
        return 0.0
    first, last = feature_offsets[row], feature_offsets[row + 1]
    for at in range(first, last):
        shares[feature_codes[at]] += weight / (last - first)
    return weight


@njit(nogil=True, cache=True)
def mean_shares(
    starts: Int64, stops: Int64, rows: Int32, weight: Float, feature_offsets: Int64, feature_codes: Int32, out: Float
) -> None:
    """Write to ``out[q]`` the weighted mean of the feature shares of the items ``rows[starts[q]:stops[q]]``.

    The features of an item have equal shares that sum to 1. ``rows`` are rows of the feature table: row r has the
    features ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``. ``weight`` has a number for each element of
    ``rows``; if it is empty, all items weigh the same. Without any feature the row of ``out`` is NaN.
    """
    for query in range(starts.size):
        total = 0.0
        out[query, :] = 0.0
        for place in range(starts[query], stops[query]):
            own = weight[place] if weight.size else 1.0
            total += _add_shares(feature_offsets, feature_codes, rows[place], own, out[query])
        for feature in range(out.shape[1]):
            out[query, feature] = out[query, feature] / total if total > 0 else np.nan
