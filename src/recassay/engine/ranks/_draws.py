"""Draws of candidates by hashes of user and item ids, so that every system gets the same candidates.

Positions in tables play no part. A slow, readable implementation in ``tests/property/test_sampling.py`` must give the
same results.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar._hashes import mix, unit

Keys = NDArray[np.uint64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

UNIFORM, MASS, REPLACED = 0, 1, 2  # schemes: uniform, weighted without replacement, weighted with replacement
MIXED = 3  # scheme: half uniform, half weighted, all different
SECOND_HALF = np.uint64(0x9FB21C651E98DF25)  # makes the second half of a mixed draw independent of the first
TIES = np.uint64(0x5851F42D4C957F2D)  # makes the order of ties independent of the draw


@njit(nogil=True, cache=True)
def draw(
    scores: Float, keys: Keys, weight: Float, drawn: int, scheme: int, seeds: Keys, levels: Float, level_keys: Keys,
    above: Int32, place: Int32,
) -> np.uint64:  # fmt: skip
    """Count the items above each relevant item of one target set in every draw; return a checksum of the drawn items.

    A target set holds relevant items and the candidates drawn to rank them against. Candidates have ``scores``,
    ``keys`` (hashes of their ids) and weights ``weight``; relevant items have the scores ``levels`` and the hashes
    ``level_keys``. Each draw takes ``drawn`` candidates by the ``scheme`` UNIFORM, MASS, REPLACED or MIXED.
    ``seeds[d]`` is a hash of seed, draw d and user. The outputs are ``above[d, r]``, the number of drawn candidates
    above relevant item r (an item drawn twice counts twice), and ``place[d, r]``, the number of relevant items above
    it. Equal scores are ordered by a hash that each item gets once per draw.
    """
    check = np.uint64(0)
    chosen, tie = np.empty(drawn, np.int64), np.empty(levels.size, np.uint64)
    reach = np.cumsum(weight)
    for d in range(seeds.size):
        if scheme == REPLACED:
            pick_with_replacement(reach, seeds[d], chosen)
        elif scheme == MIXED:
            pick_mixed(keys, weight, seeds[d], chosen)
        else:
            pick_smallest(keys, weight, scheme, seeds[d], chosen)
        for r in range(levels.size):
            tie[r] = mix(mix(seeds[d] ^ level_keys[r] ^ TIES))
            above[d, r], place[d, r] = 0, 0
        for j in range(drawn):
            c = chosen[j]
            check += mix(seeds[d] ^ keys[c])
            own = mix(mix(seeds[d] ^ keys[c] ^ TIES))  # all copies of an item tie alike
            for r in range(levels.size):
                above[d, r] += scores[c] > levels[r] or (scores[c] == levels[r] and own > tie[r])
        for r in range(levels.size):
            for other in range(levels.size):
                place[d, r] += levels[other] > levels[r] or (levels[other] == levels[r] and tie[other] > tie[r])
    return check


@njit(nogil=True, cache=True)
def pick_smallest(keys: Keys, weight: Float, scheme: int, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` the positions of the candidates with the smallest random numbers, without replacement.

    Each candidate's number depends on its hash in ``keys``, the ``seed`` and, for the ``scheme`` MASS, its ``weight``
    (Efraimidis and Spirakis 2006). So a smaller sample is part of a larger one.
    """
    if chosen.size == 0:
        return
    number = np.empty(keys.size)
    for c in range(keys.size):
        number[c] = unit(mix(seed ^ keys[c]))
        if scheme == MASS:
            number[c] = -math.log(number[c]) / weight[c] if weight[c] > 0 else np.inf
    last = np.inf if chosen.size == keys.size else np.partition(number, chosen.size - 1)[chosen.size - 1]
    filled = 0
    for c in range(keys.size):
        if number[c] <= last and filled < chosen.size:
            chosen[filled] = c
            filled += 1


@njit(nogil=True, cache=True)
def pick_mixed(keys: Keys, weight: Float, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` positions of different candidates: the first half drawn uniformly, the rest by ``weight``.

    Of an odd number, one more is drawn uniformly. Hashes ``keys`` and ``seed`` give the random numbers.
    """
    half = (chosen.size + 1) // 2
    pick_smallest(keys, weight, UNIFORM, seed, chosen[:half])
    left = weight.copy()
    left[chosen[:half]] = 0
    pick_smallest(keys, left, MASS, mix(seed ^ SECOND_HALF), chosen[half:])


@njit(nogil=True, cache=True)
def pick_with_replacement(reach: Float, seed: np.uint64, chosen: Int64) -> None:
    """Write to ``chosen`` positions of candidates drawn with replacement, by weights whose running sum is ``reach``.

    The ``seed`` is a hash of seed, draw and user, from which the random numbers are computed.
    """
    for j in range(chosen.size):
        at = unit(mix(seed + mix(np.uint64(j)))) * reach[-1]
        chosen[j] = min(np.searchsorted(reach, at, side="right"), reach.size - 1)
