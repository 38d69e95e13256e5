"""Sums over resampled units, by bootstrap draws or sign flips, of many columns at once.

Every resample is a pure function of (seed, number of units, index of the resample). So all columns of a call share
their resamples, and the bits do not depend on the number of threads.

A study that gains a system or a metric draws the same resamples of the same columns again; with a memo it draws only
those of new columns. A result in a memo has the bits of one that is computed, because no column depends on another.

>>> with remembering({}) as memo:
...     first = remembered(["a", "b"], lambda missing: [(float(len(missing)), 0.0) for _ in missing])
...     again = remembered(["a", "c"], lambda missing: [(float(len(missing)), 0.0) for _ in missing])
>>> first, again, memo.taken, memo.computed
([(2.0, 0.0), (2.0, 0.0)], [(2.0, 0.0), (1.0, 0.0)], 1, 3)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.draws import multinomials
from recassay.naming.arguments import CheckedOptions
from recassay.rng import derive, derive_seed
from recassay.threads import available

Progress = Callable[[int, int], None]  # (blocks done, total blocks)


@dataclass(frozen=True)
class ResamplingOptions(CheckedOptions):
    """Options of resampling; ``resamples`` "auto" lets the method decide, ``threads`` None takes all cores."""

    seed: int = 0
    resamples: int | str = "auto"
    threads: int | None = None
    progress: Progress | None = None

    def n_resamples(self, automatic: int) -> int:
        """Return the number of resamples, or ``automatic`` if the option is "auto".

        >>> ResamplingOptions().n_resamples(10_000)
        10000
        """
        return automatic if isinstance(self.resamples, str) else self.resamples


# These constants fix the random streams: a change here changes results.
BOOTSTRAP_BLOCK = 256  # resamples per task, a multiple of LANES
FLIP_BLOCK = 2048  # resamples per task


def bootstrap_sums(columns: Float, resamples: int, options: ResamplingOptions) -> Float:
    """Return the sums (m, resamples) of columns (m, n) over n units drawn with replacement.

    A resample first draws how many of its n draws fall into each chunk of 1,024 units (multinomial). Then it draws the
    units in each chunk, with probabilities that are equal to one part in four million.

    >>> sums = bootstrap_sums(np.ones((1, 5)), 1000, ResamplingOptions(seed=1))
    >>> float(sums.min()), float(sums.max())
    (5.0, 5.0)
    """
    m, n = columns.shape
    padded = _padded(columns, TOGETHER)
    sizes = np.diff(np.append(np.arange(0, n, CHUNK), n))
    key = _key(options.seed, "bootstrap", n)

    def block(first: int) -> Float:
        draws = multinomials(derive(options.seed, "bootstrap", n, first), n, sizes, BOOTSTRAP_BLOCK)
        sums = np.zeros((m, BOOTSTRAP_BLOCK))
        bootstrap_block(padded, n, draws, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, BOOTSTRAP_BLOCK, options)


def flipped_sums(columns: Float, resamples: int, options: ResamplingOptions) -> Float:
    """Return the sums (m, resamples) of columns (m, n) whose n units get random signs, the same for all columns.

    >>> bool(np.all(np.abs(flipped_sums(np.ones((1, 3)), 100, ResamplingOptions(seed=1))) <= 3))
    True
    """
    m, n = columns.shape
    padded = _padded(columns, WORD)
    key = _key(options.seed, "flips", n)

    def block(first: int) -> Float:
        sums = np.zeros((m, FLIP_BLOCK))
        flip_block(padded, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, FLIP_BLOCK, options)


def signed_sums(columns: Float) -> Float:
    """Return the sums (m, 2^n) of columns (n, m) under every pattern of signs of the n units.

    Units are added in order.

    >>> signed_sums(np.array([[1.0], [10.0]])).tolist()
    [[-11.0, -9.0, 9.0, 11.0]]
    """
    n, m = columns.shape
    sums = np.zeros((m, 2**n))
    for place, unit in enumerate(columns[:, :, None]):
        half = sums[:, : 2**place]
        np.add(half, unit, out=sums[:, 2**place : 2 ** (place + 1)])
        half -= unit
    return sums


def _key(seed: int, purpose: str, n: int) -> np.uint64:
    return np.uint64(derive_seed(seed, purpose, n) & 0xFFFFFFFFFFFFFFFF)


def _padded(columns: Float, multiple: int) -> Float:
    """Return a copy of columns (m, n) with zeros appended to each, so that n is a multiple of ``multiple``."""
    m, n = columns.shape
    padded = np.zeros((m, -(-n // multiple) * multiple))
    padded[:, :n] = columns
    return padded


def _over_blocks(block: Callable[[int], Float], m: int, resamples: int, size: int, options: ResamplingOptions) -> Float:
    """Return the sums (m, resamples), computed on threads in blocks of ``size`` resamples.

    ``block(first)`` returns the sums of the block that begins with resample ``first``. Whole blocks are always
    computed, so the first resamples do not depend on the number of resamples.
    """
    firsts = range(0, resamples, size)
    out = np.empty((m, resamples))

    def fill(first: int) -> None:
        out[:, first : first + size] = block(first)[:, : resamples - first]

    with ThreadPoolExecutor(max_workers=options.threads or available()) as pool:
        for done, _ in enumerate(pool.map(fill, firsts), start=1):
            if options.progress is not None:
                options.progress(done, len(firsts))
    return out


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
def _count_draws(counts, lane, draws, state, units):  # type: ignore[no-untyped-def]
    """Draw ``draws`` of ``units`` units at random and add to ``counts[u, lane]`` how often unit u was drawn.

    ``state`` seeds the draws. One 64-bit word gives two draws.
    """
    for _ in range(draws // 2):
        state += _GOLDEN
        word = _mix(state)
        counts[((word & _LOW) * units) >> _HALF, lane] += 1
        counts[((word >> _HALF) * units) >> _HALF, lane] += 1
    if draws % 2:
        counts[((_mix(state + _GOLDEN) & _LOW) * units) >> _HALF, lane] += 1


@njit(nogil=True, cache=True)
def _add_drawn_units(columns, j, start, times, sums, r):  # type: ignore[no-untyped-def]
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
                    _count_draws(counts, lane, draws[r + lane, chunk], state, np.uint64(CHUNK))
                else:
                    _count_draws(counts, lane, draws[r + lane, chunk], state, np.uint64(size))
            for tile in range(0, size, TILE):
                wide = min(TILE, columns.shape[1] - start - tile)
                for i in range(wide):
                    for lane in range(LANES):
                        times[i, lane] = counts[tile + i, lane]
                for j in range(columns.shape[0]):
                    _add_drawn_units(columns, j, start + tile, times[:wide], sums, r)


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


Numbers = tuple[float, ...]


@dataclass
class Memo:
    """A cache of resampling results; the key of a result is a digest of everything it was computed from.

    ``known`` are earlier results, ``used`` those used since then. ``taken`` counts the results that were found in the
    cache, ``computed`` those that were not.
    """

    known: dict[str, Numbers]
    used: dict[str, Numbers] = field(default_factory=dict)
    taken: int = 0
    computed: int = 0


_ACTIVE: ContextVar[Memo | None] = ContextVar("memo", default=None)


@contextmanager
def remembering(known: dict[str, Numbers]) -> Iterator[Memo]:
    """Keep the results of bootstraps and tests in a cache within a ``with`` block; yield the cache.

    ``known`` are earlier results. The key of a result is a digest of all that it was computed from.
    """
    memo = Memo(known)
    before = _ACTIVE.set(memo)
    try:
        yield memo
    finally:
        _ACTIVE.reset(before)


def is_remembering() -> bool:
    """Return whether a cache of resampling results is in use; only then is it worth computing digests."""
    return _ACTIVE.get() is not None


def remembered(keys: Sequence[str], compute: Callable[[list[int]], Sequence[Numbers]]) -> list[Numbers]:
    """Return the result of every key from the cache in use; compute those that are missing and store them.

    ``compute`` takes the positions of the missing keys in ``keys`` and returns their results.
    """
    memo = _ACTIVE.get()
    assert memo is not None, "call it only while results are remembered"
    missing = [place for place, key in enumerate(keys) if key not in memo.known and key not in memo.used]
    memo.taken, memo.computed = memo.taken + len(keys) - len(missing), memo.computed + len(missing)
    if missing:
        for place, numbers in zip(missing, compute(missing), strict=True):
            memo.used[keys[place]] = numbers
    for key in keys:
        memo.used.setdefault(key, memo.known.get(key, ()))
    return [memo.used[key] for key in keys]


def digest_of(*parts: Any) -> str:
    """Return a digest of plain values and arrays; of an array its bytes count, not its shape or type."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        is_array = isinstance(part, np.ndarray)
        digest.update(np.ascontiguousarray(part).tobytes() if is_array else repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def column_digests(columns: NDArray[Any]) -> list[str]:
    """Return a digest of each column of a table (n, m)."""
    return [digest_of(column) for column in columns.T]
