"""Figures of numbers over an axis: lines with interval bands, steps, points and bars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from recassay.report.content.wording import number as rounded
from recassay.report.figures.chart import (
    WIDTH,
    PlotArea,
    axes,
    colour,
    legend,
    marker,
    picture,
    plot_area,
    short_names,
    stroke,
)
from recassay.report.figures.scale import Scale, categories, is_number, linear, logarithmic, scale_of
from recassay.report.figures.svg import element, path, text, tooltip
from recassay.results.exhibit import Exhibit

Row = dict[str, Any]
MAX_MARKERS = 20  # a line with more points is drawn without markers


def lines(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """Return one panel as SVG: the lines, steps, points or bars of ``rows``, a series for each of ``names``.

    The scales cover the rows of all panels (``whole``); ``title`` is the figure's label for screen readers.
    """
    keys, top = legend(names, lines=exhibit.kind in ("line", "step")) if len(names) > 1 else ([], 4.0)
    area = plot_area(_x_scale(exhibit, whole), _y_scale(exhibit, whole), top=top + 18)
    grid, reach = axes(area, exhibit.x, exhibit.y)
    drawn = _bands(exhibit, rows, area) if exhibit.band else []
    for number, name in enumerate(names):
        series_rows = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == name]
        draw = _bars if exhibit.kind == "bar" else _line
        inside = draw(exhibit, series_rows, area, number, len(names)) if series_rows else []
        drawn.append(element("g", *inside, class_=colour(number))) if inside else None
    drawn += _marks(exhibit, rows, area) if exhibit.mark else []
    return picture(*keys, *grid, *drawn, width=WIDTH, height=reach, name=title)


def finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


def _x_scale(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    values = [row[exhibit.x] for row in rows]
    if exhibit.kind == "bar":
        return categories(list(dict.fromkeys(str(value) for value in values)))
    if exhibit.kind == "point" and not exhibit.log_x and all(map(is_number, values)):
        return _around(values)
    return scale_of(values, log=exhibit.log_x)


def _y_scale(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    """Return the vertical scale: from 0 for lines and bars, around the values for points.

    It is upside down for values such as ranks, of which 1 is on top.
    """
    bounds = [row[name] for row in rows for name in (exhibit.y, exhibit.low, exhibit.high) if name]
    values = [float(value) for value in bounds if finite(value)]
    if exhibit.log_y:
        positive = [value for value in values if value > 0]
        margin = 2 if exhibit.kind == "bar" else 1.2  # the bar of the smallest value must be visible
        return logarithmic(min(positive) / margin, max(positive) * 1.2)
    if exhibit.downwards:
        low, high = min(values), max(values)
        margin = 0.06 * (high - low) or 1.0
        return _upside_down(linear(low - margin, high + margin))
    if exhibit.kind == "point":
        return _around(values)
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    margin = 0.05 * (high - low) or 0.5
    return linear(low - margin if low < 0 else 0.0, high + margin if high > 0 or low == 0 else 0.0)


def _around(values: Sequence[Any]) -> Scale:
    """Return a scale that covers the values and a margin but need not include 0."""
    margin = 0.08 * (max(values) - min(values)) or 0.5
    return linear(min(values) - margin, max(values) + margin)


def _upside_down(scale: Scale) -> Scale:
    ticks = tuple(type(tick)(1 - tick.at, tick.label) for tick in scale.ticks)
    return Scale(lambda value: 1 - scale.position(value), ticks, scale.names)


def _line(exhibit: Exhibit, rows: list[Row], area: PlotArea, number: int, _of: int) -> list[str]:
    """Return the line of series ``number`` as SVG elements, with its intervals as a band, or whiskers at points."""
    if all(is_number(row[exhibit.x]) for row in rows):
        rows = sorted(rows, key=lambda row: row[exhibit.x])
    points = [area.at(row[exhibit.x], row[exhibit.y]) for row in rows]
    drawn = []
    alone = len(rows) == 1 or exhibit.kind == "point"
    if exhibit.low and exhibit.high:
        low, high = ([_bound(row, name, exhibit.y) for row in rows] for name in (exhibit.low, exhibit.high))
        xs = [x for x, _ in points]
        if alone:
            drawn += [_whisker(x, area.up(a), area.up(b)) for x, a, b in zip(xs, low, high, strict=True)]
        else:
            edge = [*zip(xs, map(area.up, high), strict=True), *zip(xs[::-1], map(area.up, low[::-1]), strict=True)]
            drawn.append(element("path", class_="b", d=path(edge, closed=True)))
    if not alone:
        drawn.append(stroke(number, _steps(points) if exhibit.kind == "step" else points))
    if alone or len(points) <= MAX_MARKERS:
        drawn += [marker(number, x, y, _tooltip(exhibit, row)) for row, (x, y) in zip(rows, points, strict=True)]
    if exhibit.kind == "point" and exhibit.label:
        labels = [str(row[exhibit.label]) for row in rows]
        short = short_names(labels)
        drawn += [text(short[name], x + 7, y + 4, whole=name) for name, (x, y) in zip(labels, points, strict=True)]
    return drawn


def _steps(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    corners = [corner for (_, y), (x, _) in itertools.pairwise(points) for corner in ((x, y),)]
    return [point for pair in itertools.zip_longest(points, corners) for point in pair if point is not None]


def _bars(exhibit: Exhibit, rows: list[Row], area: PlotArea, number: int, of: int) -> list[str]:
    """Return the bars of series ``number`` of ``of`` as SVG elements, with whiskers for intervals.

    The bars of different series are next to each other.
    """
    share = area.width / max(1, len(area.x.ticks))
    wide = min(0.8 * share / of, 48)
    zero, drawn = area.bottom if exhibit.log_y else area.up(0), []
    for row in rows:
        middle = area.across(str(row[exhibit.x])) + (number - (of - 1) / 2) * wide
        top = area.up(row[exhibit.y])
        box = {"x": middle - wide / 2 + 0.5, "width": max(1.0, wide - 1)}
        drawn.append(
            element(
                "rect",
                _tooltip(exhibit, row),
                class_="m",
                y=min(top, zero),
                height=max(0.5, abs(zero - top)),
                **box,
            )
        )
        if exhibit.low and exhibit.high:
            low, high = (area.up(_bound(row, name, exhibit.y)) for name in (exhibit.low, exhibit.high))
            drawn.append(element("path", class_="w", d=path([(middle, low), (middle, high)])))
    return drawn


def _whisker(x: float, low: float, high: float) -> str:
    return element("path", class_="l", d=path([(x, low), (x, high)]))


def _bands(exhibit: Exhibit, rows: Sequence[Row], area: PlotArea) -> list[str]:
    """Return shaded backgrounds as SVG elements for the ranges of x where the band column of ``exhibit`` has a text.

    A text that has several ranges is shown in the first one only.
    """
    assert exhibit.band is not None
    band_at: dict[Any, str] = {}
    for row in sorted(rows, key=lambda row: row[exhibit.x]):
        band_at.setdefault(row[exhibit.x], row[exhibit.band] or "")
    xs, names, drawn = list(band_at), list(dict.fromkeys(filter(None, band_at.values()))), []
    edges = [area.across(xs[0])]
    edges += [(area.across(a) + area.across(b)) / 2 for a, b in itertools.pairwise(xs)] + [area.across(xs[-1])]
    labelled: list[str] = []
    short = short_names(names)
    for name, group in itertools.groupby(range(len(xs)), key=lambda at: band_at[xs[at]]):
        at = list(group)
        start, end = edges[at[0]], edges[at[-1] + 1]
        if not name:
            continue
        box = {"x": start, "y": area.top, "width": max(1.0, end - start), "height": area.height}
        drawn.append(element("rect", tooltip(name), class_=f"g{names.index(name) % 3}", **box))
        if name not in labelled:
            labelled.append(name)
            y = area.bottom - 4 - 13 * names.index(name)
            drawn.append(text(short[name], start + 3, y, whole=name, class_="soft"))
    return drawn


def _marks(exhibit: Exhibit, rows: Sequence[Row], area: PlotArea) -> list[str]:
    """Return a vertical line as SVG elements where the column that ``exhibit`` names as its mark has a text."""
    assert exhibit.mark is not None
    events = dict.fromkeys((row[exhibit.x], str(row[exhibit.mark])) for row in rows if row[exhibit.mark])
    drawn, short = [], short_names([what for _, what in events])
    for x, what in events:
        at = area.across(x)
        line = element("path", tooltip(f"{what} at {x!s}"), class_="k", d=path([(at, area.top), (at, area.bottom)]))
        drawn.append(line)
        if len(events) <= 3:
            drawn.append(text(short[what], at + 3, area.top + 10, whole=what, class_="soft"))
    return drawn


def _tooltip(exhibit: Exhibit, row: Row) -> str:
    """Return an SVG tooltip with the values of a point."""
    where = f"{row[exhibit.series]}, " if exhibit.series else ""
    between = ""
    if exhibit.low and exhibit.high and finite(row[exhibit.low]) and finite(row[exhibit.high]):
        between = f" ({rounded(row[exhibit.low], 4)} to {rounded(row[exhibit.high], 4)})"
    return tooltip(f"{where}{exhibit.x} {row[exhibit.x]!s}: {rounded(row[exhibit.y], 4)}{between}")


def _bound(row: Row, name: str | None, other: str) -> float:
    value = row[name or other]
    return float(value if finite(value) else row[other])
