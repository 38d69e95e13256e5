"""Exhibits as figures for Plotly: plain data and layout, one panel per facet, the same colour for the same series.

Colours are numbers into a palette that the page resolves, so that a figure follows its light or dark style.
"""

from __future__ import annotations

import datetime
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recassay.data.exhibit import Exhibit
from recassay.report.wording import printable

COLOURS = 8  # of the palette in page.css
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot")

Trace = dict[str, Any]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Panel:
    """A figure under its heading: what Plotly draws."""

    heading: str
    data: list[Trace]
    layout: dict[str, Any]


def panels(exhibit: Exhibit) -> list[Panel]:
    """The figures of an exhibit, one per facet; none where there is nothing to draw."""
    rows = [row for row in exhibit.table.to_dicts() if _drawable(row, exhibit)]
    names = list(dict.fromkeys(row[exhibit.series] for row in rows)) if exhibit.series else [None]
    facets = list(dict.fromkeys(row[exhibit.facet] for row in rows)) if exhibit.facet else [None]
    layout = _layout(exhibit, rows)
    found = []
    for facet in facets if rows else []:
        chosen = [row for row in rows if exhibit.facet is None or row[exhibit.facet] == facet]
        data: list[Trace] = []
        for place, name in enumerate(names):
            own = [row for row in chosen if exhibit.series is None or row[exhibit.series] == name]
            data += _traces(exhibit, own, place, "" if exhibit.series is None else _text(name)) if own else []
        heading = "" if facet is None else f"{exhibit.facet}: {facet}"
        found.append(Panel(heading, data, layout | {"showlegend": exhibit.series is not None and len(names) > 1}))
    return found


def undrawn(exhibit: Exhibit) -> int:
    """Rows of the table that no figure can show: undefined, or not above 0 where the axis is logarithmic."""
    return sum(not _drawable(row, exhibit) for row in exhibit.table.to_dicts())


def _drawable(row: dict[str, Any], exhibit: Exhibit) -> bool:
    x, y = row[exhibit.x], row[exhibit.y]
    if x is None or not _finite(y) or (isinstance(x, float) and not math.isfinite(x)):
        return False
    return not (exhibit.log_x and isinstance(x, int | float) and x <= 0) and not (exhibit.log_y and y <= 0)


def _traces(exhibit: Exhibit, rows: Rows, place: int, name: str) -> list[Trace]:
    """A line (or bars) and the interval around it: a band along a line, a bar at a single point."""
    if _numeric([row[exhibit.x] for row in rows]):
        rows = sorted(rows, key=lambda row: row[exhibit.x])
    x, y = [_place(row[exhibit.x]) for row in rows], [float(row[exhibit.y]) for row in rows]
    main: Trace = {"x": x, "y": y, "name": name, "colour": place % COLOURS, "legendgroup": str(place)}
    if exhibit.kind == "bar":
        main |= {"type": "bar"}
    else:
        main |= {"type": "scatter", "mode": "lines+markers", "line": {"dash": DASHES[place // COLOURS % len(DASHES)]}}
        main["marker"] = {"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 7}
    if exhibit.low is None or exhibit.high is None:
        return [main]
    low, high = ([_finite_or(row[bound], row[exhibit.y]) for row in rows] for bound in (exhibit.low, exhibit.high))
    if exhibit.kind == "bar" or len(rows) == 1:
        up, down = [h - v for h, v in zip(high, y, strict=True)], [v - b for b, v in zip(low, y, strict=True)]
        return [main | {"error_y": {"type": "data", "symmetric": False, "array": up, "arrayminus": down}}]
    band: Trace = {"x": [*x, *reversed(x)], "y": [*high, *reversed(low)], "colour": place % COLOURS, "band": True}
    band |= {"type": "scatter", "mode": "lines", "fill": "toself", "line": {"width": 0}, "hoverinfo": "skip"}
    return [band | {"showlegend": False, "legendgroup": str(place)}, main]


def _layout(exhibit: Exhibit, rows: Rows) -> dict[str, Any]:
    """Axes, the same for every panel, so that panels can be compared."""
    xs = [row[exhibit.x] for row in rows]
    kind = "log" if exhibit.log_x and _numeric(xs) else "linear" if _numeric(xs) else _words(xs)
    bounds = [row[name] for row in rows for name in (exhibit.y, exhibit.low, exhibit.high) if name]
    values = [float(value) for value in bounds if _finite(value)]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    margin = 0.06 * (high - low) or 1.0
    span = [low - margin if low < 0 else 0.0, high + margin if high > 0 else 0.0]
    if span[0] == span[1]:
        span = [0.0, 1.0]
    if exhibit.downwards:  # ranks: the first on top, and no zeroth
        span = [high + margin, min(values, default=0.0) - margin]
    x_axis: dict[str, Any] = {"title": {"text": _text(exhibit.x)}, "type": kind, "automargin": True}
    if kind == "category":
        x_axis |= {"categoryorder": "array", "categoryarray": list(dict.fromkeys(_place(x) for x in xs))}
    y_axis: dict[str, Any] = {"title": {"text": _text(exhibit.y)}, "range": span, "automargin": True}
    if exhibit.log_y:  # in powers of ten
        powers = [math.log10(value) for value in values if value > 0]
        y_axis |= {"type": "log", "range": [min(powers, default=0.0) - 0.1, max(powers, default=0.0) + 0.1]}
    return {"xaxis": x_axis, "yaxis": y_axis, "barmode": "group"}


def _words(xs: Sequence[Any]) -> str:
    dates = xs and all(isinstance(x, datetime.date) for x in xs)
    return "date" if dates else "category"


def _numeric(xs: Sequence[Any]) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in xs)


def _place(x: Any) -> Any:
    """A value of the horizontal axis as JSON has it."""
    if isinstance(x, int | float) and not isinstance(x, bool):
        return x
    return x.isoformat() if isinstance(x, datetime.date) else _text(x)


def _text(name: Any) -> str:
    """Text that Plotly shows as it is: it reads some HTML."""
    return html.escape(printable(str(name)), quote=False)


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _finite_or(value: Any, other: Any) -> float:
    return float(value) if _finite(value) else float(other)
