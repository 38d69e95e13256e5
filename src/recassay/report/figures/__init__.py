"""Figures of exhibits (tables to draw) as SVG, one per facet; the same for the report page, notebooks and papers.

Every figure is a plot area with two scales, and marks in it: points with lines and intervals, bars, or cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recassay.report.content.wording import number as rounded
from recassay.report.figures.chart import (
    WIDTH,
    PlotArea,
    Scale,
    around,
    axes,
    categories,
    colour,
    element,
    is_number,
    legend,
    linear,
    logarithmic,
    marker,
    path,
    scale_of,
    short_names,
    stroke,
    text,
    tooltip,
    upside_down,
    width_of,
)
from recassay.results.exhibit import Exhibit

Row = dict[str, Any]
HEIGHT = 230  # of the plot area
ROW = 24  # height of a row of dots or cells
APART = 8  # distance between the dots of two series in a row
WIDEST_CELL = 84.0  # of a heat map, unless its texts need more
SHADE = 0.5  # largest opacity of a cell, so that its number is legible in light and dark mode
MAX_MARKERS = 20  # a line with more points is drawn without markers


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
    drawn = []
    for facet in facets if drawable else []:
        chosen = [row for row in drawable if exhibit.facet is None or row[exhibit.facet] == facet]
        heading = "" if facet is None else f"{exhibit.facet}: {facet}"
        title = f"{exhibit.title}{f', {heading}' if heading else ''}"
        drawn.append(Panel(heading, _draw(exhibit, chosen, chosen if exhibit.own_scales else drawable, names, title)))
    return drawn


def undrawn(exhibit: Exhibit) -> int:
    """Return the number of rows that cannot be drawn: undefined values, or values <= 0 on a logarithmic axis."""
    return sum(not _drawable(row, exhibit) for row in exhibit.table.to_dicts())


def _drawable(row: Row, exhibit: Exhibit) -> bool:
    x, y = row[exhibit.x], row[exhibit.y]
    if exhibit.kind == "heat":
        return x is not None and y is not None
    if exhibit.kind == "dot":
        return _finite(x) and y is not None
    if x is None or not _finite(y) or (isinstance(x, float) and not _finite(x)):
        return False
    return not (exhibit.log_x and is_number(x) and x <= 0) and not (exhibit.log_y and y <= 0)


def _finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _draw(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """Return one panel as SVG: the points, bars or cells of each series in ``names``.

    The scales cover the rows of all panels (``whole``); ``title`` is the figure's label for screen readers.
    """
    kind = exhibit.kind
    names = [] if kind == "heat" else names
    keys, top = legend(names, lines=kind in ("line", "dot")) if len(names) > 1 else ([], 4.0)
    area = _plot_area(exhibit, rows, whole, len(names), top + (6 if kind == "dot" else 18))
    grid, reach = axes(area, exhibit.x, "" if kind == "dot" else exhibit.y)
    marks = _cells(exhibit, rows, whole, area) if kind == "heat" else _bands(exhibit, rows, area)
    draw = _bars if kind == "bar" else _points
    for number, name in enumerate(names):
        series = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == name]
        inside = draw(exhibit, series, area, number, len(names)) if series else []
        marks += [element("g", *inside, class_=colour(number))] if inside else []
    width = math.ceil(max(WIDTH, area.left + area.width))
    return element(
        "svg", *keys, *grid, *marks, *_events(exhibit, rows, area), xmlns="http://www.w3.org/2000/svg",
        class_="figure", role="img", aria_label=title, viewBox=f"0 0 {width} {math.ceil(reach)}", width=width,
        height=math.ceil(reach),
    )  # fmt: skip


# --- scales ---


def _plot_area(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], n_series: int, top: float) -> PlotArea:
    """Return the plot area of a figure: its scales, and the size that its names and cells need."""
    xs, ys = (list(dict.fromkeys(str(row[axis]) for row in rows)) for axis in (exhibit.x, exhibit.y))
    if exhibit.kind == "dot":
        height = (ROW + APART * (n_series - 1)) * len(ys)
        x = around(_numbers(whole, exhibit.x, exhibit.low, exhibit.high), 0.06, 0.05)
        return PlotArea.fit(x, categories(ys[::-1]), top=top, height=height, width=WIDTH)
    if exhibit.kind == "heat":
        y = categories(ys[::-1])
        room = max(width_of(_cell_text(exhibit, row)) for row in rows) + 12
        wide = len(xs) * max(room, min(WIDEST_CELL, (WIDTH - 20 - y.widest) / len(xs)))
        x = categories(ys if set(xs) == set(ys) else xs)
        return PlotArea.fit(x, y, top=top, height=ROW * len(ys), width=20 + y.widest + wide, least=wide)
    return PlotArea.fit(_x_scale(exhibit, whole), _y_scale(exhibit, whole), top=top, height=HEIGHT, width=WIDTH)


def _numbers(rows: Sequence[Row], *names: str | None) -> list[float]:
    return [float(row[name]) for row in rows for name in names if name and _finite(row[name])]


def _x_scale(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    values = [row[exhibit.x] for row in rows]
    if exhibit.kind == "bar":
        return categories(list(dict.fromkeys(map(str, values))))
    if exhibit.kind == "point" and not exhibit.log_x and all(map(is_number, values)):
        return around(values)
    return scale_of(values, log=exhibit.log_x)


def _y_scale(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    """Return the vertical scale: from 0 for lines and bars, around the values for points.

    It is upside down for values such as ranks, so that rank 1 is on top.
    """
    values = _numbers(rows, exhibit.y, exhibit.low, exhibit.high)
    if exhibit.log_y:
        positive = [value for value in values if value > 0]
        margin = 2 if exhibit.kind == "bar" else 1.2  # the bar of the smallest value must be visible
        return logarithmic(min(positive) / margin, max(positive) * 1.2)
    if exhibit.downwards:
        return upside_down(around(values, 0.06, 1.0))
    if exhibit.kind == "point":
        return around(values)
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    margin = 0.05 * (high - low) or 0.5
    return linear(low - margin if low < 0 else 0.0, high + margin if high > 0 or low == 0 else 0.0)


# --- marks ---


def _points(exhibit: Exhibit, rows: list[Row], area: PlotArea, number: int, of: int) -> list[str]:
    """Return the points of one series as SVG elements, with the line through them and their intervals.

    The series has this ``number``, and there are ``of`` series in all.
    Intervals are a band along a line, and whiskers of single points.
    """
    if exhibit.kind == "line" and all(is_number(row[exhibit.x]) for row in rows):
        rows = sorted(rows, key=lambda row: row[exhibit.x])
    value = exhibit.x if exhibit.kind == "dot" else exhibit.y

    def at(row: Row, name: str) -> tuple[float, float]:
        """Return the position (x, y) of a row's value, or of the bound in column ``name`` (the value if undefined)."""
        finite = row[name if _finite(row[name]) else value]
        if exhibit.kind == "dot":
            return area.across(finite), area.up(row[exhibit.y]) + APART * (number - (of - 1) / 2)
        return area.across(row[exhibit.x]), area.up(finite)

    points, joined, drawn = [at(row, value) for row in rows], exhibit.kind == "line" and len(rows) > 1, []
    if exhibit.low and exhibit.high:
        low, high = ([at(row, bound) for row in rows] for bound in (exhibit.low, exhibit.high))
        if joined:
            drawn.append(element("path", class_="b", d=path([*high, *low[::-1]], closed=True)))
        else:
            pairs = [ends for row, *ends in zip(rows, low, high, strict=True) if _bounds(exhibit, row)]
            drawn += [element("path", class_="l", d=path(ends)) for ends in pairs]
    if joined:
        drawn.append(stroke(number, points))
    if not joined or len(points) <= MAX_MARKERS:
        drawn += [marker(number, *point, _tooltip(exhibit, row)) for row, point in zip(rows, points, strict=True)]
    return drawn


