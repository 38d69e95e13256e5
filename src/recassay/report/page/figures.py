"""Figures as the page writes them: pictures, what to see in them, and the table behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from recassay.data.exhibit import Exhibit
from recassay.report import wording
from recassay.report.figures import panels, undrawn
from recassay.report.page.board import Grid

DIGITS = 4
MOST_ROWS = 1000  # of the table behind a figure
LETTERS_OF_A_CELL = 45  # of a table, with its markup, about
MOST_LETTERS = 2_500_000  # of figures that stand beside results: a page is opened on a phone too


@dataclass
class Room:
    """How much more of figures a page may hold; what is left out is counted."""

    left: int = MOST_LETTERS
    left_out: int = 0

    def take(self, made: dict[str, Any]) -> bool:
        """Whether there is room for a figure; then it is taken."""
        size = sum(len(one.svg) for one in made["panels"])
        size += LETTERS_OF_A_CELL * len(made["columns"]) * len(made["lines"])
        if size > self.left:
            self.left_out += 1
            return False
        self.left -= size
        return True


def figure(exhibit: Exhibit, name: str) -> dict[str, Any]:
    """An exhibit ready to be written; ``name`` is its own on the page."""
    table = exhibit.table
    exact = {exhibit.y, exhibit.low, exhibit.high, exhibit.value}
    return {
        "id": name,
        "file": exhibit.name,
        "title": exhibit.title,
        "caption": exhibit.caption,
        "panels": [] if table.is_empty() else panels(exhibit),
        "undrawn": undrawn(exhibit),
        "columns": [(name, dtype.is_numeric()) for name, dtype in table.schema.items()],
        "lines": [
            [cell(value, exact=name in exact) for name, value in row.items()]
            for row in table.head(MOST_ROWS).to_dicts()
        ],
        "left_out": max(0, table.height - MOST_ROWS),
    }  # fmt: skip


def cell(value: Any, *, exact: bool) -> tuple[str, str]:
    """A value as it is shown, and as a file has it where that is more; ``exact`` ones have the digits of a mean."""
    if value is None:
        return wording.UNDEFINED, ""
    if isinstance(value, float):
        shown = wording.number(value, DIGITS) if exact or math.isnan(value) else f"{value:.6g}"
        return shown, "" if math.isnan(value) else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}", str(value)
    return str(value), ""


def means(grid: Grid, design: str) -> Exhibit:
    """The systems under one design, best first, with their intervals."""
    import polars as pl

    rows = [
        {"system": system, **{name: grid.value(system, design, name) for name in ("mean", "low", "high")}}
        for system in grid.ranked(design)
    ]
    return Exhibit(
        f"means-{grid.metric}-{design}",
        f"{grid.metric} of every system",
        "A dot is a mean, its line the interval. Intervals that overlap may still belong to systems that the paired "
        "comparison tells apart.",
        pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(("mean", "low", "high"), pl.Float64)}),
        "mean",
        "system",
        low="low",
        high="high",
        kind="dot",
    )


def ranks(grid: Grid) -> Exhibit:
    """The place of every system under every design; the longer side runs down the page."""
    import polars as pl

    rows = []
    for system in grid.systems:
        for design in grid.designs:
            mean = grid.value(system, design)
            better = [other for other in grid.ranked(design) if _ahead(grid, design, other, system)]
            rank = None if math.isnan(mean) else len(better) + 1
            rows.append({"system": system, "design": design, "rank": rank, "mean": None if math.isnan(mean) else mean})
    down = len(grid.designs) > len(grid.systems)
    table = pl.DataFrame(rows, infer_schema_length=None)
    if down:
        order = {design: at for at, design in enumerate(grid.designs)}
        table = table.sort(pl.col("design").replace_strict(order), maintain_order=True)
    return Exhibit(
        f"ranks-{grid.metric}",
        f"Ranks by {grid.metric} under every design",
        "1 is the best. A row that changes its shade is a system whose place depends on the design.",
        table,
        "system" if down else "design",
        "design" if down else "system",
        kind="heat",
        value="rank",
        downwards=True,
    )


def _ahead(grid: Grid, design: str, other: str, system: str) -> bool:
    sign = 1 if grid.higher_is_better else -1
    return sign * grid.value(other, design) > sign * grid.value(system, design)
