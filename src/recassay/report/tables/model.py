"""The table that every result becomes: columns, rows of cells, a title and notes.

A table is built once from a result. :class:`Terminal` prints it, and ``formats`` writes it as Markdown, LaTeX and HTML.
In a terminal, tables fit its width, and numbers are never cut: if there is too little room, names are wrapped or
shortened. If that is not enough, the last columns come in a table of their own, below, with the names repeated.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import polars as pl
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.wording import shorten

Row = Mapping[str, Any]
Kind = Literal["name", "system", "number"]


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and how it is emphasised.

    ``style`` is best, second, dim, bold, a severity of a finding (such as warning), or empty. ``head`` is a bold
    beginning of the text. ``marks`` are superscript letters of a number, or the letter that stands for a name.
    """

    text: str = ""
    style: str = ""
    head: str = ""
    marks: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Column:
    """A column: without room for it, names are wrapped, names of systems lose their middle, numbers are never cut.

    ``most`` is the largest width in a terminal.
    """

    heading: str
    kind: Kind = "number"
    most: int = 1000


@dataclass(frozen=True)
class ResultTable:
    """A result as a table; an empty row is a blank line.

    ``narrow`` returns tables of the same content for a terminal that is too narrow for this one. ``gap`` is the number
    of spaces between columns in a terminal.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    narrow: Callable[[], Iterable[ResultTable]] = tuple
    gap: int = 2


@dataclass(frozen=True)
class Field:
    """A column and how its cells are made: ``form(*values)`` is the text for the values of ``keys`` in a row."""

    keys: str
    heading: str
    form: Callable[..., str] = wording.number
    kind: Kind = "number"

    def cell(self, row: Row, style: str) -> Cell:
        """Return the cell of this column in a row, with ``style`` if it is a number; a dash if a value is None."""
        values = [row[key] for key in self.keys.split()]
        return Cell(wording.NOTHING if None in values else self.form(*values), style if self.kind == "number" else "")


SYSTEM_WIDTH = 24  # of a column with names of systems


def name(key: str, heading: str = "") -> Field:
    """Return a column of names, such as metrics: the values of ``key``, below ``heading`` (default: the key)."""
    return Field(key, heading or key, str, "name")


def system(key: str = "system", heading: str = "system") -> Field:
    """Return a column of names of systems: the values of ``key`` in rows, below ``heading``."""
    return Field(key, heading, str, "system")


def count(key: str, heading: str = "") -> Field:
    """Return a column of counts: the values of ``key``, below ``heading`` (default: the key)."""
    return Field(key, heading or key, "{:,}".format)


def share(key: str, heading: str = "", digits: int = 1) -> Field:
    """Return a column of percentages: the shares under ``key`` in rows, below ``heading`` (default: the key)."""
    return Field(key, heading or key, lambda value: f"{100 * value:.{digits}f} %")


def interval(level: float, keys: str = "low high") -> Field:
    """Return a column of intervals of confidence ``level``; ``keys`` are the keys of the two bounds in a row."""
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


def text_of(value: object) -> str:
    """Return a value as the text of a table cell.

    >>> text_of(0.25), text_of(12_345), text_of(None)
    ('0.2500', '12,345', '–')
    """
    if value is None:
        return wording.NOTHING
    if isinstance(value, float):
        return wording.number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def frame_table(frame: pl.DataFrame, title: str) -> ResultTable:
    """Return a frame as a table."""
    columns = (Column(name, "number" if kind.is_numeric() else "name") for name, kind in frame.schema.items())
    rows = (tuple(Cell(text_of(value)) for value in row) for row in frame.rows())
    return ResultTable(tuple(columns), tuple(rows), title)


def dim_unless_significant(row: Row) -> str:
    """Return the style of the numbers in a row of comparisons: ``dim`` unless the difference is significant."""
    return "" if row["significant"] else "dim"


def groups(rows: Iterable[tuple[Cell, ...]], *, apart: bool = True) -> list[tuple[Cell, ...]]:
    """Return rows with each name of the first column stated once, and a blank line between its groups if ``apart``."""
    parts = [list(part) for _, part in groupby(rows, key=lambda row: row[0].text)]
    blank: list[tuple[Cell, ...]] = [()] if apart and any(len(part) > 1 for part in parts) else []
    return [
        row
        for number, (first, *others) in enumerate(parts)
        for row in [*(blank if number else []), first, *((replace(row[0], text=""), *row[1:]) for row in others)]
    ]


LEAST = 12  # width of a column of names, below which numbers move to another table
BARE = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")  # a single rule below the headings
STYLES = {"best": "bold", "error": "bold red", "warning": "yellow", "info": "cyan", "fine": "green", "second": ""}


def printed(*parts: RenderableType, width: int = 10_000) -> str:
    """Return what a terminal shows, as plain text without blanks at the ends of lines."""
    screen = Console(file=io.StringIO(), width=width, color_system=None)
    for part in parts:
        screen.print(part)
    return "\n".join(line.rstrip() for line in screen.file.getvalue().splitlines())  # type: ignore[attr-defined]


def words(text: str, style: str = "") -> Text:
    """Return text for a terminal, without control characters or markup."""
    return Text(printable(text), style=STYLES.get(style, style))


@dataclass(frozen=True)
class Terminal:
    """A table for a terminal, with its title above and its notes below; ``rule`` is a line below the headings."""

    table: ResultTable
    rule: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        shown = [[printable(cell.head + cell.text) for cell in row] for row in table.rows if row]
        widths = [  # that each column needs to be shown whole
            min(column.most, max(1, *map(cell_len, (column.heading, *(row[at] for row in shown)))))
            for at, column in enumerate(table.columns)
        ]
        parts = self._parts(widths, options.max_width)
        if table.title:
            yield words(table.title, "bold")
        drawn: list[RenderableType] = [Terminal(one, self.rule) for one in table.narrow()] if len(parts) > 1 else []
        for number, part in enumerate(
            drawn or [self._drawn(part, widths, options.max_width) for part in parts if part]
        ):
            yield from [Text()] if number else []
            yield part
        for note in table.notes:
            yield words(note, "dim")

    def _parts(self, widths: Sequence[int], width: int) -> list[list[int]]:
        """Return the column numbers of each table that a table too wide for ``width`` is divided into.

        ``widths`` are those of the columns. Every table begins with the first columns of names.
        """
        number = [column.kind == "number" for column in self.table.columns]
        needed = [wide if right else min(wide, LEAST) for wide, right in zip(widths, number, strict=True)]
        first = number.index(True) if any(number) else len(number)
        names, parts = list(range(first)), [list(range(first))]
        for at in range(first, len(needed)):
            part = [*parts[-1], at]
            fits = sum(needed[column] + self.table.gap for column in part) - self.table.gap <= width
            parts[-1:] = [part] if fits or parts[-1] == names else [parts[-1], [*names, at]]
        return parts

    def _drawn(self, part: Sequence[int], widths: Sequence[int], width: int) -> RichTable:
        """Return some columns as a table: the widest columns of names are made narrower until all fit."""
        table, wide = self.table, {at: widths[at] for at in part}
        names = [at for at in part if table.columns[at].kind != "number"]
        while sum(wide.values()) + table.gap * (len(part) - 1) > width and any(wide[at] > 1 for at in names):
            wide[max(names, key=wide.__getitem__)] -= 1
        # the gap between two columns is the padding of the left one, and a blank divider if there is a rule
        drawn = RichTable(
            box=BARE if self.rule else None, header_style="bold", border_style="dim", pad_edge=False, show_edge=False,
            padding=(0, table.gap - self.rule, 0, 0), show_header=any(column.heading for column in table.columns),
        )  # fmt: skip
        for at in part:
            justify: JustifyMethod = "right" if table.columns[at].kind == "number" else "left"
            drawn.add_column(words(table.columns[at].heading), width=wide[at], justify=justify, overflow="fold")
        for row in table.rows:
            drawn.add_row(*(_text(row[at], table.columns[at], wide[at]) for at in part if row))
        return drawn


def _text(cell: Cell, column: Column, width: int) -> Text:
    shown = printable(cell.text)
    if cell_len(shown) > width and column.kind == "system":
        shown = shorten(shown, width)
    elif cell_len(shown) > width and column.kind == "name" and " " not in shown:
        shown = _lines_of_name(shown, width)
    return Text.assemble((printable(cell.head), "bold"), shown, style=STYLES.get(cell.style, cell.style))


def _lines_of_name(name: str, width: int) -> str:
    """Return a name such as that of a metric in lines of at most ``width`` if it can be broken at brackets and commas.

    >>> _lines_of_name("ndcg(gain='exp2',discount='jk')@10", 20)
    "ndcg(gain='exp2',\\ndiscount='jk')@10"
    """
    lines = [""]
    for part in re.split(r"(?<=[,(])", name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def lines_table(lines: Iterable[tuple[str, str]], title: str = "", gap: int = 3) -> ResultTable:
    """Return a table without headings: a name in bold and a text in each row."""
    rows = tuple((Cell(name, "bold"), Cell(text)) for name, text in lines)
    return ResultTable((Column("", "name"), Column("", "name")), rows, title, gap=gap)
