"""Sums over resampled units: bootstrap draws and sign flips of many columns at once, the same for any thread count.

Every resample is a pure function of (seed, number of units, index of the resample), so columns handled in one call
share their resamples, and blocks of resamples can be spread over threads without changing a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.comparison._draws import CHUNK, TOGETHER, WORD, bootstrap_block, flip_block
from recassay.errors import UsageError
from recassay.portable.draws import multinomials
from recassay.rng import derive, derive_seed
from recassay.threads import available

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


# Constants of the random streams: a change here changes results.
BOOTSTRAP_BLOCK = 256  # resamples per task, a multiple of LANES
FLIP_BLOCK = 2048  # resamples per task


def bootstrap_sums(columns: Floats, resamples: int, how: How) -> Floats:
    """Sums (m, resamples) of columns (m, n) over n units drawn with replacement.

    A resample first draws how many of its n draws fall into each chunk of 1,024 units (multinomial), then the units
    in each chunk, whose chances are equal to one part in four million.

    >>> sums = bootstrap_sums(np.ones((1, 5)), 1000, How(seed=1))
    >>> float(sums.min()), float(sums.max())
    (5.0, 5.0)
    """
    m, n = columns.shape
    padded = _padded(columns, TOGETHER)
    sizes = np.diff(np.append(np.arange(0, n, CHUNK), n))
    key = _key(how.seed, "bootstrap", n)

    def block(first: int) -> Floats:
        draws = multinomials(derive(how.seed, "bootstrap", n, first), n, sizes, BOOTSTRAP_BLOCK)
        sums = np.zeros((m, BOOTSTRAP_BLOCK))
        bootstrap_block(padded, n, draws, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, BOOTSTRAP_BLOCK, how)


def flipped_sums(columns: Floats, resamples: int, how: How) -> Floats:
    """Sums (m, resamples) of columns (m, n) after giving each unit a random sign, the same signs in every column.

    >>> bool(np.all(np.abs(flipped_sums(np.ones((1, 3)), 100, How(seed=1))) <= 3))
    True
    """
    m, n = columns.shape
    padded = _padded(columns, WORD)
    key = _key(how.seed, "flips", n)

    def block(first: int) -> Floats:
        sums = np.zeros((m, FLIP_BLOCK))
        flip_block(padded, first, key, sums)
        return sums

    return _over_blocks(block, m, resamples, FLIP_BLOCK, how)


def signed_sums(columns: Floats) -> Floats:
    """Return the sums (m, 2^n) of columns (n, m) under every pattern of n signs, units added one after the other.

    >>> signed_sums(np.array([[1.0], [10.0]])).tolist()
    [[-11.0, -9.0, 9.0, 11.0]]
    """
    sums = np.zeros((columns.shape[1], 1))
    for unit in columns:
        sums = np.concatenate([sums - unit[:, None], sums + unit[:, None]], axis=1)
    return sums


def _key(seed: int, purpose: str, n: int) -> np.uint64:
    return np.uint64(derive_seed(seed, purpose, n) & 0xFFFFFFFFFFFFFFFF)


def _padded(columns: Floats, multiple: int) -> Floats:
    """Columns (m, n) with zeros behind them, in one piece."""
    m, n = columns.shape
    padded = np.zeros((m, -(-n // multiple) * multiple))
    padded[:, :n] = columns
    return padded


def _over_blocks(block: Callable[[int], Floats], m: int, resamples: int, size: int, how: How) -> Floats:
    """Fill (m, resamples) block by block. Whole blocks are always computed, so a prefix never depends on the total."""
    firsts = range(0, resamples, size)
    out = np.empty((m, resamples))

    def fill(first: int) -> None:
        out[:, first : first + size] = block(first)[:, : resamples - first]

    with ThreadPoolExecutor(max_workers=how.threads or available()) as pool:
        for done, _ in enumerate(pool.map(fill, firsts), start=1):
            if how.progress is not None:
                how.progress(done, len(firsts))
    return out
