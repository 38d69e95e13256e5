"""Figures of the report page: drawings with caption and data table, and the exhibits of means and ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from recassay.report.content import wording
from recassay.report.content.grids import Grid
from recassay.report.figures import panels, undrawn
from recassay.results.exhibit import Exhibit

DIGITS = 4
MAX_ROWS = 1000  # of the data table of a figure
CHARACTERS_PER_CELL = 45  # of a table, with its markup, roughly
MAX_CHARACTERS = 2_500_000  # of all figures next to results, so that a phone can open the page


@dataclass
class SizeBudget:
    """How many characters (``left``) further figures of a page may take, and how many figures were left out."""

    left: int = MAX_CHARACTERS
    left_out: int = 0

    def take(self, content: dict[str, Any]) -> bool:
        """Reserve the space of a figure and return True; if it does not fit, count it and return False.

        ``content`` are the values of the figure for the template.
        """
        size = sum(len(panel.svg) for panel in content["panels"])
        size += CHARACTERS_PER_CELL * len(content["columns"]) * len(content["lines"])
        if size > self.left:
            self.left_out += 1
            return False
        self.left -= size
        return True


def figure(exhibit: Exhibit, name: str) -> dict[str, Any]:
    """Return an exhibit (a table to draw) as values for the page's template; ``name`` is its id on the page."""
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
            for row in table.head(MAX_ROWS).to_dicts()
        ],
        "left_out": max(0, table.height - MAX_ROWS),
    }  # fmt: skip


def cell(value: Any, *, exact: bool) -> tuple[str, str]:
    """Return two texts: a value as it is shown, and a number at full precision ("" for NaN and for what is no number).

    With ``exact``, a float is shown with four decimals, as means are; else with six significant digits.
    """
    if value is None:
        return wording.UNDEFINED, ""
    if isinstance(value, float):
        shown = wording.number(value, DIGITS) if exact or math.isnan(value) else f"{value:.6g}"
        return shown, "" if math.isnan(value) else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}", str(value)
    return str(value), ""


def means(grid: Grid, design: str) -> Exhibit:
    """Return a chart of the means of all systems under one design, best first, with their intervals."""
    import polars as pl

    rows = [
        {"system": system, **{name: grid.value(system, design, name) for name in ("mean", "low", "high")}}
        for system in grid.ranked(design)
    ]
    return Exhibit(
        f"means-{grid.metric}-{design}",
        f"{grid.metric} by system",
        "Dots are means, lines are intervals. Systems can differ significantly in the paired comparison although their "
        "intervals overlap.",
        pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(("mean", "low", "high"), pl.Float64)}),
        "mean",
        "system",
        low="low",
        high="high",
        kind="dot",
    )


def ranks(grid: Grid) -> Exhibit:
    """Return a heat map of the rank of every system under every design; the longer axis is vertical."""
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
        f"Ranks by {grid.metric} under each design",
        f"1 is the best. The rank of a system depends on the design if the shade of its {'column' if down else 'row'} "
        "changes.",
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
