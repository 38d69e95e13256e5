"""The table of a study for a terminal: the means of all systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from recassay.metrics.registry import parse_metric
from recassay.report.content.wording import number
from recassay.report.tables.designs import rows_table
from recassay.results.scores import restored

HEADING = ("dataset", "split", "seed")
UNLIMITED = 10_000  # wider than any table


def study_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return a table of means over all folds per data set, split and seed, with a column per system.

    The best mean of a row is bold. ``rows`` are those of ``summary.json``.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["fold"] == "all":
            groups.setdefault(tuple(row[key] for key in HEADING), []).append(restored(row))
    parts: list[RenderableType] = []
    for (dataset, split, seed), group in groups.items():
        title = f"{dataset}, {split}" + (f", seed {seed}" if len({key[2] for key in groups}) > 1 else "")
        parts += [Text(title, style="bold"), _StudyTable(group), Text()]
    return Group(*parts)


@dataclass(frozen=True)
class _StudyTable:
    """A table with a column per system if the terminal is wide enough, else with systems below each other."""

    rows: list[Mapping[str, Any]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = _table(self.rows)
        needed = Measurement.get(console, options.update_width(UNLIMITED), table).maximum
        yield table if needed <= options.max_width else rows_table(self.rows)


def _table(rows: list[Mapping[str, Any]]) -> Table:
    systems = list(dict.fromkeys(row["system"] for row in rows))
    lines: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        lines.setdefault((row["design"], row["metric"]), {})[row["system"]] = row
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("design", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for system in systems:
        table.add_column(Text(system), justify="right")
    previous = None
    for (design, metric), line in lines.items():
        means = {system: row["mean"] for system, row in line.items() if row["mean"] is not None}
        best = _best(metric, list(means.values()))
        cells = [
            Text("–")
            if means.get(system) is None
            else Text(number(means[system], 4), style=_style(means[system], best))
            for system in systems
        ]
        table.add_row(Text(design if design != previous else ""), Text(metric), *cells)
        previous = design
    return table


def _best(metric: str, means: list[float]) -> float | None:
    """Return the best mean; None if the metric has no better direction or there is a single mean."""
    higher = parse_metric(metric).higher_is_better
    if len(means) < 2 or higher is None:
        return None
    return max(means) if higher else min(means)


def _style(mean: float, best: float | None) -> str:
    return "bold" if mean == best else ""
