"""An exhibit as pictures, one per facet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from recassay.data.exhibit import Exhibit
from recassay.report.figures import lines, rows
from recassay.report.figures.chart import WIDTH
from recassay.report.figures.scale import is_number

Row = dict[str, Any]
Draw = Callable[[Exhibit, Sequence[Row], Sequence[Row], Sequence[str], str], str]
OTHERS: dict[str, Draw] = {"dot": rows.dots, "heat": rows.heat, "parallel": rows.parallel}


@dataclass(frozen=True)
class Panel:
    """A picture under its heading."""

    heading: str
    svg: str

    @property
    def wide(self) -> bool:
        """Whether it has more columns than a picture has room for, and is scrolled on small screens."""
        return f' width="{WIDTH}"' not in self.svg.partition(">")[0]


def panels(exhibit: Exhibit) -> list[Panel]:
    """The pictures of an exhibit, one per facet, with the same colours, and scales unless they have their own.

    There are none if nothing can be drawn.
    """
    drawable = [row for row in exhibit.table.to_dicts() if _drawable(row, exhibit)]
    names = list(dict.fromkeys(str(row[exhibit.series]) for row in drawable)) if exhibit.series else [""]
    facets = list(dict.fromkeys(row[exhibit.facet] for row in drawable)) if exhibit.facet else [None]
    draw = OTHERS.get(exhibit.kind, lines.lines)
    found = []
    for facet in facets if drawable else []:
        chosen = [row for row in drawable if exhibit.facet is None or row[exhibit.facet] == facet]
        heading = "" if facet is None else f"{exhibit.facet}: {facet}"
        title = f"{exhibit.title}{f', {heading}' if heading else ''}"
        found.append(Panel(heading, draw(exhibit, chosen, chosen if exhibit.own_scales else drawable, names, title)))
    return found


def undrawn(exhibit: Exhibit) -> int:
    """Rows of the table that no picture can show: undefined, or not above 0 where the axis is logarithmic."""
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
