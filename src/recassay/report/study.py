"""The table of a study for a terminal: the mean of every system, a line per design and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from recassay.data.scores import restored
from recassay.metrics.registry import parse_metric
from recassay.report.designs import rows_table
from recassay.report.wording import number

HEADING = ("dataset", "split", "seed")
WIDEST = 10_000  # no terminal is


def study_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Means over all folds, systems side by side, the best of a line in bold; a table per data set, split and seed."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["fold"] == "all":
            groups.setdefault(tuple(row[key] for key in HEADING), []).append(restored(row))
    parts: list[RenderableType] = []
    for (dataset, split, seed), group in groups.items():
        title = f"{dataset}, {split}" + (f", seed {seed}" if len({key[2] for key in groups}) > 1 else "")
        parts += [Text(title, style="bold"), _Fitting(group), Text()]
    return Group(*parts)


@dataclass(frozen=True)
class _Fitting:
    """Systems side by side where there is room, else below each other: no number is cut."""

    rows: list[Mapping[str, Any]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = _table(self.rows)
        wide = Measurement.get(console, options.update_width(WIDEST), table).maximum
        yield table if wide <= options.max_width else rows_table(self.rows)


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
    before = None
    for (design, metric), line in lines.items():
        means = {system: row["mean"] for system, row in line.items() if row["mean"] is not None}
        best = _best(metric, list(means.values()))
        cells = [
            Text("–")
            if means.get(system) is None
            else Text(number(means[system], 4), style=_style(means[system], best))
            for system in systems
        ]
        table.add_row(Text(design if design != before else ""), Text(metric), *cells)
        before = design
    return table


def _best(metric: str, means: list[float]) -> float | None:
    """The best of some means; none if the metric has no good end or there is no choice."""
    higher = parse_metric(metric).higher_is_better
    if len(means) < 2 or higher is None:
        return None
    return max(means) if higher else min(means)


def _style(mean: float, best: float | None) -> str:
    return "bold" if mean == best else ""


def study_findings(findings: Iterable[Mapping[str, Any]]) -> RenderableType:
    """A line per finding: its code, severity, where, and what."""
    lines: list[RenderableType] = []
    for one in findings:
        where = ", ".join(str(one[key]) for key in ("system", "dataset", "split", "design") if one.get(key))
        often = f"; {one['cases']} cases" if one["cases"] > 1 else ""
        head = f"{one['code']} {one['severity']}: {one['title']} ({where}{often})"
        lines += [Text(head, style="bold"), Text(f"  {one['detail']}")]
    return Group(*lines) if lines else Text("No findings.")
