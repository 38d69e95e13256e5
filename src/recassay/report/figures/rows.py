"""Pictures with a line for every name: dots with their bounds, heat maps, and parallel axes."""

from __future__ import annotations

from collections.abc import Sequence

from recassay.data.exhibit import Exhibit
from recassay.report.figures.chart import (
    HEIGHT,
    SLANT,
    WIDTH,
    Ground,
    axes,
    colour,
    legend,
    picture,
    shown,
    sign,
    stroke,
)
from recassay.report.figures.lines import Row, finite
from recassay.report.figures.scale import Scale, categories, linear
from recassay.report.figures.svg import element, path, text, told, width_of
from recassay.report.wording import number as rounded

ROW = 24  # height of a line of dots or cells
SHADE = 0.5  # the most a cell is shaded, so that its number can be read in both colours


def dots(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], names: Sequence[str], title: str) -> str:
    """A dot and its bounds for every name; where there are series, they stand a little above each other."""
    keys, top = legend(names) if len(names) > 1 else ([], 0.0)
    ys = list(dict.fromkeys(str(row[exhibit.y]) for row in rows))
    height = ROW * len(ys) + (8 * len(ys) * (len(names) - 1))
    bounds = [row[one] for row in whole for one in (exhibit.x, exhibit.low, exhibit.high) if one]
    values = [float(value) for value in bounds if finite(value)]
    margin = 0.06 * (max(values) - min(values)) or 0.05
    left = max(width_of(shown(name)) for name in ys) + 14
    x = linear(min(values) - margin, max(values) + margin)
    place = Ground(x, _downwards(ys), left, top + 6, WIDTH - left - 14, height)
    upright = [
        element("line", class_="grid", x1=at, x2=at, y1=place.top, y2=place.bottom)
        for at in (place.left + place.width * tick.at for tick in x.ticks)
    ]
    grid, reach = axes(place, exhibit.x, "")
    drawn = []
    for number, name in enumerate(names):
        own = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == name]
        shift = 8 * (number - (len(names) - 1) / 2)
        inside = [part for row in own for part in _dot(exhibit, row, place, number, shift)]
        drawn.append(element("g", *inside, class_=colour(number)))
    return picture(*keys, *upright, *grid, *drawn, width=WIDTH, height=reach, name=title)


def _dot(exhibit: Exhibit, row: Row, place: Ground, number: int, shift: float) -> list[str]:
    x, y = place.across(row[exhibit.x]), place.up(str(row[exhibit.y])) + shift
    said = f"{row[exhibit.y]}: {rounded(row[exhibit.x], 4)}"
    if not (exhibit.low and exhibit.high and finite(row[exhibit.low]) and finite(row[exhibit.high])):
        return [sign(number, x, y, told(said))]
    low, high = row[exhibit.low], row[exhibit.high]
    span = element("path", class_="l", d=path([(place.across(low), y), (place.across(high), y)]))
    return [span, sign(number, x, y, told(f"{said} ({rounded(low, 4)} to {rounded(high, 4)})"))]


