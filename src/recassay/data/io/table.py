"""What every format gives: the names of a table's columns, and a way to read the wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

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


def column_names(count: int) -> list[str]:
    """Names for the columns of a table without a header.

    >>> column_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{position}" for position in range(1, count + 1)]


def of_frame(frame: pl.DataFrame, where: str, *, by_position: bool = False) -> Table:
    """A table that is already in memory.

    >>> of_frame(pl.DataFrame({"user": [1]}), "here").names
    ['user']
    """
    return Table(frame.columns, lambda wanted: frame.select(list(wanted.values())), where, by_position)
