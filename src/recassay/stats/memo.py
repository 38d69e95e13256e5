"""A memory of resampling results, found by a digest of all that they depend on.

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
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = tuple[float, ...]


@dataclass
class Memo:
    """A cache of resampling results; the key of a result is a digest of everything it was computed from.

    ``known`` are the results from before, ``used`` those used since. ``taken`` counts the results that were found in
    the cache, ``computed`` those that were not.
    """

    known: dict[str, Numbers]
    used: dict[str, Numbers] = field(default_factory=dict)
    taken: int = 0
    computed: int = 0


_ACTIVE: ContextVar[Memo | None] = ContextVar("memo", default=None)


@contextmanager
def remembering(known: dict[str, Numbers]) -> Iterator[Memo]:
    """Keep the results of bootstraps and tests in a cache within a ``with`` block; yield the cache.

    ``known`` are results from before. The key of a result is a digest of all that it was computed from.
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
