"""A table that fits the width of a terminal: names wrap, and the last columns of numbers are left out with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from recassay.report.tables.text import GAP, bare_table

LEAST = 8  # width of a column of names, below which columns of numbers are left out


@dataclass(frozen=True)
class ShrinkingTable:
    """A table with columns of names, which wrap, and then of numbers, which are never cut.

    Each of ``rows`` has a cell per column; an empty row is a blank line.
    """

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: tuple[Sequence[Text], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = [self._width(column) for column in range(len(self.names) + len(self.numbers))]
        named, numeric = wide[: len(self.names)], wide[len(self.names) :]
        kept = len(numeric)
        while kept > 1 and sum(min(width, LEAST) for width in named) > self._room(numeric[:kept], options.max_width):
            kept -= 1
        table = bare_table()
        for heading, width in zip(self.names, self._shared(named, numeric[:kept], options.max_width), strict=True):
            table.add_column(heading, width=width, overflow="fold")
        for heading, width in zip(self.numbers[:kept], numeric, strict=False):
            table.add_column(heading, width=width, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*row[: len(self.names) + kept])
        yield table
        if absent := [heading for heading in self.numbers[kept:] if heading]:
            yield Text(f"The terminal is too narrow for {', '.join(absent)}; --json has all.", style="dim")

    def _width(self, column: int) -> int:
        heading = (*self.names, *self.numbers)[column]
        return max(cell_len(heading), *(row[column].cell_len for row in self.rows if row), 1)

    def _room(self, numbers: Sequence[int], width: int) -> int:
        """Return the width that columns of numbers with these widths leave to the names."""
        return width - sum(numbers) - GAP * (len(self.names) + len(numbers) - 1)

    def _shared(self, named: Sequence[int], numbers: Sequence[int], width: int) -> list[int]:
        """Return the widths of the columns of names: the widest is made narrower until they fit."""
        widths, room = list(named), self._room(numbers, width)
        while sum(widths) > room and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
        return widths
