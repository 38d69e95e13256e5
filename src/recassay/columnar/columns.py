"""The columns of a table, each loaded on first use; texts come with hashes, which compare much faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

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


def normalised_name(name: str) -> str:
    """Return a column name in the form used for comparison: lower case, without blanks, dashes and underscores.

    >>> normalised_name("User ID"), normalised_name("userId")
    ('userid', 'userid')
    """
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")


class LazyColumns:
    """Columns of a table under their canonical names; each is loaded on access and not cached.

    So a Parquet file can be read with one column in memory at a time. ``narrow`` returns a column of ids in a form that
    becomes codes faster (see :meth:`ids`), or None if there is none. ``positions`` is True if the name of the time
    column or the format says that it holds positions (1, 2, 3, ...) rather than times. ``remarks`` are texts about the
    table that findings quote, by finding code. ``unit`` is what the table's column of users is about: a user, a query.

    >>> columns = LazyColumns({"user_id": lambda: pl.Series([1, 2])})
    >>> columns["user_id"].to_list(), columns.frame().shape
    ([1, 2], (2, 1))
    """

    def __init__(
        self,
        fetch: Mapping[str, Callable[[], pl.Series]],
        rows: int | None = None,
        narrow: Callable[[str], pl.Series | HashedTexts | None] | None = None,
        remarks: Mapping[str, str] | None = None,
        *,
        positions: bool = False,
        unit: str = "user",
    ) -> None:
        self._fetch = fetch
        self.columns = list(fetch)
        self._narrow = narrow
        self.remarks = dict(remarks or {})
        self.positions = positions
        self.unit = unit
        self.rows = next(iter(fetch.values()))().len() if rows is None else rows

    @classmethod
    def of(cls, frame: pl.DataFrame, remarks: Mapping[str, str] | None = None, **about: Any) -> LazyColumns:
        """Return the columns of a frame that is in memory; ``remarks`` and ``about`` are as in the class."""
        fetch = {name: partial(frame.get_column, name) for name in frame.columns}
        return cls(fetch, frame.height, None, remarks, **about)

    def __getitem__(self, name: str) -> pl.Series:
        return self._fetch[name]().alias(name)

    def ids(self, name: str) -> pl.Series | HashedTexts:
        """Return a column of ids in the form that becomes codes fastest.

        32-bit integers and categories stay so if the table can give them without a copy, and texts may come with their
        hashes.
        """
        found = self._narrow(name) if self._narrow else None
        return self[name] if found is None else found

    def frame(self) -> pl.DataFrame:
        """Return all columns as one frame."""
        return pl.DataFrame({name: self[name] for name in self._fetch})