def heat(exhibit: Exhibit, rows: Sequence[Row], whole: Sequence[Row], _names: Sequence[str], title: str) -> str:
    """A cell for every pair of names, the more shaded the larger its value (the smaller, if that is better)."""
    assert exhibit.value is not None
    xs, ys = (list(dict.fromkeys(str(row[axis]) for row in rows)) for axis in (exhibit.x, exhibit.y))
    xs = ys if set(xs) == set(ys) else xs
    values = [float(row[exhibit.value]) for row in whole if finite(row[exhibit.value])]
    low, high = min(values), max(values)
    labels = [_cell_text(exhibit, row) for row in rows]
    room = max(width_of(label) for label in labels) + 12
    left = max(width_of(shown(name)) for name in ys) + 12
    wide = max(room, min(84.0, (WIDTH - left - 4) / len(xs)))
    turned = max(width_of(shown(name)) for name in xs) > wide - 4
    top = 18 + (0.62 * max(width_of(shown(name)) for name in xs) + 8 if turned else 16)
    drawn = [text(f"{exhibit.y} ↓   {exhibit.x} →", 2, 12, class_="soft")]
    for at, name in enumerate(xs):
        x, y = left + wide * (at + 0.5), top - 6
        how = {"transform": f"rotate(-38 {x:.1f} {y:.1f})"} if turned else {"text_anchor": "middle"}
        drawn.append(text(shown(name), x, y, **how))
    drawn += [text(shown(name), left - 6, top + ROW * (at + 0.5) + 4, text_anchor="end") for at, name in enumerate(ys)]
    for row, label in zip(rows, labels, strict=True):
        x, y = left + wide * xs.index(str(row[exhibit.x])), top + ROW * ys.index(str(row[exhibit.y]))
        value, box = row[exhibit.value], {"x": x + 1, "y": y + 1, "width": wide - 2, "height": float(ROW - 2)}
        share = (value - low) / (high - low) if finite(value) and high > low else 0.5 if finite(value) else 0.0
        shade = SHADE * (1 - share if exhibit.downwards and finite(value) else share)
        said = f"{row[exhibit.y]}, {row[exhibit.x]}: {label}"
        drawn.append(element("rect", told(said), class_="h", fill_opacity=f"{shade:.2f}", **box))
        drawn.append(text(label, x + wide / 2, y + ROW / 2 + 4, text_anchor="middle"))
    over = max(wide * (at + 0.5) + SLANT * width_of(shown(name)) * turned for at, name in enumerate(xs))
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
    """An upright axis per name, each with its own scale, and a line for every series from one to the next."""
    keys, top = legend(names) if len(names) > 1 else ([], 0.0)
    xs = list(dict.fromkeys(str(row[exhibit.x]) for row in rows))
    scales = {name: _own_scale(exhibit, whole, name) for name in xs}
    wide = max(float(WIDTH), 64.0 * len(xs))
    turned = max(width_of(shown(name)) for name in xs) > wide / len(xs) - 4
    left = max(4.0, SLANT * turned * width_of(shown(xs[0])) - wide / len(xs) / 2 + 4)
    place = Ground(categories(xs), linear(0, 1), left, top + 22, wide - left - 4, HEIGHT)
    drawn = []
    for name in xs:
        at, ticks = place.across(name), scales[name].ticks
        drawn.append(element("line", class_="axis", x1=at, x2=at, y1=place.top, y2=place.bottom))
        for tick in (ticks[0], ticks[-1]) if ticks else ():
            drawn.append(text(tick.label, at + 4, place.up(tick.at) + 4, class_="soft"))
        y = place.bottom + 18
        how = {"transform": f"rotate(-38 {at:.1f} {y - 4:.1f})", "text_anchor": "end"} if turned else {}
        drawn.append(text(shown(name), at, y, **({"text_anchor": "middle"} | how)))
    for number, series in enumerate(names):
        own = [row for row in rows if exhibit.series is None or str(row[exhibit.series]) == series]
        points = [(place.across(str(row[exhibit.x])), place.up(_share(scales, exhibit, row))) for row in own]
        signs = [
            sign(number, x, y, told(f"{series}, {row[exhibit.x]}: {rounded(row[exhibit.y], 4)}"))
            for row, (x, y) in zip(own, points, strict=True)
        ]
        drawn.append(element("g", stroke(number, points), *signs, class_=colour(number)))
    reach = place.bottom + 24 + 0.62 * max(width_of(shown(name)) for name in xs) * turned
    return picture(*keys, *drawn, width=wide, height=reach, name=title)


def _own_scale(exhibit: Exhibit, rows: Sequence[Row], name: str) -> Scale:
    values = [float(row[exhibit.y]) for row in rows if str(row[exhibit.x]) == name]
    margin = 0.05 * (max(values) - min(values)) or 0.5
    return linear(min(values) - margin, max(values) + margin)


def _share(scales: dict[str, Scale], exhibit: Exhibit, row: Row) -> float:
    return scales[str(row[exhibit.x])].place(row[exhibit.y])


def _downwards(names: Sequence[str]) -> Scale:
    """Names from top to bottom."""
    return categories(list(reversed(names)))
