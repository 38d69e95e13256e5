"""The interface of every format: the names of a table's columns, and functions that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from recassay.columnar.columns import HashedTexts

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
    rows: Callable[[], int] | None = None
    """Counts the rows without reading them; set if reading one column costs no more than that column."""
    narrow: Callable[[str], pl.Series | HashedTexts | None] | None = None
    """Reads ids in a form that becomes codes faster: integers of 32 bits, categories as they are, texts with hashes.

    None if a column has no such form, or holds something that is not an id.
    """
    rows_from: Callable[[Wanted, int, int], pl.DataFrame] | None = None
    """Reads a number of rows of the wanted columns from a given row on; set if ``rows`` is."""
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


def column_names(count: int) -> list[str]:
    """Return names for the columns of a table without a header.

    >>> column_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{position}" for position in range(1, count + 1)]


def table_of_frame(frame: pl.DataFrame, where: str, *, by_position: bool = False, ordered: bool = False) -> Table:
    """Return a table for a frame that is already in memory.

    ``by_position`` says that its column names are made up, ``ordered`` that the order of its rows has a meaning.

    >>> table_of_frame(pl.DataFrame({"user": [1]}), "here").names
    ['user']
    """
    return Table(
        frame.columns,
        lambda wanted: frame.select(list(wanted.values())),
        where,
        by_position,
        lambda: frame.height,
        lambda name: frame[name] if isinstance(frame[name].dtype, pl.Categorical | pl.Enum) else None,
        sample=lambda names: frame.select(names).head(SAMPLE_ROWS),
        ordered=ordered,
    )
