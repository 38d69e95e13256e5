"""Sums over resampled units: bootstrap draws and sign flips of many columns at once, the same for any thread count.

Every resample is a pure function of (seed, number of units, index of the resample), so columns handled in one call
share their resamples, and blocks of resamples can be spread over threads without changing a bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.rng import derive, derive_seed

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]  # (blocks done, blocks in all)


@dataclass(frozen=True)
class How:
    """How to resample: what is drawn (seed, resamples) and what it takes (threads: all cores unless said)."""

    seed: int = 0
    resamples: int | str = "auto"
    threads: int | None = None
    progress: Progress | None = None

    def count(self, automatic: int) -> int:
        """The number of resamples, given what "auto" stands for.

        >>> How().count(10_000)
        10000
        """
        if self.resamples == "auto":
            return automatic
        if not isinstance(self.resamples, int) or self.resamples < 1:
            what = f"{self.resamples!r} resamples cannot be drawn"
            raise UsageError("U102", what, hint="'auto' or a positive whole number")
        return self.resamples


# Constants of the random streams and of the order of addition: a change here changes results.
CHUNK = 1024  # units drawn and added together: their counts stay in the fastest cache
LANES = 8  # resamples added side by side, one register lane each
BOOTSTRAP_BLOCK = 256  # resamples per task, a multiple of LANES
FLIP_BLOCK = 2048  # resamples per task
WORD = 64  # units whose signs are the bits of one random word

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """The output function of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(nogil=True, cache=True)
def _add_lanes(columns, j, start, size, times, sums, r):  # type: ignore[no-untyped-def]
    """sums[j, r + lane] += columns[j, start:start+size] . times[:, lane]; written out to keep lanes in registers."""
    s0, s1, s2, s3 = sums[j, r], sums[j, r + 1], sums[j, r + 2], sums[j, r + 3]
    s4, s5, s6, s7 = sums[j, r + 4], sums[j, r + 5], sums[j, r + 6], sums[j, r + 7]
    for i in range(size):
        x = columns[j, start + i]
        s0, s1, s2, s3 = s0 + x * times[i, 0], s1 + x * times[i, 1], s2 + x * times[i, 2], s3 + x * times[i, 3]
        s4, s5, s6, s7 = s4 + x * times[i, 4], s5 + x * times[i, 5], s6 + x * times[i, 6], s7 + x * times[i, 7]
    sums[j, r], sums[j, r + 1], sums[j, r + 2], sums[j, r + 3] = s0, s1, s2, s3
    sums[j, r + 4], sums[j, r + 5], sums[j, r + 6], sums[j, r + 7] = s4, s5, s6, s7


@njit(nogil=True, cache=True)
def _bootstrap_block(columns, draws, first, key, sums):  # type: ignore[no-untyped-def]
    """Add to sums (m, R) the resampled sums of columns (m, n), draws (R, chunks) of them from each chunk."""
    m, n = columns.shape
    # A unit is drawn once per resample on average, so 255 is out of reach unless n < 256, and then n is the bound.
    counts = np.empty((CHUNK, LANES), np.uint8)
    times = np.empty((CHUNK, LANES), np.float64)
    for chunk in range(draws.shape[1]):
        start = chunk * CHUNK
        size = min(CHUNK, n - start)
        for r in range(0, draws.shape[0], LANES):
            for i in range(size):
                for lane in range(LANES):
                    counts[i, lane] = 0
            for lane in range(LANES):
                state = _mix(_mix(key + np.uint64(first + r + lane) * _GOLDEN) + np.uint64(chunk) * _GOLDEN)
                word = np.uint64(0)
                for draw in range(draws[r + lane, chunk]):  # one 64-bit word makes two draws
                    if draw & 1:
                        word >>= np.uint64(32)
                    else:
                        state += _GOLDEN
                        word = _mix(state)
                    counts[((word & np.uint64(0xFFFFFFFF)) * np.uint64(size)) >> np.uint64(32), lane] += 1
            for i in range(size):
                for lane in range(LANES):
                    times[i, lane] = counts[i, lane]
            for j in range(m):
                _add_lanes(columns, j, start, size, times, sums, r)


