"""Systems under designs for a terminal: a matrix of means, with rho and a mark where the order of systems changes.

Where the width does not suffice for the matrix, systems stand below each other and have their intervals instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recassay.data.assay import Assay
from recassay.errors import UsageError
from recassay.report import wording
from recassay.report.page.board import Grid, boards, uncut
from recassay.spec import suggest

DESIGN_WIDTH = 36
NAME_WIDTH = (8, 24)  # of a system: the least it is cut to, and what it never exceeds
GAP = 2


def designs_table(
    assay: Assay, metric: str | None = None, *, width: int | None = None, digits: int = 4
) -> RenderableType:
    """A table per metric (or of one): the mean of every system under every design, the best of a design in bold.

    ``width`` is that of the terminal unless given. ``order`` compares the order of systems with that under the first
    design: the same, or another with Kendall's tau of the two.

    >>> from types import SimpleNamespace
    >>> from rich.console import Console
    >>> def worth(design, system, mean):
    ...     row = {"design": design, "system": system, "metric": "ndcg@10", "mean": mean, "rho": 0.05}
    ...     return SimpleNamespace(metric="ndcg@10", to_dict=lambda: row)
    >>> means = {"TI-AR-AN": (0.1370, 0.0720), "TI-1R-NN(20)": (0.0753, 0.0760)}
    >>> rows = tuple(worth(d, s, m) for d, line in means.items() for s, m in zip(("pop", "random"), line))
    >>> assay = Assay(("pop", "random"), tuple(means), ("ndcg@10",), rows, {})
    >>> Console(width=100).print(designs_table(assay))
    ndcg@10
    design           pop  random     rho  order
    ───────────────────────────────────────────────
    TI-AR-AN      0.1370  0.0720  0.0500  first
    TI-1R-NN(20)  0.0753  0.0760  0.0500  ≠ τ -1.00
    ≠: another order than under TI-AR-AN; τ: Kendall's tau
    """
    if metric is not None and metric not in assay.metrics:
        raise UsageError("U101", f"'{metric}' was not judged", hint=suggest(metric, assay.metrics))
    return rows_table([row.to_dict() for row in assay.rows if metric in (None, row.metric)], width=width, digits=digits)


def rows_table(rows: Iterable[Mapping[str, Any]], *, width: int | None = None, digits: int = 4) -> RenderableType:
    """As :func:`designs_table` from rows of a summary."""
    return _Designs([grid for board in boards(rows, []) for grid in board.grids], width, digits)


@dataclass(frozen=True)
class _Designs:
    grids: list[Grid]
    width: int | None
    digits: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = self.width or options.max_width
        parts: list[RenderableType] = []
        for place, grid in enumerate(self.grids):
            parts += [Text()] if place else []
            matrix = self._matrix(grid, width)
            parts += [Text(grid.metric, style="bold"), self._long(grid, width) if matrix is None else matrix]
            if any(_order(grid, design).startswith("≠") for design in grid.designs):
                parts.append(Text(f"≠: another order than under {grid.designs[0]}; τ: Kendall's tau", style="dim"))
            parts += [Text(note, style="dim") for note in [uncut(grid)] if note]
        yield from console.render(Group(*parts), options.update_width(width))

    def _matrix(self, grid: Grid, width: int) -> Table | None:
        """Designs by systems; None where names would be cut too short."""
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
        """The names of the systems, as long as there is room for them."""
        order = max(cell_len(_order(grid, design)) for design in grid.designs)
        around = [_widest(grid), self._number_width(grid, "rho"), max(order, cell_len("order"))]
        room = width - sum(around) - GAP * (len(grid.systems) + len(around) - 1)
        least = max(NAME_WIDTH[0], self._number_width(grid, "mean"))
        for longest in range(NAME_WIDTH[1], least - 1, -1):
            names = [wording.shorten(wording.printable(name), longest) for name in grid.systems]
            needed = sum(max(cell_len(name), self._number_width(grid, "mean")) for name in names)
            if needed <= room and len(set(names)) == len(names):
                return names
        return None

    def _long(self, grid: Grid, width: int) -> RenderableType:
        """Every design on a line of its own, its systems below it."""
        intervals = [self._interval(grid, system, design) for design in grid.designs for system in grid.systems]
        numbers = [self._number_width(grid, "mean"), max(map(cell_len, intervals))]
        if width - sum(numbers) - GAP * 3 < NAME_WIDTH[0]:
            numbers.pop()
        longest = min(NAME_WIDTH[1], max(NAME_WIDTH[0], width - sum(numbers) - GAP * (len(numbers) + 1)))
        names = {system: wording.shorten(wording.printable(system), longest) for system in grid.systems}
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
        """The share of relevant items in a target set, which no system has a part in."""
        return Text(wording.number(grid.value(grid.systems[0], design, "rho"), self.digits))

    def _number_width(self, grid: Grid, name: str) -> int:
        values = [grid.value(system, design, name) for system in grid.systems for design in grid.designs]
        return max(cell_len(wording.number(value, self.digits)) for value in values)


def _order(grid: Grid, design: str) -> str:
    """How the order of systems under a design compares with the first one's."""
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
    bare = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    table = Table(
        box=bare, header_style="bold", border_style="dim", padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading in left else "right", no_wrap=True)
    return table
