"""Results for a terminal: a table that fits its width, and a table of findings.

If the terminal is too narrow, the counts move to a table of their own, then the comparison does. Names of metrics are
wrapped and names of systems are shortened in the middle. Numbers are never shortened.
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

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.results_table import COUNTS, ResultTable
from recassay.results.finding import SEVERITIES, Finding
from recassay.results.scores import Scores, Summary

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison
    from recassay.comparison.verdict import Verdict

GAP = 2  # spaces between columns
SYSTEM_WIDTH = (12, 40)  # of a long name: desired minimum, and maximum
METRIC_WIDTH = (20, 36)
NARROWEST = 8
BARE = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")  # a single rule below the headings
STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def text_table(
    scores: Scores, comparison: Comparison | None = None, *, width: int | None = None, digits: int = 4
) -> RenderableType:
    """Return a table with a row per metric and system: mean, interval, n, difference to the reference, p, counts.

    The reference is the baseline of the comparison, else the best system; p is adjusted. ``width`` defaults to the
    width of the terminal. The best mean is bold. The counts are of users without a list, with a short one and so on; a
    count that is 0 for every system and metric is left out.
    """
    return _TextTable(ResultTable(scores, comparison), width, digits)


def findings_table(scores: Scores, verdict: Verdict | None = None) -> RenderableType:
    """Return a table of the findings, errors first; without findings, a line that says so.

    With the ``verdict`` on these scores, a sentence follows on whether a finding could change it.
    """
    if not scores.findings:
        return Text("No findings.", style="green")
    table = bare_table()
    for heading in ("severity", "code", "finding"):
        table.add_column(heading, overflow="fold")
    table.add_column("system", max_width=SYSTEM_WIDTH[1] // 2, overflow="fold")
    for finding in sorted(scores.findings, key=lambda finding: (-SEVERITIES.index(finding.severity), finding.code)):
        what = Text.assemble((f"{printable(finding.title)}. ", "bold"), printable(finding.detail))
        severity = Text(finding.severity, style=STYLES[finding.severity])
        table.add_row(severity, Text(finding.code), what, Text(_about(finding, scores)))
    sentence = "" if verdict is None else verdict_without(finding_groups(scores.findings, verdict), verdict)
    return Group(table, Text(f"\n{sentence}")) if sentence else table


def _about(finding: Finding, scores: Scores) -> str:
    """Return the name of the system that a finding is about, shortened to fit its column; or "all systems"."""
    if len(scores.systems) > 1 and finding.system == ", ".join(scores.systems):
        return "all systems"
    name = printable(finding.system)
    return wording.shorten(name, SYSTEM_WIDTH[1] // 2) if finding.system in scores.systems else name


@dataclass(frozen=True)
class _Column:
    """A column of a table: a heading and a cell for each row."""

    heading: str
    cells: list[Text]

    @property
    def width(self) -> int:
        return max(cell_len(self.heading), *(cell.cell_len for cell in self.cells))


@dataclass(frozen=True)
class _TextTable:
    results: ResultTable
    width: int | None
    digits: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = self.width or options.max_width
        conventions, notes = wording.conventions(self.results.scores), self._notes()
        parts: list[RenderableType] = [Text(f"{conventions}\n")] if conventions else []
        for table in self._tables(width):
            parts += [table, Text()]
        parts += [Text(f"{notes}\n", style="dim")] if notes else []
        yield from console.render(Group(*parts), options.update_width(width))

    def _tables(self, width: int) -> Iterator[Table]:
        """Yield one table of all results if the width allows it, else one each of means, comparisons and counts."""
        measured = [self._means(), self._intervals(), self._counts("n")]
        compared = self._compared()
        counted = [self._counts(name) for name in self.results.counts]
        choices = ([measured + compared + counted], [measured + compared], [measured, compared])
        fitting = (groups for groups in choices if self._room(width, groups) >= self._min_name_width())
        groups = next(fitting, choices[-1])
        metric, system = self._name_widths(self._room(width, groups))
        for group in filter(None, groups):
            yield self._table(group, metric, system)
        if counted and groups is not choices[0]:
            yield self._counts_table(counted, width, min(system, SYSTEM_WIDTH[1] // 2))

    def _room(self, width: int, groups: Sequence[Sequence[_Column]]) -> int:
        """Return the width that is left for the two columns of names (metric, system) in the widest of several tables.

        ``groups[i]`` are the other columns of table i, and ``width`` is that of the terminal.
        """
        return min(width - sum(GAP + column.width for column in group) - GAP for group in groups)

    def _min_name_width(self) -> int:
        """Return the least width at which the names of metric and system are readable."""
        metric, system = self._longest_names()
        return min(metric, self._min_metric_width()) + min(system, SYSTEM_WIDTH[0])

    def _name_widths(self, room: int) -> tuple[int, int]:
        """Return the widths of the columns of metrics and systems that fit ``room``.

        Names of metrics are wrapped before names of systems are shortened.
        """
        metric, system = self._longest_names()
        metric = max(min(metric, self._min_metric_width()), min(metric, room - system))
        system = max(min(system, SYSTEM_WIDTH[0]), min(system, room - metric))
        if metric + system > room:  # only in very narrow terminals
            system = min(system, max(NARROWEST, room - metric))
            metric = min(metric, max(NARROWEST, room - system))
        return metric, system

    def _longest_names(self) -> tuple[int, int]:
        metrics, systems = self.results.scores.metrics, self.results.scores.systems
        metric = max(cell_len(name) for name in (*metrics, "metric"))
        system = max(cell_len(printable(name)) for name in (*systems, "system"))
        return min(metric, METRIC_WIDTH[1]), min(system, SYSTEM_WIDTH[1])

    def _min_metric_width(self) -> int:
        """Return the width of the longest part of a metric's name that cannot be wrapped."""
        widths = [cell_len(part) for metric in self.results.scores.metrics for part in _parts(metric)]
        return min(max(widths, default=0), METRIC_WIDTH[0])

    def _table(self, columns: Sequence[_Column], metric_width: int, system_width: int) -> Table:
        table = bare_table()
        table.add_column("metric", no_wrap=True)
        table.add_column("system", no_wrap=True)
        for column in columns:
            table.add_column(column.heading, justify="right", overflow="fold")
        row = 0
        for metric, rows in self.results.groups():
            names = _wrapped(metric, metric_width)
            height = max(len(rows), len(names))
            if row and height > 1:
                table.add_row()
            for i in range(height):
                name = Text(names[i] if i < len(names) else "")
                if i < len(rows):
                    system = Text(wording.shorten(printable(rows[i].system), system_width))
                    table.add_row(name, system, *(column.cells[row + i] for column in columns))
                else:
                    table.add_row(name)
            row += len(rows)
        return table

    def _counts_table(self, counted: Sequence[_Column], width: int, system_width: int) -> Table:
        """Return a table of how many users had no list, a short one, and so on, by system; rows of zeros are left out.

        Metrics with equal numbers share a row. ``counted`` are the columns of these numbers, ``width`` is the width of
        the terminal, and ``system_width`` that of the names of systems.
        """
        table = bare_table()
        table.add_column("system", no_wrap=True)
        table.add_column("metrics", overflow="fold")
        for column in counted:
            table.add_column(column.heading, justify="right", overflow="fold")
        room = max(NARROWEST, self._room(width, [counted]) - system_width)
        for note in self.results.count_notes():
            counts = dict(zip(COUNTS, note.counts[1:], strict=True))
            if any(counts.values()):
                applies_to_all = len(note.metrics) == len(self.results.scores.metrics)
                system = Text(wording.shorten(printable(note.system), system_width))
                metrics = Text("all" if applies_to_all else "\n".join(_wrapped(", ".join(note.metrics), room)))
                table.add_row(system, metrics, *(Text(f"{counts[name]:,}") for name in self.results.counts))
        return table

    def _rows(self) -> Iterator[Summary]:
        for _, rows in self.results.groups():
            yield from rows

    def _means(self) -> _Column:
        best = {metric: self.results.best(metric) for metric in self.results.scores.metrics}
        cells = [
            Text(wording.number(row.mean, self.digits), style="bold" if row.system in best[row.metric] else "")
            for row in self._rows()
        ]
        return _Column("mean", cells)

    def _intervals(self) -> _Column:
        cells = [Text(wording.interval(row.low, row.high, self.digits)) for row in self._rows()]
        return _Column(f"{wording.level(self.results.scores)} interval", cells)

    def _counts(self, name: str) -> _Column:
        return _Column(name, [Text(f"{getattr(row, name):,}") for row in self._rows()])

    def _compared(self) -> list[_Column]:
        comparison = self.results.comparison
        if comparison is None:
            return []
        heading, name = ("vs best", "best") if comparison.baseline is None else ("vs base", "baseline")
        differences, ps = [], []
        for row in self._rows():
            pair = self.results.versus(row.system, row.metric)
            style = "dim" if pair and not pair.significant else ""
            is_reference = row.system == self.results.reference(row.metric)
            empty = name if is_reference and row.metric in self.results.scores.unit_metrics else wording.NOTHING
            differences.append(Text(wording.difference(pair.difference, self.digits) if pair else empty, style=style))
            ps.append(Text(wording.p_value(pair.p_adjusted) if pair else wording.NOTHING, style=style))
        return [_Column(heading, differences), _Column("p", ps)]

    def _notes(self) -> str:
        comparison = self.results.comparison
        notes = [wording.method(self.results.scores, comparison)]
        if comparison is not None and comparison.rows:
            baseline = comparison.baseline
            reference = "the best system of each metric" if baseline is None else f"the baseline, {printable(baseline)}"
            over = ", over the users that both systems have" if self.results.has_other_users else ""
            notes.append(f"Differences are relative to {reference}{over}.")
        return " ".join(filter(None, [*notes, wording.notes(self.results.scores)]))


def bare_table() -> Table:
    """Return an empty table with a single rule below its headings."""
    # The gap between two columns is the padding of the left one and a blank divider.
    return Table(
        box=BARE, header_style="bold", border_style="dim", padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )


def _parts(name: str) -> list[str]:
    """Return the parts of a metric's name between which it may be wrapped: it is split after commas and brackets.

    >>> _parts("ndcg(gain='exp2', discount='jk')@10")
    ['ndcg(', "gain='exp2',", " discount='jk')@10"]
    """
    return re.split(r"(?<=[,(])", name)


def _wrapped(name: str, width: int) -> list[str]:
    """Return the name of a metric in lines of at most ``width``, wrapped after commas and brackets if possible.

    >>> _wrapped("ndcg(gain='exp2', discount='jk')@10", 20)
    ["ndcg(gain='exp2',", "discount='jk')@10"]
    """
    lines = [""]
    for part in _parts(name):
        if cell_len(lines[-1] + part) <= width:
            lines[-1] += part
        else:
            rest = part.lstrip()
            lines += [rest[start : start + width] for start in range(0, len(rest), width)]
    return [line for line in lines if line]
