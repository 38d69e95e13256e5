"""Texts with hashes, which compare much faster than the texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.threads import each_block

SEEDS = (1, 2)
TEXTS_PER_BLOCK = 1 << 16  # the second hash then finds the texts in the processor's cache


def text_hashes(texts: pl.Series) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two independent 64-bit hashes of each text, as two arrays.

    A vocabulary compares 96 of the 128 bits, so it confuses two different texts with probability 2^-96.
    """
    keys, checks = np.empty(texts.len(), np.uint64), np.empty(texts.len(), np.uint64)

    def fill(begin: int, end: int) -> None:
        some = texts.slice(begin, end - begin)
        keys[begin:end], checks[begin:end] = (some.hash(seed).to_numpy() for seed in SEEDS)

    each_block(fill, texts.len(), size=TEXTS_PER_BLOCK)
    return keys, checks


@dataclass(frozen=True, eq=False)
class HashedTexts:
    """Texts, none of them missing or empty, and two hashes of each (see :func:`text_hashes`), in the same chunks."""

    texts: pl.Series
    keys: pl.Series
    checks: pl.Series

    @classmethod
    def read(cls, query: pl.LazyFrame) -> HashedTexts | None:
        """Return the texts that a query of one column reads; None if one of them is missing or empty.

        Texts are hashed as they are read, while they are in the processor's cache.

        >>> HashedTexts.read(pl.LazyFrame({"id": ["a", "b"]})).texts.to_list()
        ['a', 'b']
        """
        column = pl.all()
        hashes = [column.hash(seed).name.suffix(f" {seed}") for seed in SEEDS]
        texts, keys, checks = query.select(column, *hashes).collect(engine="streaming")
        if texts.null_count() or (keys == pl.Series([""]).hash(SEEDS[0]).item()).any():
            return None
        if keys.chunk_lengths() != checks.chunk_lengths():
            keys, checks = keys.rechunk(), checks.rechunk()
        return cls(texts, keys, checks)