def _bars(exhibit: Exhibit, rows: list[Row], area: PlotArea, number: int, of: int) -> list[str]:
    """Return the bars of one series as SVG elements; bars of different series are side by side.

    The series has this ``number``, and there are ``of`` series in all.
    """
    wide = min(0.8 * area.width / max(1, len(area.x.ticks)) / of, 48)
    zero, drawn = area.bottom if exhibit.log_y else area.up(0), []
    for row in rows:
        middle, top = area.across(row[exhibit.x]) + (number - (of - 1) / 2) * wide, area.up(row[exhibit.y])
        box = {"x": middle - wide / 2 + 0.5, "width": max(1.0, wide - 1)}
        box |= {"y": min(top, zero), "height": max(0.5, abs(zero - top))}
        drawn.append(element("rect", _tooltip(exhibit, row), class_="m", **box))
    return drawn


def _cells(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], area: PlotArea) -> list[str]:
    """Return the cells of a heat map as SVG elements, shaded by their values, with a text in each.

    Larger values are darker, or smaller ones if the exhibit is ``downwards``. Shades are comparable between panels,
    whose rows are ``whole``.
    """
    values = _numbers(whole, exhibit.value)
    low, high = (min(values), max(values)) if values else (0.0, 0.0)  # all may be infinite or undefined
    wide, drawn = area.width / len(area.x.ticks), []
    for row in rows:
        x, y, value, label = (
            area.across(row[exhibit.x]),
            area.up(row[exhibit.y]),
            row[exhibit.value or ""],
            _cell_text(exhibit, row),
        )
        share = (value - low) / (high - low) if _finite(value) and high > low else 0.5 if _finite(value) else 0.0
        shade = SHADE * (1 - share if exhibit.downwards and _finite(value) else share)
        box = {"x": x - wide / 2 + 1, "y": y - ROW / 2 + 1, "width": wide - 2, "height": float(ROW - 2)}
        words = tooltip(f"{row[exhibit.y]}, {row[exhibit.x]}: {label}")
        drawn.append(element("rect", words, class_="h", fill_opacity=f"{shade:.2f}", **box))
        drawn.append(text(label, x, y + 4, text_anchor="middle"))
    return drawn


