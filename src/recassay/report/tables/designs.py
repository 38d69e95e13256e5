"""Systems under designs for a terminal: a matrix of means, with rho and a mark where the order of systems changes.

If the terminal is too narrow for the matrix, systems are listed below each other, with their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recassay.errors import UsageError, printable
from recassay.naming.grammar import suggest
from recassay.report.content import wording
from recassay.report.content.grids import Grid, notes, result_grids
from recassay.report.tables.text import GAP, bare_table
from recassay.results.design_scores import DesignScores

DESIGN_WIDTH = 36
NAME_WIDTH = (8, 24)  # of the name of a system: minimum and maximum


def designs_table(
    scores: DesignScores, metric: str | None = None, *, width: int | None = None, digits: int = 4
) -> RenderableType:
    """Return a table per metric, or of one metric: the mean of every system under every design, the best in bold.

    A design says which items are ranked; ``rho`` is the share of relevant items among them. ``width`` defaults to the
    width of the terminal. ``order`` compares the order of systems with the order under the first design: the same, or
    different with Kendall's tau of the two.

    >>> from types import SimpleNamespace
    >>> from rich.console import Console
    >>> def row(design, system, mean):
    ...     content = {"design": design, "system": system, "metric": "ndcg@10", "mean": mean, "rho": 0.05}
    ...     return SimpleNamespace(metric="ndcg@10", to_dict=lambda: content)
    >>> means = {"TI-AR-AN": (0.1370, 0.0720), "TI-1R-NN(20)": (0.0753, 0.0760)}
    >>> rows = tuple(row(d, s, m) for d, line in means.items() for s, m in zip(("pop", "random"), line))
    >>> scores = DesignScores(("pop", "random"), tuple(means), ("ndcg@10",), rows, {})
    >>> Console(width=100).print(designs_table(scores))
    ndcg@10
    design           pop  random     rho  order
    ───────────────────────────────────────────────
    TI-AR-AN      0.1370  0.0720  0.0500  first
    TI-1R-NN(20)  0.0753  0.0760  0.0500  ≠ τ -1.00
    ≠: different order from TI-AR-AN; τ: Kendall's tau
    """
    if metric is not None and metric not in scores.metrics:
        raise UsageError("U101", f"'{metric}' was not scored", hint=suggest(metric, scores.metrics))
    return rows_table(
        [row.to_dict() for row in scores.rows if metric in (None, row.metric)], width=width, digits=digits
    )


def rows_table(rows: Iterable[Mapping[str, Any]], *, width: int | None = None, digits: int = 4) -> RenderableType:
    """Return the tables of :func:`designs_table` from rows of ``summary.json``."""
    return _DesignTables([grid for results in result_grids(rows, []) for grid in results.grids], width, digits)


@dataclass(frozen=True)
class _DesignTables:
    grids: list[Grid]
    width: int | None
    digits: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = self.width or options.max_width
        parts: list[RenderableType] = []
        for place, grid in enumerate(self.grids):
            parts += [Text()] if place else []
            matrix = self._matrix(grid, width)
            parts += [Text(grid.metric, style="bold"), self._list(grid, width) if matrix is None else matrix]
            if any(_order(grid, design).startswith("≠") for design in grid.designs):
                parts.append(Text(f"≠: different order from {grid.designs[0]}; τ: Kendall's tau", style="dim"))
            parts += [Text(note, style="dim") for note in [notes(grid)] if note]
        yield from console.render(Group(*parts), options.update_width(width))

    def _matrix(self, grid: Grid, width: int) -> Table | None:
        """Return a table of designs by systems; None if names of systems would become too short."""
        names = self._names(grid, width)
        if names is None:
            return None
        table = _table("design", *names, "rho", "order", left=("design", "order"))
        for design in grid.designs:
            best = grid.best(design)
            means = [self._mean(grid, system, design, bold=system in best) for system in grid.systems]
            table.add_row(_design(design), *means, self._rho(grid, design), Text(_order(grid, design)))
        return table

    def _names(self, grid: Grid, width: int) -> list[str] | None:
        """Return the names of systems, shortened to fit the width; None if they would be too short or not unique."""
        order = max(cell_len(_order(grid, design)) for design in grid.designs)
        other = [_widest(grid), self._number_width(grid, "rho"), max(order, cell_len("order"))]
        room = width - sum(other) - GAP * (len(grid.systems) + len(other) - 1)
        least = max(NAME_WIDTH[0], self._number_width(grid, "mean"))
        for longest in range(NAME_WIDTH[1], least - 1, -1):
            names = [wording.shorten(printable(name), longest) for name in grid.systems]
            needed = sum(max(cell_len(name), self._number_width(grid, "mean")) for name in names)
            if needed <= room and len(set(names)) == len(names):
                return names
        return None

    def _list(self, grid: Grid, width: int) -> RenderableType:
        """Return a line per design with its systems below it, for narrow terminals."""
        intervals = [self._interval(grid, system, design) for design in grid.designs for system in grid.systems]
        numbers = [self._number_width(grid, "mean"), max(map(cell_len, intervals))]
        if width - sum(numbers) - GAP * 3 < NAME_WIDTH[0]:
            numbers.pop()
        longest = min(NAME_WIDTH[1], max(NAME_WIDTH[0], width - sum(numbers) - GAP * (len(numbers) + 1)))
        names = {system: wording.shorten(printable(system), longest) for system in grid.systems}
        parts: list[RenderableType] = []
        for design in grid.designs:
            rho = wording.number(grid.value(grid.systems[0], design, "rho"), self.digits)
            parts.append(Text(f"{design}  rho {rho}  {_order(grid, design)}", overflow="fold"))
            table = _table("system", "mean", "interval", left=("system",))
            table.columns, table.show_header = table.columns[: 1 + len(numbers)], False
            table.columns[0].width = max(map(cell_len, names.values()))
            for system in grid.systems:
                mean = self._mean(grid, system, design, bold=system in grid.best(design))
                cells = [Text(names[system]), mean, Text(self._interval(grid, system, design))]
                table.add_row(*cells[: 1 + len(numbers)])
            parts.append(Padding(table, (0, 0, 0, GAP)))
        return Group(*parts)

    def _interval(self, grid: Grid, system: str, design: str) -> str:
        low, high = (grid.value(system, design, name) for name in ("low", "high"))
        return wording.interval(low, high, self.digits)

    def _mean(self, grid: Grid, system: str, design: str, *, bold: bool) -> Text:
        return Text(wording.number(grid.value(system, design), self.digits), style="bold" if bold else "")

    def _rho(self, grid: Grid, design: str) -> Text:
        """Return the share of relevant items among the items that a design ranks together, as text.

        It is the same for all systems.
        """
        return Text(wording.number(grid.value(grid.systems[0], design, "rho"), self.digits))

    def _number_width(self, grid: Grid, name: str) -> int:
        values = [grid.value(system, design, name) for system in grid.systems for design in grid.designs]
        return max(cell_len(wording.number(value, self.digits)) for value in values)


def _order(grid: Grid, design: str) -> str:
    """Return how the order of systems under a design compares with that under the first: ``same``, or Kendall's tau."""
    if design == grid.designs[0]:
        return "first"
    if grid.higher_is_better is None or len(grid.systems) < 2:
        return wording.NOTHING
    tau = grid.agreement(design)
    if grid.same_order(design):
        return wording.NOTHING if math.isnan(tau) else "same"
    return f"≠ τ {wording.number(tau, 2)}"


def _design(name: str) -> Text:
    return Text(wording.shorten(name, DESIGN_WIDTH))


def _widest(grid: Grid) -> int:
    return max(cell_len("design"), *(_design(design).cell_len for design in grid.designs))


def _table(*headings: str, left: tuple[str, ...]) -> Table:
    table = bare_table()
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading in left else "right", no_wrap=True)
    return table
