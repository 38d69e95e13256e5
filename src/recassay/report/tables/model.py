"""The table that every result becomes: columns, rows of cells, a title and notes.

A table is built once from a result. Writers turn it into text for a terminal (``terminal``), and into Markdown, LaTeX
and HTML (``formats``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from recassay.report.content import wording

Row = Mapping[str, Any]
Kind = Literal["name", "system", "number"]


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and how it is emphasised.

    ``style`` is best, second, dim, bold or a severity, or empty. ``head`` is a bold beginning of the text. ``marks``
    are superscript letters of a number, or the letter that stands for a name.
    """

    text: str = ""
    style: str = ""
    head: str = ""
    marks: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Column:
    """A column: names are wrapped if there is no room, names of systems lose their middle, and numbers are whole.

    ``most`` is the largest width in a terminal.
    """

    heading: str
    kind: Kind = "number"
    most: int = 1000


@dataclass(frozen=True)
class ResultTable:
    """A result as a table; an empty row is a blank line.

    ``narrow`` are tables of the same content for a terminal that is too narrow for this one. ``gap`` is the number of
    spaces between columns in a terminal.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    narrow: tuple[ResultTable, ...] = ()
    gap: int = 2


@dataclass(frozen=True)
class Field:
    """A column and how its cells are made: the text that ``form`` returns for the values of ``keys`` in a row."""

    keys: str
    heading: str
    form: Callable[..., str] = wording.number
    kind: Kind = "number"

    def cell(self, row: Row, style: str) -> Cell:
        """Return the cell of a row; a dash for a value that is None."""
        values = [row[key] for key in self.keys.split()]
        return Cell(wording.NOTHING if None in values else self.form(*values), style if self.kind == "number" else "")


SYSTEM_WIDTH = 24  # of a column with names of systems


def name(key: str, heading: str = "") -> Field:
    """Return a column of names, such as metrics."""
    return Field(key, heading or key, str, "name")


def system(key: str = "system", heading: str = "system") -> Field:
    """Return a column of names of systems."""
    return Field(key, heading, str, "system")


def count(key: str, heading: str = "") -> Field:
    """Return a column of counts."""
    return Field(key, heading or key, "{:,}".format)


def share(key: str, heading: str = "", digits: int = 1) -> Field:
    """Return a column of shares in percent."""
    return Field(key, heading or key, lambda value: f"{100 * value:.{digits}f} %")


def interval(level: float, keys: str = "low high") -> Field:
    """Return a column of confidence intervals."""
    return Field(keys, f"{wording.percent(level)} interval", wording.interval)


DIFFERENCE = Field("difference", "difference", wording.difference)
P = Field("p_adjusted", "p", wording.p_value)


def table(
    rows: Iterable[Row],
    fields: Iterable[Field],
    style: Callable[[Row], str] = lambda _: "",
    *,
    grouped: bool = False,
    **about: Any,
) -> ResultTable:
    """Return a table with a row for each of ``rows``; ``style`` returns the style of the numbers of a row.

    With ``grouped``, rows with the same text in the first column are kept together, below one name.
    """
    fields = list(fields)
    made = [tuple(field.cell(row, style(row)) for field in fields) for row in rows]
    columns = (Column(field.heading, field.kind, SYSTEM_WIDTH if field.kind == "system" else 1000) for field in fields)
    return ResultTable(tuple(columns), tuple(groups(made) if grouped else made), **about)


def groups(rows: Iterable[tuple[Cell, ...]], *, apart: bool = True) -> list[tuple[Cell, ...]]:
    """Return rows with each name of the first column stated once, and a blank line between its groups if ``apart``."""
    parts = [list(part) for _, part in groupby(rows, key=lambda row: row[0].text)]
    blank: list[tuple[Cell, ...]] = [()] if apart and any(len(part) > 1 for part in parts) else []
    return [
        row
        for number, (first, *others) in enumerate(parts)
        for row in [*(blank if number else []), first, *((replace(row[0], text=""), *row[1:]) for row in others)]
    ]
