"""Pictures of numbers over an axis: lines with bands, steps, points and bars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from recassay.data.exhibit import Exhibit
from recassay.report.figures.chart import Ground, axes, colour, ground, legend, picture, shown, sign, stroke
from recassay.report.figures.scale import Scale, categories, is_number, linear, logarithmic, scale_of
from recassay.report.figures.svg import element, path, text, told
from recassay.report.wording import number as rounded

Row = dict[str, Any]
MOST_SIGNS = 20  # on a line; one of more points is drawn without


def lines(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """One panel of ``rows``; its scales are those of the ``whole``."""
    keys, top = legend(names, lines=exhibit.kind in ("line", "step")) if len(names) > 1 else ([], 4.0)
    place = ground(_across(exhibit, whole), _upright(exhibit, whole), top=top + 18)
    grid, reach = axes(place, exhibit.x, exhibit.y)
    drawn = _bands(exhibit, rows, place) if exhibit.band else []
    for number, name in enumerate(names):
        own = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == name]
        draw = _bars if exhibit.kind == "bar" else _line
        inside = draw(exhibit, own, place, number, len(names)) if own else []
        drawn.append(element("g", *inside, class_=colour(number))) if inside else None
    drawn += _marks(exhibit, rows, place) if exhibit.mark else []
    return picture(*keys, *grid, *drawn, width=400, height=reach, name=title)


def finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


def _across(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    values = [row[exhibit.x] for row in rows]
    if exhibit.kind == "bar":
        return categories(list(dict.fromkeys(str(value) for value in values)))
    if exhibit.kind == "point" and not exhibit.log_x and all(map(is_number, values)):
        return _around(values)
    return scale_of(values, log=exhibit.log_x)


def _upright(exhibit: Exhibit, rows: Sequence[Row]) -> Scale:
    """From 0 on, or as far as values reach; the first rank on top."""
    bounds = [row[name] for row in rows for name in (exhibit.y, exhibit.low, exhibit.high) if name]
    values = [float(value) for value in bounds if finite(value)]
    if exhibit.log_y:
        positive = [value for value in values if value > 0]
        room = 2 if exhibit.kind == "bar" else 1.2  # a bar of the smallest value is seen too
        return logarithmic(min(positive) / room, max(positive) * 1.2)
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
    """As far as values reach and a little further: where points stand is seen from each other."""
    margin = 0.08 * (max(values) - min(values)) or 0.5
    return linear(min(values) - margin, max(values) + margin)


def _upside_down(scale: Scale) -> Scale:
    ticks = tuple(type(tick)(1 - tick.at, tick.label) for tick in scale.ticks)
    return Scale(lambda value: 1 - scale.place(value), ticks, scale.names)


def _line(exhibit: Exhibit, rows: list[Row], place: Ground, number: int, _of: int) -> list[str]:
    """A line and the interval around it: a band along a line, a bar at a single point."""
    if all(is_number(row[exhibit.x]) for row in rows):
        rows = sorted(rows, key=lambda row: row[exhibit.x])
    points = [place.at(row[exhibit.x], row[exhibit.y]) for row in rows]
    drawn = []
    alone = len(rows) == 1 or exhibit.kind == "point"
    if exhibit.low and exhibit.high:
        low, high = ([_bound(row, name, exhibit.y) for row in rows] for name in (exhibit.low, exhibit.high))
        xs = [x for x, _ in points]
        if alone:
            drawn += [_whisker(x, place.up(a), place.up(b)) for x, a, b in zip(xs, low, high, strict=True)]
        else:
            edge = [*zip(xs, map(place.up, high), strict=True), *zip(xs[::-1], map(place.up, low[::-1]), strict=True)]
            drawn.append(element("path", class_="b", d=path(edge, closed=True)))
    if not alone:
        drawn.append(stroke(number, _steps(points) if exhibit.kind == "step" else points))
    if alone or len(points) <= MOST_SIGNS:
        drawn += [sign(number, x, y, told(_said(exhibit, row))) for row, (x, y) in zip(rows, points, strict=True)]
    if exhibit.kind == "point" and exhibit.label:
        drawn += [text(shown(str(row[exhibit.label])), x + 7, y + 4) for row, (x, y) in zip(rows, points, strict=True)]
    return drawn


def _steps(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    corners = [corner for (_, y), (x, _) in itertools.pairwise(points) for corner in ((x, y),)]
    return [point for pair in itertools.zip_longest(points, corners) for point in pair if point is not None]


def _bars(exhibit: Exhibit, rows: list[Row], place: Ground, number: int, of: int) -> list[str]:
    """Bars of a series, beside those of the others, with a whisker for the interval."""
    share = place.width / max(1, len(place.x.ticks))
    wide = min(0.8 * share / of, 48)
    zero, drawn = place.bottom if exhibit.log_y else place.up(0), []
    for row in rows:
        middle = place.across(str(row[exhibit.x])) + (number - (of - 1) / 2) * wide
        top = place.up(row[exhibit.y])
        box = {"x": middle - wide / 2 + 0.5, "width": max(1.0, wide - 1)}
        drawn.append(
            element(
                "rect", told(_said(exhibit, row)), class_="m", y=min(top, zero), height=max(0.5, abs(zero - top)), **box
            )
        )
        if exhibit.low and exhibit.high:
            low, high = (place.up(_bound(row, name, exhibit.y)) for name in (exhibit.low, exhibit.high))
            drawn.append(element("path", class_="w", d=path([(middle, low), (middle, high)])))
    return drawn


def _whisker(x: float, low: float, high: float) -> str:
    return element("path", class_="l", d=path([(x, low), (x, high)]))


def _bands(exhibit: Exhibit, rows: Sequence[Row], place: Ground) -> list[str]:
    """The ground is shaded where the column of the band says something, and named where there is room."""
    assert exhibit.band is not None
    said: dict[Any, str] = {}
    for row in sorted(rows, key=lambda row: row[exhibit.x]):
        said.setdefault(row[exhibit.x], row[exhibit.band] or "")
    xs, names, drawn = list(said), list(dict.fromkeys(filter(None, said.values()))), []
    edges = [place.across(xs[0])]
    edges += [(place.across(a) + place.across(b)) / 2 for a, b in itertools.pairwise(xs)] + [place.across(xs[-1])]
    labelled: list[str] = []
    for name, group in itertools.groupby(range(len(xs)), key=lambda at: said[xs[at]]):
        at = list(group)
        start, end = edges[at[0]], edges[at[-1] + 1]
        if not name:
            continue
        box = {"x": start, "y": place.top, "width": max(1.0, end - start), "height": place.height}
        drawn.append(element("rect", told(name), class_=f"g{names.index(name) % 3}", **box))
        if name not in labelled:
            labelled.append(name)
            drawn.append(text(shown(name), start + 3, place.bottom - 4 - 13 * names.index(name), class_="soft"))
    return drawn


def _marks(exhibit: Exhibit, rows: Sequence[Row], place: Ground) -> list[str]:
    """An upright line where something happened."""
    assert exhibit.mark is not None
    happened = dict.fromkeys((row[exhibit.x], str(row[exhibit.mark])) for row in rows if row[exhibit.mark])
    drawn = []
    for x, what in happened:
        at = place.across(x)
        line = element("path", told(f"{what} at {x!s}"), class_="k", d=path([(at, place.top), (at, place.bottom)]))
        drawn.append(line)
        if len(happened) <= 3:
            drawn.append(text(shown(what), at + 3, place.top + 10, class_="soft"))
    return drawn


def _said(exhibit: Exhibit, row: Row) -> str:
    """What stands at a point, in words."""
    where = f"{row[exhibit.series]}, " if exhibit.series else ""
    between = ""
    if exhibit.low and exhibit.high and finite(row[exhibit.low]) and finite(row[exhibit.high]):
        between = f" ({rounded(row[exhibit.low], 4)} to {rounded(row[exhibit.high], 4)})"
    return f"{where}{exhibit.x} {row[exhibit.x]!s}: {rounded(row[exhibit.y], 4)}{between}"


def _bound(row: Row, name: str | None, other: str) -> float:
    value = row[name or other]
    return float(value if finite(value) else row[other])
