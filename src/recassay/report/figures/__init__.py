"""Figures of exhibits (tables to draw) as SVG, one per facet; the same for the report page, notebooks and papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from recassay.report.figures import lines, rows
from recassay.report.figures.chart import WIDTH
from recassay.report.figures.scale import is_number
from recassay.results.exhibit import Exhibit

Row = dict[str, Any]
Draw = Callable[[Exhibit, Sequence[Row], Sequence[Row], Sequence[str], str], str]
DRAWERS: dict[str, Draw] = {"dot": rows.dots, "heat": rows.heat, "parallel": rows.parallel}


@dataclass(frozen=True)
class Panel:
    """A figure as SVG, and its heading, which names the value of the facet column that it shows."""

    heading: str
    svg: str

    @property
    def wide(self) -> bool:
        """Return whether the figure is wider than usual, so that small screens need to scroll it."""
        return f' width="{WIDTH}"' not in self.svg.partition(">")[0]


def panels(exhibit: Exhibit) -> list[Panel]:
    """Return the figures of an exhibit (a table to draw), one per value of its facet column.

    There are none if no row can be drawn. All figures share colours, and they share scales unless the exhibit has
    ``own_scales``.
    """
    drawable = [row for row in exhibit.table.to_dicts() if _drawable(row, exhibit)]
    names = list(dict.fromkeys(str(row[exhibit.series]) for row in drawable)) if exhibit.series else [""]
    facets = list(dict.fromkeys(row[exhibit.facet] for row in drawable)) if exhibit.facet else [None]
    draw = DRAWERS.get(exhibit.kind, lines.lines)
    drawn = []
    for facet in facets if drawable else []:
        chosen = [row for row in drawable if exhibit.facet is None or row[exhibit.facet] == facet]
        heading = "" if facet is None else f"{exhibit.facet}: {facet}"
        title = f"{exhibit.title}{f', {heading}' if heading else ''}"
        drawn.append(Panel(heading, draw(exhibit, chosen, chosen if exhibit.own_scales else drawable, names, title)))
    return drawn


def undrawn(exhibit: Exhibit) -> int:
    """Return the number of rows that cannot be drawn: undefined values, or values <= 0 on a logarithmic axis."""
    return sum(not _drawable(row, exhibit) for row in exhibit.table.to_dicts())


def _drawable(row: Row, exhibit: Exhibit) -> bool:
    x, y = row[exhibit.x], row[exhibit.y]
    if exhibit.kind == "heat":
        return x is not None and y is not None
    if exhibit.kind == "dot":
        return lines.finite(x) and y is not None
    if x is None or not lines.finite(y) or (isinstance(x, float) and not lines.finite(x)):
        return False
    return not (exhibit.log_x and is_number(x) and x <= 0) and not (exhibit.log_y and y <= 0)
