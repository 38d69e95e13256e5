"""Counter-based random numbers for compiled loops.

A number depends only on the key it is drawn for, never on the order of calls, so threads and block sizes do not change
results. Readable reference versions are in ``tests/property/test_hashes.py``; ``mix`` of whole arrays is
:func:`recassay.columnar.identity.mix`.
"""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.portable._tails import normal_quantile


@njit(nogil=True, cache=True, inline="always")
def mix(key: np.uint64) -> np.uint64:
    """Return the hash of a key: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(nogil=True, cache=True, inline="always")
def unit(key: np.uint64) -> float:
    """Return a random number above 0 and at most 1, made of the hash ``key`` (its upper 53 bits)."""
    return (np.float64(key >> np.uint64(11)) + 0.5) * 2.0**-53


@njit(nogil=True, cache=True, inline="always")
def below(key: np.uint64, bound: int) -> np.int64:
    """Return a random whole number from 0 to bound - 1, made of the hash ``key`` (its upper 32 bits).

    The bias is at most bound / 2^32.
    """
    return np.int64(((key >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(nogil=True, cache=True, inline="always")
def normal(key: np.uint64) -> np.float64:
    """Return a standard normal random number, made of the hash ``key`` by the quantile function."""
    return np.float64(normal_quantile((np.float64(key >> np.uint64(12)) + 0.5) * 2.0**-52))  # 0 and 1 cannot occur
