"""Draws of candidates by hashes of who and what, never of places: every system meets the same candidates.

Held to the readable twin in ``tests/property/test_sampling.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._hashes import mix, unit
from recassay.portable._kernels import log

Keys = NDArray[np.uint64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

UNIFORM, MASS, REPLACED = 0, 1, 2  # laws: by chance, by weight without replacement, by weight with replacement
TIES = np.uint64(0x5851F42D4C957F2D)  # sets the order of ties apart from the draw


@njit(nogil=True, cache=True)
def draw(
    scores: Float, keys: Keys, weight: Float, drawn: int, law: int, seeds: Keys, levels: Float, level_keys: Keys,
    above: Int32, place: Int32,
) -> np.uint64:  # fmt: skip
    """What stands above each relevant item of one group in every draw; returns a checksum of what was drawn.

    Candidates have ``scores``, ``keys`` (hashes of their ids) and weights; relevant items ``levels`` and
    ``level_keys``. ``seeds[d]`` is a hash of seed, draw and user. ``above[d, r]`` counts drawn candidates above
    relevant item r, each as often as it was drawn, and ``place[d, r]`` relevant ones; equal scores are in the order of
    hashes, which an item has one of.
    """
    check = np.uint64(0)
    chosen, tie = np.empty(drawn, np.int64), np.empty(levels.size, np.uint64)
    reach = np.cumsum(weight)
    for d in range(seeds.size):
        if law == REPLACED:
            pick_again(reach, seeds[d], chosen)
        else:
            pick_smallest(keys, weight, law, seeds[d], chosen)
        for r in range(levels.size):
            tie[r] = mix(mix(seeds[d] ^ level_keys[r] ^ TIES))
            above[d, r], place[d, r] = 0, 0
        for j in range(drawn):
            c = chosen[j]
            check += mix(seeds[d] ^ keys[c])
            own = mix(mix(seeds[d] ^ keys[c] ^ TIES))  # all copies of an item have its one place
            for r in range(levels.size):
                above[d, r] += scores[c] > levels[r] or (scores[c] == levels[r] and own > tie[r])
        for r in range(levels.size):
            for other in range(levels.size):
                place[d, r] += levels[other] > levels[r] or (levels[other] == levels[r] and tie[other] > tie[r])
    return check


@njit(nogil=True, cache=True)
def pick_smallest(keys: Keys, weight: Float, law: int, seed: np.uint64, chosen: Int64) -> None:
    """The candidates with the smallest keys: sets are nested in their size (Efraimidis and Spirakis 2006)."""
    if chosen.size == 0:
        return
    number = np.empty(keys.size)
    for c in range(keys.size):
        number[c] = unit(mix(seed ^ keys[c]))
        if law == MASS:
            number[c] = -log(number[c]) / weight[c] if weight[c] > 0 else np.inf
    last = np.inf if chosen.size == keys.size else np.partition(number, chosen.size - 1)[chosen.size - 1]
    filled = 0
    for c in range(keys.size):
        if number[c] <= last and filled < chosen.size:
            chosen[filled] = c
            filled += 1


@njit(nogil=True, cache=True)
def pick_again(reach: Float, seed: np.uint64, chosen: Int64) -> None:
    """Draws in proportion to weights, whose running sum is ``reach``; an item may come again."""
    for j in range(chosen.size):
        at = unit(mix(seed + mix(np.uint64(j)))) * reach[-1]
        chosen[j] = min(np.searchsorted(reach, at, side="right"), reach.size - 1)
