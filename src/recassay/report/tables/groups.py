"""Means by group for a terminal: the gap of every system, and the groups of the first metric."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.groups import groups_counts, groups_method, groups_title
from recassay.report.tables.text import bare_table
from recassay.results.group_scores import GroupGap, GroupRow, GroupScores

NARROW = 3  # systems whose intervals fit beside their means
NAME_WIDTH = 20
MAX_GROUPS = 20  # lines of one metric


def groups_text(groups: GroupScores, *, digits: int = 4) -> RenderableType:
    """Return the gap between groups of each system by each metric, then the means by group of the first metric."""
    parts: list[RenderableType] = [Text(groups_title(groups), style="bold"), Text(groups_counts(groups)), Text()]
    if groups.gaps:
        parts += [_gaps_table(groups, digits), Text()]
    parts += [_groups_table(groups, groups.metrics[0], digits), *_more_groups(groups), Text()]
    if left := len(groups.metrics) - 1:
        parts += [
            Text(f"{left} more {'metric' if left == 1 else 'metrics'} by group: -o FOLDER or --json", style="dim")
        ]
    dim = "Dim groups do not differ significantly from the mean over all users."
    return Group(*parts, Text(f"{groups_method(groups)} {dim}", style="dim"), Text())


def _gaps_table(groups: GroupScores, digits: int) -> Table:
    table = bare_table()
    for heading in ("metric", "system"):
        table.add_column(heading, overflow="fold")
    for heading in ("gap", f"{100 * groups.level:.4g} % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("worst", "best"):
        table.add_column(heading, overflow="fold")
    for metric in groups.metrics:
        name = metric
        for gap in (gap for gap in groups.gaps if gap.metric == metric):
            table.add_row(Text(printable(name)), *_gap_cells(groups, gap, digits))
            name = ""
    return table


def _gap_cells(groups: GroupScores, gap: GroupGap, digits: int) -> Iterator[Text]:
    style = "" if gap.significant else "dim"
    yield _name(gap.system)
    yield Text(wording.difference(gap.gap, digits), style=style)
    yield Text(wording.interval(gap.low, gap.high, digits), style=style)
    yield Text(wording.p_value(gap.p), style=style)
    for group in (gap.worst, gap.best):
        row = groups.row(gap.system, gap.metric, group)
        mean = "" if row is None else f" {wording.number(row.mean, digits)}"
        yield Text(f"{wording.shorten(printable(group), NAME_WIDTH)}{mean}", style=style)


def _groups_table(groups: GroupScores, metric: str, digits: int) -> Table:
    table = bare_table()
    table.add_column(metric, no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    systems = groups.systems
    for system in systems:
        table.add_column(_name(system), justify="right", no_wrap=True)
    for group in groups.groups[:MAX_GROUPS]:
        rows = [groups.row(system, metric, group) for system in systems]
        if any(rows):
            most = max(row.n for row in rows if row is not None)
            cells = (_mean(row, digits, narrow=len(systems) <= NARROW) for row in rows)
            table.add_row(_name(group), f"{most:,}", *cells)
    return table


def _more_groups(groups: GroupScores) -> Iterator[Text]:
    if (more := len(groups.groups) - MAX_GROUPS) > 0:
        yield Text(f"{more:,} more {'group' if more == 1 else 'groups'}: -o FOLDER or --json", style="dim")


def _mean(row: GroupRow | None, digits: int, *, narrow: bool) -> Text:
    if row is None:
        return Text(wording.NOTHING, style="dim")
    bounds = wording.interval(row.low, row.high, digits)
    between = f" ({bounds})" if narrow and bounds != wording.NOTHING else ""
    return Text(f"{wording.number(row.mean, digits)}{between}", style="" if row.significant else "dim")


def _name(name: str) -> Text:
    return Text(wording.shorten(printable(name), NAME_WIDTH))