def _cell_text(exhibit: Exhibit, row: Row) -> str:
    if exhibit.label:
        return str(row[exhibit.label] if row[exhibit.label] is not None else "–")
    value = row[exhibit.value or ""]
    if not _finite(value):
        return "–"
    return f"{value:,}" if isinstance(value, int) else rounded(float(value), 2)


def _bands(exhibit: Exhibit, rows: Sequence[Row], area: PlotArea) -> list[str]:
    """Return shaded backgrounds as SVG elements: a range of x with one text in the column ``band`` of the exhibit.

    A text that has several ranges is shown in the first one only.
    """
    if exhibit.band is None:
        return []
    band_at: dict[Any, str] = {}
    for row in sorted(rows, key=lambda row: row[exhibit.x]):
        band_at.setdefault(row[exhibit.x], row[exhibit.band] or "")
    xs, drawn, labelled = [area.across(x) for x in band_at], [], set()
    names = list(dict.fromkeys(filter(None, band_at.values())))
    edges = [xs[0], *((a + b) / 2 for a, b in itertools.pairwise(xs)), xs[-1]]
    short = short_names(names)
    spans_at = zip(band_at.values(), itertools.pairwise(edges), strict=True)
    for name, group in itertools.groupby(spans_at, key=lambda one: one[0]):
        if not name:
            continue
        spans, number = list(group), names.index(name)
        start, end = spans[0][1][0], spans[-1][1][1]
        box = {"x": start, "y": area.top, "width": max(1.0, end - start), "height": area.height}
        drawn.append(element("rect", tooltip(name), class_=f"g{number % 3}", **box))
        if name not in labelled:
            labelled.add(name)
            drawn.append(text(short[name], start + 3, area.bottom - 4 - 13 * number, whole=name, class_="soft"))
    return drawn


def _events(exhibit: Exhibit, rows: Sequence[Row], area: PlotArea) -> list[str]:
    """Return vertical lines as SVG elements, at the rows with a text in the column ``mark`` of the exhibit."""
    events = dict.fromkeys(
        (row[exhibit.x], str(row[exhibit.mark])) for row in rows if exhibit.mark and row[exhibit.mark]
    )
    drawn, short = [], short_names([what for _, what in events])
    for x, what in events:
        at = area.across(x)
        drawn.append(area.upright(at, "k", tooltip(f"{what} at {x!s}")))
        drawn += [text(short[what], at + 3, area.top + 10, whole=what, class_="soft")] if len(events) <= 3 else []
    return drawn


def _bounds(exhibit: Exhibit, row: Row) -> list[float]:
    """Return the bounds of a point in ``row``, low and high; an empty list if one of them is unknown."""
    bounds = _numbers([row], exhibit.low, exhibit.high)
    return bounds if len(bounds) > 1 else []


def _tooltip(exhibit: Exhibit, row: Row) -> str:
    """Return an SVG tooltip with the values of a point: those of ``row`` in the columns that ``exhibit`` draws."""
    name, value = (exhibit.y, exhibit.x) if exhibit.kind == "dot" else (exhibit.x, exhibit.y)
    where = f"{row[exhibit.series]}, " if exhibit.series else ""
    what = str(row[name]) if isinstance(row[name], str) else f"{name} {row[name]!s}"
    between = " to ".join(rounded(bound) for bound in _bounds(exhibit, row))
    return tooltip(f"{where}{what}: {rounded(row[value])}{between and f' ({between})'}")
