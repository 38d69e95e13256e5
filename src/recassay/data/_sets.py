"""How far two sets are from each other: loops that loops over items are made of.

``offsets`` and ``codes`` are the members of each set, ascending; ``masks`` the same as bits, if 64 bits are enough.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Words = NDArray[np.uint64]


@njit(nogil=True, inline="always")
def bits_set(word: np.uint64) -> int:
    """Number of bits that are 1."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True, inline="always")
def shared_members(masks: Words, offsets: Int64, codes: Int32, one: int, other: int) -> int:
    """Number of members of both sets."""
    if masks.size:
        return bits_set(masks[one] & masks[other])
    left, right, shared = offsets[one], offsets[other], 0
    while left < offsets[one + 1] and right < offsets[other + 1]:
        difference = codes[left] - codes[right]
        shared += difference == 0
        left += difference <= 0
        right += difference >= 0
    return shared


@njit(nogil=True, inline="always")
def sets_distance(shared: int, left: int, right: int, cosine: bool) -> float:
    """Jaccard or cosine distance of two sets that are not empty, from their sizes and what they share."""
    if cosine:
        return float(1.0 - shared / np.sqrt(left * right))
    return float(1.0 - shared / (left + right - shared))


@njit(nogil=True, inline="always")
def is_bare(offsets: Int64, row: int) -> bool:
    """Whether a set is empty, or there is none (row -1)."""
    return row < 0 or offsets[row] == offsets[row + 1]


@njit(nogil=True, inline="always")
def distance(masks: Words, offsets: Int64, codes: Int32, one: int, other: int, cosine: bool) -> float:
    """Jaccard or cosine distance of two sets; 1 if one of them is empty."""
    if is_bare(offsets, one) or is_bare(offsets, other):
        return 1.0
    shared = shared_members(masks, offsets, codes, one, other)
    return sets_distance(shared, offsets[one + 1] - offsets[one], offsets[other + 1] - offsets[other], cosine)


@njit(nogil=True, cache=True)
def interests(
    profile_offsets: Int64, profile_items: Int32, profile_rows: Int32, feature_offsets: Int64, feature_codes: Int32,
    users: Int32, out: Float,
) -> int:  # fmt: skip
    """Share of each feature among all features of the items of each user's profile; alike where there is none.

    Returns the number of users whose shares are alike for want of a feature.
    """
    lost = 0
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
            lost += 1
            out[query, :] = 1.0 / max(out.shape[1], 1)
    return lost
