"""The interface of every format: the names of a table's columns, and functions that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

SAMPLE_ROWS = 1000  # enough to see what a column holds

# Canonical name -> name in the table.
Wanted = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table that is open but not yet read; ``names`` are its columns.

    ``read`` returns at least the wanted columns, under the table's own names. It takes the name of each wanted column
    by canonical name (``user_id``, ...). ``where`` names the table in errors.
    """

    names: list[str]
    read: Callable[[Wanted], pl.DataFrame]
    where: str
    by_position: bool = False
    """Whether the names are made up (``column_1``, ...) because the table has no header."""
    scan: pl.LazyFrame | None = None
    """The rows, if reading one column costs no more than that column."""
    stored: bool = False
    """Whether ``scan`` reads files: then ids are read in a form that becomes codes faster."""
    positions: bool = False
    """Whether the format is known for positions in a user's history rather than instants."""
    pack: Callable[[Wanted, Path], None] | None = None
    """Writes the table to a Parquet file in bounded memory; set if the table can only be read whole."""
    sample: Callable[[Sequence[str]], pl.DataFrame] | None = None
    """Reads the first rows of the named columns, unconverted; unreadable columns may be left out."""
    ordered: bool = False
    """Whether row order is meaningful: the source was a list, or a format of ordered lines."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Texts about the file that findings quote, by finding code."""

    @property
    def rows(self) -> int:
        """Return the number of rows; 0 if it is not known before they are read."""
        return 0 if self.scan is None else int(self.scan.select(pl.len()).collect().item())

    def first_rows(self, names: Sequence[str]) -> pl.DataFrame:
        """Return the first rows of some columns, unconverted; an empty table if they are not known."""
        return self.sample(names) if self.sample and names else pl.DataFrame()


def column_names(count: int) -> list[str]:
    """Return names for the columns of a table without a header.

    >>> column_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{position}" for position in range(1, count + 1)]


def table_of_scan(scan: pl.LazyFrame, names: Sequence[str], where: str, *, stored: bool = False) -> Table:
    """Return a table for rows of which any column can be read alone; ``stored`` says that they are in files."""
    return Table(
        list(names),
        lambda wanted: scan.select(list(wanted.values())).collect(),
        where,
        scan=scan,
        stored=stored,
        sample=lambda some: scan.head(SAMPLE_ROWS).select(some).collect(),
    )


def table_of_frame(frame: pl.DataFrame, where: str, *, by_position: bool = False, ordered: bool = False) -> Table:
    """Return a table for a frame that is already in memory.

    ``by_position`` says that its column names are made up, ``ordered`` that the order of its rows has a meaning.

    >>> table_of_frame(pl.DataFrame({"user": [1]}), "here").names
    ['user']
    """
    return replace(table_of_scan(frame.lazy(), frame.columns, where), by_position=by_position, ordered=ordered)
