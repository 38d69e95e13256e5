"""Counter-based random numbers for compiled loops.

A number depends only on the key it is drawn for, never on the order of calls, so threads and block sizes do not change
results. Readable reference versions are in ``tests/property/test_hashes.py``; ``mix`` of whole arrays is
:func:`recassay.columnar.identity.mix`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar.identity import SECOND
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


@njit(nogil=True, cache=True, inline="always")
def hash_item(key: np.uint64) -> np.uint64:
    """Return the hash of an item's key, which differs from that of a user with the same key."""
    return mix(key ^ SECOND)


@njit(nogil=True, cache=True)
def add_list_digests(
    offsets: NDArray[np.int64], users: NDArray[np.uint64], items: NDArray[np.int32], item_keys: NDArray[np.uint64],
    values: NDArray[np.uint64], begin: int, end: int, sums: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Add to ``sums`` two hashes of each row of the lists ``begin`` to ``end``; the order of rows does not matter.

    List q has the rows ``offsets[q]`` to ``offsets[q + 1]``. ``users`` has a key per list, ``values`` one per row, or a
    single one that all rows have. ``item_keys`` has a hash per item code; if it is empty, the code itself is hashed.
    """
    first, second, alike = np.uint64(0), np.uint64(0), values.size == 1
    for q in range(begin, end):
        one = mix(mix(users[q]) ^ np.uint64(1))
        two = mix(mix(users[q]) ^ np.uint64(2))
        for row in range(offsets[q], offsets[q + 1]):
            code = items[row]
            key = item_keys[code] if item_keys.size else hash_item(np.uint64(np.int64(code)))
            key += values[0 if alike else row] * np.uint64(0x9E3779B97F4A7C15)
            first += mix(one + key)
            second += mix(two + key)
    sums[0] += first
    sums[1] += second
