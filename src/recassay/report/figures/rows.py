"""Figures with names along an axis: dots with their intervals, heat maps, and parallel axes."""

from __future__ import annotations

from collections.abc import Sequence

from recassay.report.content.wording import number as rounded
from recassay.report.figures.chart import (
    HEIGHT,
    SLANT,
    WIDTH,
    PlotArea,
    axes,
    colour,
    legend,
    marker,
    picture,
    short_names,
    stroke,
)
from recassay.report.figures.lines import Row, finite
from recassay.report.figures.scale import Scale, categories, linear
from recassay.report.figures.svg import element, path, text, tooltip, width_of
from recassay.results.exhibit import Exhibit

ROW = 24  # height of a row of dots or cells
SHADE = 0.5  # largest opacity of a cell, so that its number is legible in light and dark mode


def dots(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """Return one panel as SVG: a line for each name in column ``y``, with a dot and its interval.

    Dots of several series (``names``) are offset vertically. The scales cover the rows of all panels (``whole``), and
    ``title`` is the figure's label for screen readers.
    """
    keys, top = legend(names) if len(names) > 1 else ([], 0.0)
    ys = list(dict.fromkeys(str(row[exhibit.y]) for row in rows))
    height = ROW * len(ys) + (8 * len(ys) * (len(names) - 1))
    bounds = [row[column] for row in whole for column in (exhibit.x, exhibit.low, exhibit.high) if column]
    values = [float(value) for value in bounds if finite(value)]
    margin = 0.06 * (max(values) - min(values)) or 0.05
    left = max(map(width_of, short_names(ys).values())) + 14
    x = linear(min(values) - margin, max(values) + margin)
    area = PlotArea(x, _top_down(ys), left, top + 6, WIDTH - left - 14, height)
    grid_lines = [
        element("line", class_="grid", x1=at, x2=at, y1=area.top, y2=area.bottom)
        for at in (area.left + area.width * tick.at for tick in x.ticks)
    ]
    grid, reach = axes(area, exhibit.x, "")
    drawn = []
    for number, name in enumerate(names):
        series_rows = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == name]
        shift = 8 * (number - (len(names) - 1) / 2)
        inside = [part for row in series_rows for part in _dot(exhibit, row, area, number, shift)]
        drawn.append(element("g", *inside, class_=colour(number)))
    return picture(*keys, *grid_lines, *grid, *drawn, width=WIDTH, height=reach, name=title)


def _dot(exhibit: Exhibit, row: Row, area: PlotArea, number: int, shift: float) -> list[str]:
    x, y = area.across(row[exhibit.x]), area.up(str(row[exhibit.y])) + shift
    label = f"{row[exhibit.y]}: {rounded(row[exhibit.x], 4)}"
    if not (exhibit.low and exhibit.high and finite(row[exhibit.low]) and finite(row[exhibit.high])):
        return [marker(number, x, y, tooltip(label))]
    low, high = row[exhibit.low], row[exhibit.high]
    span = element("path", class_="l", d=path([(area.across(low), y), (area.across(high), y)]))
    return [span, marker(number, x, y, tooltip(f"{label} ({rounded(low, 4)} to {rounded(high, 4)})"))]


