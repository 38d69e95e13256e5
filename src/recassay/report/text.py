"""Results for a terminal: a table that fits its width, and what was found.

Where the width does not suffice, counts move to a table of their own, then the comparison does; names of metrics are
wrapped and names of systems lose their middle. Numbers are always whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from recassay.data.finding import SEVERITIES, Finding
from recassay.data.scores import Scores, Summary
from recassay.report import wording
from recassay.report.board import COUNTS, Board

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

GAP = 2  # blanks between columns
SYSTEM_WIDTH = (12, 40)  # of a long name: what it should have, and what it never exceeds
METRIC_WIDTH = (20, 36)
NARROWEST = 8
BARE = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")  # one rule below the headings
STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def text_table(
    scores: Scores, comparison: Comparison | None = None, *, width: int | None = None, digits: int = 4
) -> RenderableType:
    """A row per metric and system: mean, interval, n; the difference to the reference and its adjusted p; counts.

    The reference is the baseline of the comparison, else the best system. ``width`` is that of the terminal unless
    given. The best mean is bold. Counts that are 0 everywhere are left out.
    """
    return _TextTable(Board(scores, comparison), width, digits)


def findings_table(scores: Scores) -> RenderableType:
    """What was found, errors first; one line if there is nothing."""
    if not scores.findings:
        return Text("No findings.", style="green")
    table = bare_table()
    for heading in ("severity", "code", "finding"):
        table.add_column(heading, overflow="fold")
    table.add_column("system", max_width=SYSTEM_WIDTH[1] // 2, overflow="fold")
    for finding in sorted(scores.findings, key=lambda one: (-SEVERITIES.index(one.severity), one.code)):
        what = Text.assemble((f"{wording.printable(finding.title)}. ", "bold"), wording.printable(finding.detail))
        severity = Text(finding.severity, style=STYLES[finding.severity])
        table.add_row(severity, Text(finding.code), what, Text(_about(finding, scores)))
    return table


def _about(finding: Finding, scores: Scores) -> str:
    """Whom a finding is about, in a few words."""
    if len(scores.systems) > 1 and finding.system == ", ".join(scores.systems):
        return "all systems"
    name = wording.printable(finding.system)
    return wording.shorten(name, SYSTEM_WIDTH[1] // 2) if finding.system in scores.systems else name


@dataclass(frozen=True)
class _Column:
    """A heading and a cell for each row of the table."""

    heading: str
    cells: list[Text]

    @property
    def width(self) -> int:
        return max(cell_len(self.heading), *(cell.cell_len for cell in self.cells))


@dataclass(frozen=True)
class _TextTable:
    board: Board
    width: int | None
    digits: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = self.width or options.max_width
        before, after = wording.conventions(self.board.scores), self._notes()
        parts: list[RenderableType] = [Text(f"{before}\n")] if before else []
        for table in self._tables(width):
            parts += [table, Text()]
        parts += [Text(f"{after}\n", style="dim")] if after else []
        yield from console.render(Group(*parts), options.update_width(width))

    def _tables(self, width: int) -> Iterator[Table]:
        """One table if the width allows it, else several."""
        measured = [self._means(), self._intervals(), self._counts("n")]
        compared = self._compared()
        counted = [self._counts(name) for name in self.board.counts]
        choices = ([measured + compared + counted], [measured + compared], [measured, compared])
        fitting = [groups for groups in choices if self._room(width, groups) >= self._names_need()]
        groups = next(iter(fitting), choices[-1])
        metric, system = self._name_widths(self._room(width, groups))
        for group in filter(None, groups):
            yield self._filled(group, metric, system)
        if counted and groups is not choices[0]:
            yield self._tallied(counted, width, min(system, SYSTEM_WIDTH[1] // 2))

    def _room(self, width: int, groups: Sequence[Sequence[_Column]]) -> int:
        """What the columns leave for the names of metric and system, in the fullest of several tables."""
        return min(width - sum(GAP + column.width for column in group) - GAP for group in groups)

    def _names_need(self) -> int:
        """What the two names want at least to be readable."""
        metric, system = self._longest()
        return min(metric, self._least_metric()) + min(system, SYSTEM_WIDTH[0])

    def _name_widths(self, room: int) -> tuple[int, int]:
        """As wide as the names are; if that is too much, metrics are wrapped first, then systems shortened."""
        metric, system = self._longest()
        metric = max(min(metric, self._least_metric()), min(metric, room - system))
        system = max(min(system, SYSTEM_WIDTH[0]), min(system, room - metric))
        if metric + system > room:  # a very narrow terminal
            system = min(system, max(NARROWEST, room - metric))
            metric = min(metric, max(NARROWEST, room - system))
        return metric, system

    def _longest(self) -> tuple[int, int]:
        metrics, systems = self.board.scores.metrics, self.board.scores.systems
        metric = max(cell_len(name) for name in (*metrics, "metric"))
        system = max(cell_len(wording.printable(name)) for name in (*systems, "system"))
        return min(metric, METRIC_WIDTH[1]), min(system, SYSTEM_WIDTH[1])

    def _least_metric(self) -> int:
        """The longest piece of a metric's name that is not cut."""
        pieces = [cell_len(piece) for metric in self.board.scores.metrics for piece in _pieces(metric)]
        return min(max(pieces, default=0), METRIC_WIDTH[0])

    def _filled(self, columns: Sequence[_Column], metric_width: int, system_width: int) -> Table:
        table = bare_table()
        table.add_column("metric", no_wrap=True)
        table.add_column("system", no_wrap=True)
        for column in columns:
            table.add_column(column.heading, justify="right", overflow="fold")
        row = 0
        for metric, rows in self.board.groups():
            names = _wrapped(metric, metric_width)
            height = max(len(rows), len(names))
            if row and height > 1:
                table.add_row()
            for i in range(height):
                name = Text(names[i] if i < len(names) else "")
                if i < len(rows):
                    system = Text(wording.shorten(wording.printable(rows[i].system), system_width))
                    table.add_row(name, system, *(column.cells[row + i] for column in columns))
                else:
                    table.add_row(name)
            row += len(rows)
        return table

    def _tallied(self, counted: Sequence[_Column], width: int, system_width: int) -> Table:
        """The counts that are not 0, metrics with equal counts in one row."""
        table = bare_table()
        table.add_column("system", no_wrap=True)
        table.add_column("metrics", overflow="fold")
        for column in counted:
            table.add_column(column.heading, justify="right", overflow="fold")
        room = max(NARROWEST, self._room(width, [counted]) - system_width)
        for tally in self.board.tallies():
            counts = dict(zip(COUNTS, tally.counts[1:], strict=True))
            if any(counts.values()):
                whole = len(tally.metrics) == len(self.board.scores.metrics)
                system = Text(wording.shorten(wording.printable(tally.system), system_width))
                metrics = Text("all" if whole else "\n".join(_wrapped(", ".join(tally.metrics), room)))
                table.add_row(system, metrics, *(Text(f"{counts[name]:,}") for name in self.board.counts))
        return table

    def _rows(self) -> Iterator[Summary]:
        for _, rows in self.board.groups():
            yield from rows

    def _means(self) -> _Column:
        best = {metric: self.board.best(metric) for metric in self.board.scores.metrics}
        cells = [
            Text(wording.number(row.mean, self.digits), style="bold" if row.system in best[row.metric] else "")
            for row in self._rows()
        ]
        return _Column("mean", cells)

    def _intervals(self) -> _Column:
        cells = [Text(wording.interval(row.low, row.high, self.digits)) for row in self._rows()]
        return _Column(f"{wording.level(self.board.scores)} interval", cells)

    def _counts(self, name: str) -> _Column:
        return _Column(name, [Text(f"{getattr(row, name):,}") for row in self._rows()])

    def _compared(self) -> list[_Column]:
        comparison = self.board.comparison
        if comparison is None:
            return []
        heading, name = ("vs best", "best") if comparison.baseline is None else ("vs base", "baseline")
        differences, ps = [], []
        for row in self._rows():
            found = self.board.versus(row.system, row.metric)
            style = "dim" if found and not found.significant else ""
            is_reference = row.system == self.board.reference(row.metric)
            none = name if is_reference and row.metric in self.board.scores.unit_metrics else wording.NOTHING
            differences.append(Text(wording.difference(found.difference, self.digits) if found else none, style=style))
            ps.append(Text(wording.p_value(found.p_adjusted) if found else wording.NOTHING, style=style))
        return [_Column(heading, differences), _Column("p", ps)]

    def _notes(self) -> str:
        comparison = self.board.comparison
        notes = [wording.method(self.board.scores, comparison)]
        if comparison is not None and comparison.rows:
            known = comparison.baseline
            of = "the best system of each metric" if known is None else f"the baseline, {wording.printable(known)}"
            notes.append(f"Differences are to {of}.")
        return " ".join(filter(None, [*notes, wording.uncut(self.board.scores)]))


def bare_table() -> Table:
    """A table with one rule, below its headings."""
    # Between two columns stand the padding of one and the divider, which is a blank.
    return Table(
        box=BARE, header_style="bold", border_style="dim", padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )


def _pieces(name: str) -> list[str]:
    """The name of a metric in pieces that are not cut.

    >>> _pieces("ndcg(gain='exp2', discount='jk')@10")
    ['ndcg(', "gain='exp2',", " discount='jk')@10"]
    """
    return re.split(r"(?<=[,(])", name)


def _wrapped(name: str, width: int) -> list[str]:
    """The name of a metric in lines of at most ``width``, cut after commas and brackets where there are any.

    >>> _wrapped("ndcg(gain='exp2', discount='jk')@10", 20)
    ["ndcg(gain='exp2',", "discount='jk')@10"]
    """
    lines = [""]
    for piece in _pieces(name):
        if cell_len(lines[-1] + piece) <= width:
            lines[-1] += piece
        else:
            rest = piece.lstrip()
            lines += [rest[start : start + width] for start in range(0, len(rest), width)]
    return [line for line in lines if line]
