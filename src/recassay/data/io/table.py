"""What every format gives: the names of a table's columns, and a way to read the wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

SAMPLE_ROWS = 1000  # enough to see what a column holds

# Canonical name -> name in the table.
Wanted = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table that is opened but not yet read; ``read`` gives at least the wanted columns, under their own names."""

    names: list[str]
    read: Callable[[Wanted], pl.DataFrame]
    where: str
    by_position: bool = False
    """The names are made up (``column_1``, ...): the table has no header."""
    rows: Callable[[], int] | None = None
    """Counts the rows without reading them; given where one column can be read at the cost of one column."""
    narrow: Callable[[str], pl.Series | None] | None = None
    """A column of integers as 32-bit ones, in half the memory; None if it is not of integers, or they do not fit."""
    rows_from: Callable[[Wanted, int, int], pl.DataFrame] | None = None
    """The wanted columns of so many rows from a row on, and no more in memory; given where ``rows`` is."""
    positions: bool = False
    """The format is known for positions, not instants: the place of an item in the history of its user."""
    pack: Callable[[Wanted, Path], None] | None = None
    """Writes the table to a Parquet file without holding it in memory; given where it can be read only in full."""
    sample: Callable[[Sequence[str]], pl.DataFrame] | None = None
    """The first rows of the named columns, as they stand in the table; columns that cannot be had may be left out."""
    ordered: bool = False
    """The order of the rows is part of what the table says: it was a list, or is a format of ordered lines."""


class Columns:
    """The columns of a table under their canonical names, each fetched when it is asked for and not kept.

    A table in columns (Parquet) is so laid out with one column in memory at a time.

    ``positions`` says that its times are positions, by the name of their column or by the format.

    >>> columns = Columns({"user_id": lambda: pl.Series([1, 2])})
    >>> columns["user_id"].to_list(), columns.frame().shape
    ([1, 2], (2, 1))
    """

    def __init__(
        self,
        fetch: Mapping[str, Callable[[], pl.Series]],
        rows: int | None = None,
        narrow: Callable[[str], pl.Series | None] | None = None,
        remarks: Mapping[str, str] | None = None,
        *,
        positions: bool = False,
    ) -> None:
        self._fetch = fetch
        self._narrow = narrow
        self.remarks = dict(remarks or {})  # what findings say of the table, by code
        self.positions = positions
        self.rows = next(iter(fetch.values()))().len() if rows is None else rows

    @classmethod
    def of(cls, frame: pl.DataFrame, remarks: Mapping[str, str] | None = None, *, positions: bool = False) -> Columns:
        """Return the columns of a frame."""
        fetch = {name: partial(frame.get_column, name) for name in frame.columns}
        return cls(fetch, frame.height, None, remarks, positions=positions)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._fetch)

    def __contains__(self, name: object) -> bool:
        return name in self._fetch

    def __getitem__(self, name: str) -> pl.Series:
        return self._fetch[name]().alias(name)

    def ids(self, name: str) -> pl.Series:
        """A column of ids, as 32-bit integers where the file gives them so at no cost."""
        narrowed = self._narrow(name) if self._narrow else None
        return self[name] if narrowed is None else narrowed.alias(name)

    def frame(self) -> pl.DataFrame:
        """All columns as a frame."""
        return pl.DataFrame({name: self[name] for name in self._fetch})


def column_names(count: int) -> list[str]:
    """Names for the columns of a table without a header.

    >>> column_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{position}" for position in range(1, count + 1)]


def of_frame(frame: pl.DataFrame, where: str, *, by_position: bool = False, ordered: bool = False) -> Table:
    """A table that is already in memory.

    >>> of_frame(pl.DataFrame({"user": [1]}), "here").names
    ['user']
    """
    return Table(
        frame.columns,
        lambda wanted: frame.select(list(wanted.values())),
        where,
        by_position,
        lambda: frame.height,
        sample=lambda names: frame.select(names).head(SAMPLE_ROWS),
        ordered=ordered,
    )