def heat(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], _names: Sequence[str], title: str) -> str:
    """Return one panel as SVG: a heat map with a cell for every ``x`` and ``y`` in ``rows``, shaded by its value.

    Larger values are darker, or smaller ones if the exhibit is ``downwards``. Shades are comparable between panels,
    whose rows are ``whole``. ``title`` is the figure's label for screen readers.
    """
    assert exhibit.value is not None
    xs, ys = (list(dict.fromkeys(str(row[axis]) for row in rows)) for axis in (exhibit.x, exhibit.y))
    xs = ys if set(xs) == set(ys) else xs
    values = [float(row[exhibit.value]) for row in whole if finite(row[exhibit.value])]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)  # all may be infinite or undefined
    labels = [_cell_text(exhibit, row) for row in rows]
    room = max(width_of(label) for label in labels) + 12
    above, beside = short_names(xs), short_names(ys)
    left = max(map(width_of, beside.values())) + 12
    wide = max(room, min(84.0, (WIDTH - left - 4) / len(xs)))
    widest = max(map(width_of, above.values()))
    rotated = widest > wide - 4
    top = 18 + (0.62 * widest + 8 if rotated else 16)
    drawn = [text(f"{exhibit.y} ↓   {exhibit.x} →", 2, 12, class_="soft")]
    for at, name in enumerate(xs):
        x, y = left + wide * (at + 0.5), top - 6
        rotation = {"transform": f"rotate(-38 {x:.1f} {y:.1f})"} if rotated else {"text_anchor": "middle"}
        drawn.append(text(above[name], x, y, whole=name, **rotation))
    drawn += [
        text(beside[name], left - 6, top + ROW * (at + 0.5) + 4, whole=name, text_anchor="end")
        for at, name in enumerate(ys)
    ]
    for row, label in zip(rows, labels, strict=True):
        x, y = left + wide * xs.index(str(row[exhibit.x])), top + ROW * ys.index(str(row[exhibit.y]))
        value, box = row[exhibit.value], {"x": x + 1, "y": y + 1, "width": wide - 2, "height": float(ROW - 2)}
        share = (value - low) / (high - low) if finite(value) and high > low else 0.5 if finite(value) else 0.0
        shade = SHADE * (1 - share if exhibit.downwards and finite(value) else share)
        words = f"{row[exhibit.y]}, {row[exhibit.x]}: {label}"
        drawn.append(element("rect", tooltip(words), class_="h", fill_opacity=f"{shade:.2f}", **box))
        drawn.append(text(label, x + wide / 2, y + ROW / 2 + 4, text_anchor="middle"))
    over = max(wide * (at + 0.5) + SLANT * width_of(above[name]) * rotated for at, name in enumerate(xs))
    width = left + max(wide * len(xs), over + 8) + 4
    return picture(*drawn, width=max(width, WIDTH), height=top + ROW * len(ys) + 4, name=title)


def _cell_text(exhibit: Exhibit, row: Row) -> str:
    if exhibit.label:
        return str(row[exhibit.label] if row[exhibit.label] is not None else "–")
    value = row[exhibit.value or ""]
    if not finite(value):
        return "–"
    return f"{value:,}" if isinstance(value, int) else rounded(float(value), 2)


def parallel(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """Return one panel as SVG: a vertical axis with its own scale for every ``x``, and a line across for each series.

    ``names`` are the series, ``whole`` the rows of all panels, and ``title`` is the label for screen readers.
    """
    keys, top = legend(names) if len(names) > 1 else ([], 0.0)
    xs = list(dict.fromkeys(str(row[exhibit.x]) for row in rows))
    scales = {name: _scale_of_axis(exhibit, whole, name) for name in xs}
    wide = max(float(WIDTH), 64.0 * len(xs))
    short = short_names(xs)
    widest = max(map(width_of, short.values()))
    rotated = widest > wide / len(xs) - 4
    left = max(4.0, SLANT * rotated * width_of(short[xs[0]]) - wide / len(xs) / 2 + 4)
    area = PlotArea(categories(xs), linear(0, 1), left, top + 22, wide - left - 4, HEIGHT)
    drawn = []
    for name in xs:
        at, ticks = area.across(name), scales[name].ticks
        drawn.append(element("line", class_="axis", x1=at, x2=at, y1=area.top, y2=area.bottom))
        for tick in (ticks[0], ticks[-1]) if ticks else ():
            drawn.append(text(tick.label, at + 4, area.up(tick.at) + 4, class_="soft"))
        y = area.bottom + 18
        rotation = {"transform": f"rotate(-38 {at:.1f} {y - 4:.1f})", "text_anchor": "end"} if rotated else {}
        drawn.append(text(short[name], at, y, whole=name, **({"text_anchor": "middle"} | rotation)))
    for number, series in enumerate(names):
        series_rows = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == series]
        points = [(area.across(str(row[exhibit.x])), area.up(_position(scales, exhibit, row))) for row in series_rows]
        signs = [
            marker(number, x, y, tooltip(f"{series}, {row[exhibit.x]}: {rounded(row[exhibit.y], 4)}"))
            for row, (x, y) in zip(series_rows, points, strict=True)
        ]
        drawn.append(element("g", stroke(number, points), *signs, class_=colour(number)))
    reach = area.bottom + 24 + 0.62 * widest * rotated
    return picture(*keys, *drawn, width=wide, height=reach, name=title)


def _scale_of_axis(exhibit: Exhibit, rows: Sequence[Row], name: str) -> Scale:
    values = [float(row[exhibit.y]) for row in rows if str(row[exhibit.x]) == name]
    margin = 0.05 * (max(values) - min(values)) or 0.5
    return linear(min(values) - margin, max(values) + margin)


def _position(scales: dict[str, Scale], exhibit: Exhibit, row: Row) -> float:
    return scales[str(row[exhibit.x])].position(row[exhibit.y])


def _top_down(names: Sequence[str]) -> Scale:
    """Return a scale that puts the first name on top."""
    return categories(list(reversed(names)))
