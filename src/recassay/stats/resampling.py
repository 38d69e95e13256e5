"""Sums over resampled units, by bootstrap draws or sign flips, of many columns at once.

Every resample is a pure function of (seed, number of units, index of the resample). So all columns of a call share
their resamples, and the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.portable.draws import multinomials
from recassay.rng import derive, derive_seed
from recassay.stats._resampling import CHUNK, TOGETHER, WORD, bootstrap_block, flip_block
from recassay.threads import available

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]  # (blocks done, total blocks)

MOST_RESAMPLES = 10_000_000  # more would change no digit of an interval that is shown


@dataclass(frozen=True)
class ResamplingOptions:
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
        if self.resamples == "auto":
            return automatic
        return check_resamples(self.resamples)


def check_resamples(resamples: int | str) -> int:
    """Return ``resamples`` unchanged; raise U102 if it is text, or not a whole number from 1 to ``MOST_RESAMPLES``."""
    if isinstance(resamples, str) or not isinstance(resamples, int) or not 1 <= resamples <= MOST_RESAMPLES:
        what = f"resamples must be a whole number from 1 to {MOST_RESAMPLES:,}, got {resamples!r}"
        raise UsageError("U102", what, hint="leave resamples out for the default")
    return resamples


# These constants fix the random streams: a change here changes results.
BOOTSTRAP_BLOCK = 256  # resamples per task, a multiple of LANES
FLIP_BLOCK = 2048  # resamples per task


def bootstrap_sums(columns: Floats, resamples: int, options: ResamplingOptions) -> Floats:
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

    def block(first: int) -> Floats:
        draws = multinomials(derive(options.seed, "bootstrap", n, first), n, sizes, BOOTSTRAP_BLOCK)
        sums = np.zeros((m, BOOTSTRAP_BLOCK))
        bootstrap_block(padded, n, draws, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, BOOTSTRAP_BLOCK, options)


def flipped_sums(columns: Floats, resamples: int, options: ResamplingOptions) -> Floats:
    """Return the sums (m, resamples) of columns (m, n) whose n units get random signs, the same for all columns.

    >>> bool(np.all(np.abs(flipped_sums(np.ones((1, 3)), 100, ResamplingOptions(seed=1))) <= 3))
    True
    """
    m, n = columns.shape
    padded = _padded(columns, WORD)
    key = _key(options.seed, "flips", n)

    def block(first: int) -> Floats:
        sums = np.zeros((m, FLIP_BLOCK))
        flip_block(padded, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, FLIP_BLOCK, options)


def signed_sums(columns: Floats) -> Floats:
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


def _padded(columns: Floats, multiple: int) -> Floats:
    """Return a copy of columns (m, n) with zeros appended to each, so that n is a multiple of ``multiple``."""
    m, n = columns.shape
    padded = np.zeros((m, -(-n // multiple) * multiple))
    padded[:, :n] = columns
    return padded


def _over_blocks(
    block: Callable[[int], Floats], m: int, resamples: int, size: int, options: ResamplingOptions
) -> Floats:
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
