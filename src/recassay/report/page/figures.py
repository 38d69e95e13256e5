"""Figures of the report page: drawings with caption and data table, and the exhibits of means and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars as pl

from recassay.comparison.verdict import Verdict
from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids
from recassay.report.content.verdict import lead_names
from recassay.report.figures import panels, undrawn
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import GIVEN

MAX_ROWS = 1000  # of the data table of a figure
MAX_PICTURES = 12  # places whose systems the first figure shows
CHARACTERS_PER_CELL = 45  # of a table, with its markup, roughly
MAX_CHARACTERS = 2_500_000  # of all figures next to results, so that a phone can open the page
NUMBERS = ("mean", "low", "high")


@dataclass
class SizeBudget:
    """How many characters (``left``) further figures of a page may take, and how many figures were left out."""

    left: int = MAX_CHARACTERS
    left_out: int = 0

    def figures(self, exhibits: Iterable[Exhibit], name: str) -> list[dict[str, Any]]:
        """Return the figures of exhibits that have a drawing and that fit; ids on the page begin with ``name``."""
        drawn = (figure(exhibit, f"{name}-{at}") for at, exhibit in enumerate(exhibits, start=1))
        return [content for content in drawn if content["panels"] and self._take(content)]

    def _take(self, content: dict[str, Any]) -> bool:
        size = sum(len(panel.svg) for panel in content["panels"])
        size += CHARACTERS_PER_CELL * len(content["columns"]) * len(content["lines"])
        fits = size <= self.left
        self.left -= size * fits
        self.left_out += not fits
        return fits


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
        shown = wording.number(value) if exact or math.isnan(value) else f"{value:.6g}"
        return shown, "" if math.isnan(value) else repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}", str(value)
    return str(value), ""


def means(grid: Grid, design: str) -> Exhibit:
    """Return a chart of the means of all systems under one design (which items are ranked), best first."""
    return _dots(
        f"means-{grid.metric}-{design}",
        f"{grid.metric} by system",
        "Dots are means, lines are intervals. Systems can differ significantly in the paired comparison although their "
        "intervals overlap.",
        [("", grid, system, design) for system in grid.ranked(design)],
    )


def _dots(
    name: str, title: str, caption: str, rows: Sequence[tuple[str, Grid, str, str]], facet: str | None = None
) -> Exhibit:
    """Return a chart of means with intervals, a row for each (setting, grid, system, design) in ``rows``.

    A grid has the results by one metric, and a design says which items are ranked as candidates.

    ``facet`` names the column of settings, which has a panel for each of them; without it, the settings are not shown.
    """
    numbers = [
        {
            **({facet: setting} if facet else {}), "system": system,
            **{number: grid.value(system, design, number) for number in NUMBERS},
        }
        for setting, grid, system, design in rows
    ]  # fmt: skip
    kinds = {**({facet: pl.String} if facet else {}), "system": pl.String, **dict.fromkeys(NUMBERS, pl.Float64)}
    table = pl.DataFrame(numbers, schema=kinds)
    return Exhibit(
        name, title, caption, table, "mean", "system", facet=facet, low="low", high="high", kind="dot",
        own_scales=bool(facet),
    )  # fmt: skip


def systems(verdict: Verdict, groups: Sequence[ResultGrids]) -> Exhibit | None:
    """Return a figure of the means of all systems by the main metric, or None without a verdict.

    It has a panel per data set, split, protocol and seed. Systems are in the order of their mean rank.
    """
    leads = {lead.place.without("design"): lead for lead in verdict.leads}
    names = lead_names(verdict.leads)
    settings = [(group.place, grid) for group in groups for grid in group.grids if grid.metric == verdict.metric]
    ranks: dict[str, list[int]] = {}
    for _, grid in settings:
        for rank, system in enumerate(grid.ranked(grid.designs[0])):
            ranks.setdefault(system, []).append(rank)
    rows = []
    for place, grid in settings[:MAX_PICTURES]:
        if (lead := leads.get(place.without("design"))) is not None:
            design = lead.place.design if lead.place.design in grid.designs else grid.designs[0]
            name = names[lead.place._replace(design=GIVEN)]
            ordered = sorted(ranks, key=lambda system: fmean(ranks[system]))
            rows += [(name, grid, system, design) for system in ordered if (system, design) in grid.rows]
    if not rows:
        return None
    several = len({name for name, *_ in rows}) > 1
    order = "systems are in order of their mean rank over all settings" if len(settings) > 1 else "best on top"
    left_out = f" The first {MAX_PICTURES} of {len(settings)} settings are shown." * (len(settings) > MAX_PICTURES)
    return _dots(
        "systems",
        f"{verdict.metric} of every system",
        f"Dots are means, lines are {wording.percent(verdict.level)} intervals; {order}. Systems can differ "
        f"significantly in the paired test although their intervals overlap.{left_out}",
        rows,
        "setting" if several else None,
    )


def ranks(grid: Grid) -> Exhibit:
    """Return a heat map of the rank of every system under every design (which items are ranked).

    The longer axis is vertical.
    """
    sign = 1 if grid.higher_is_better else -1
    rows = []
    for system in grid.systems:
        for design in grid.designs:
            mean = grid.value(system, design)
            better = sum(sign * grid.value(other, design) > sign * mean for other in grid.ranked(design))
            known = not math.isnan(mean)
            rows.append(
                {
                    "system": system,
                    "design": design,
                    "rank": better + 1 if known else None,
                    "mean": mean if known else None,
                }
            )
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