@njit(nogil=True, cache=True)
def _flip_block(columns, first, key, sums):  # type: ignore[no-untyped-def]
    """Add to sums (m, R) the sums of columns (m, n) under random signs; n is a multiple of WORD.

    Eight units have 256 possible signed sums: a table of them turns eight additions into one look-up by a random byte.
    """
    m, n = columns.shape
    resamples = sums.shape[1]
    words = np.empty(resamples, np.uint64)
    table = np.empty((8, 256), np.float64)
    for w in range(n // WORD):
        for r in range(resamples):
            words[r] = _mix(_mix(key + np.uint64(first + r) * _GOLDEN) + np.uint64(w + 1) * _GOLDEN)
        for j in range(m):
            for group in range(8):
                unit = w * WORD + group * 8
                table[group, 0] = 0.0
                for bit in range(8):
                    table[group, 0] -= columns[j, unit + bit]
                for bit in range(8):
                    half = 1 << bit
                    twice = 2.0 * columns[j, unit + bit]
                    for pattern in range(half):
                        table[group, half + pattern] = table[group, pattern] + twice
            for r in range(resamples):
                word = words[r]
                total = 0.0
                for group in range(8):
                    total += table[group, (word >> np.uint64(8 * group)) & np.uint64(255)]
                sums[j, r] += total


def bootstrap_sums(columns: Floats, resamples: int, how: How) -> Floats:
    """Sums (m, resamples) of columns (m, n) over n units drawn with replacement.

    A resample first draws how many of its n draws fall into each chunk of 1,024 units (multinomial), then the units
    in each chunk, whose chances are equal to one part in four million.

    >>> sums = bootstrap_sums(np.ones((1, 5)), 1000, How(seed=1))
    >>> float(sums.min()), float(sums.max())
    (5.0, 5.0)
    """
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    m, n = columns.shape
    sizes = np.diff(np.append(np.arange(0, n, CHUNK), n))
    key = _key(how.seed, "bootstrap", n)

    def block(first: int) -> Floats:
        draws = derive(how.seed, "bootstrap", n, first).multinomial(n, sizes / n, size=BOOTSTRAP_BLOCK)
        sums = np.zeros((m, BOOTSTRAP_BLOCK))
        _bootstrap_block(columns, draws, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, BOOTSTRAP_BLOCK, how)


def flipped_sums(columns: Floats, resamples: int, how: How) -> Floats:
    """Sums (m, resamples) of columns (m, n) after giving each unit a random sign, the same signs in every column.

    >>> bool(np.all(np.abs(flipped_sums(np.ones((1, 3)), 100, How(seed=1))) <= 3))
    True
    """
    m, n = columns.shape
    padded = np.zeros((m, -(-n // WORD) * WORD))
    padded[:, :n] = columns
    key = _key(how.seed, "flips", n)

    def block(first: int) -> Floats:
        sums = np.zeros((m, FLIP_BLOCK))
        _flip_block(padded, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, FLIP_BLOCK, how)


def all_sign_patterns(n: int) -> Floats:
    """The 2^n rows of n signs.

    >>> all_sign_patterns(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return bits.astype(np.float64) * 2 - 1


def _key(seed: int, purpose: str, n: int) -> np.uint64:
    return np.uint64(derive_seed(seed, purpose, n) & 0xFFFFFFFFFFFFFFFF)


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _over_blocks(block: Callable[[int], Floats], m: int, resamples: int, size: int, how: How) -> Floats:
    """Fill (m, resamples) block by block. Whole blocks are always computed, so a prefix never depends on the total."""
    firsts = range(0, resamples, size)
    out = np.empty((m, resamples))

    def fill(first: int) -> None:
        out[:, first : first + size] = block(first)[:, : resamples - first]

    with ThreadPoolExecutor(max_workers=how.threads or _available_cores()) as pool:
        for done, _ in enumerate(pool.map(fill, firsts), start=1):
            if how.progress is not None:
                how.progress(done, len(firsts))
    return out
