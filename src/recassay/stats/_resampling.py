"""Compiled kernels of the bootstrap and of sign flips.

They take columns and a random key and add to arrays of sums. The readable versions they are compared with are in
``tests/unit/stats/test_resampling.py``.
"""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit

# These constants fix the random streams and the order of addition: a change here changes results.
CHUNK = 1024  # units drawn and added together: their counts stay in a fast cache
LANES = 64  # resamples added side by side: enough independent sums for the compiler to use wide registers
TILE = 64  # units whose counts are turned into floats at a time
TOGETHER = 8  # units added in one expression
WORD = 64  # units whose signs are the bits of one random word

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """Return the SplitMix64 hash of a 64-bit word (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def _count(counts, lane, draws, state, units):  # type: ignore[no-untyped-def]
    """Draw ``draws`` of ``units`` units at random and add to ``counts[u, lane]`` how often unit u was drawn.

    ``state`` is the seed. One 64-bit word gives two draws.
    """
    for _ in range(draws // 2):
        state += _GOLDEN
        word = _mix(state)
        counts[((word & _LOW) * units) >> _HALF, lane] += 1
        counts[((word >> _HALF) * units) >> _HALF, lane] += 1
    if draws % 2:
        counts[((_mix(state + _GOLDEN) & _LOW) * units) >> _HALF, lane] += 1


@njit(nogil=True, cache=True)
def _add(columns, j, start, times, sums, r):  # type: ignore[no-untyped-def]
    """Add the units ``start``, ``start + 1``, ... to the sums of column j, each as often as it was drawn.

    ``times[i, lane]`` is how often unit ``start + i``, whose value is ``columns[j, start + i]``, was drawn in resample
    ``r + lane``. The products are added to ``sums[j, r + lane]``, eight units at a time, for LANES resamples.
    """
    row = sums[j, r : r + LANES]
    for i in range(0, times.shape[0], TOGETHER):
        x0, x1, x2, x3 = columns[j, start], columns[j, start + 1], columns[j, start + 2], columns[j, start + 3]
        x4, x5, x6, x7 = columns[j, start + 4], columns[j, start + 5], columns[j, start + 6], columns[j, start + 7]
        start += TOGETHER
        for lane in range(LANES):
            a, b = x0 * times[i, lane] + x1 * times[i + 1, lane], x2 * times[i + 2, lane] + x3 * times[i + 3, lane]
            c, d = x4 * times[i + 4, lane] + x5 * times[i + 5, lane], x6 * times[i + 6, lane] + x7 * times[i + 7, lane]
            row[lane] += (a + b) + (c + d)


@njit(nogil=True, cache=True)
def bootstrap_block(columns, n, draws, first, key, sums):  # type: ignore[no-untyped-def]
    """Add to ``sums`` (m, R) the sum of each column over the units of R resamples of the first ``n`` units.

    ``columns`` (m, width) are padded to a width that is a multiple of TOGETHER, and R is a multiple of LANES. ``draws``
    (R, chunks) is how many units each resample draws from each chunk of CHUNK units. ``first`` is the index of the
    first resample, and ``key`` seeds all draws.
    """
    # 8 bits suffice: a unit is drawn once per resample on average, so a count of 255 is out of reach unless n < 256,
    # and then n is the bound.
    counts = np.empty((CHUNK, LANES), np.uint8)
    times = np.empty((TILE, LANES), np.float64)
    for chunk in range(draws.shape[1]):
        start = chunk * CHUNK
        size = min(CHUNK, n - start)
        for r in range(0, draws.shape[0], LANES):
            counts[:] = 0
            for lane in range(LANES):
                state = _mix(_mix(key + np.uint64(first + r + lane) * _GOLDEN) + np.uint64(chunk) * _GOLDEN)
                if size == CHUNK:  # a constant number of units turns the multiplication into a shift
                    _count(counts, lane, draws[r + lane, chunk], state, np.uint64(CHUNK))
                else:
                    _count(counts, lane, draws[r + lane, chunk], state, np.uint64(size))
            for tile in range(0, size, TILE):
                wide = min(TILE, columns.shape[1] - start - tile)
                for i in range(wide):
                    for lane in range(LANES):
                        times[i, lane] = counts[tile + i, lane]
                for j in range(columns.shape[0]):
                    _add(columns, j, start + tile, times[:wide], sums, r)


@njit(nogil=True, cache=True)
def flip_block(columns, first, key, sums):  # type: ignore[no-untyped-def]
    """Add to ``sums`` (m, R) the sum of each of m columns in R resamples, after a random sign for each of its n values.

    The signs are the same for all ``columns`` (m, n), and n is a multiple of WORD. ``first`` is the index of the first
    of the R resamples, and ``key`` seeds the signs. Eight values have 256 possible signed sums. A table of them
    replaces eight additions by one look-up per random byte.
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
