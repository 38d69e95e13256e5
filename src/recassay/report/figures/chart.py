"""Parts that all figures share: the plot area with its axes, the legend, and the markers of series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recassay.report.figures.scale import Scale, short_names
from recassay.report.figures.svg import SIZE, element, path, text, width_of

WIDTH = 400  # of a figure; pages scale it up by at most half, so that its text stays legible on a phone
COLOURS = 8  # of the palette in page.css
DASHES = (None, "6 3", "2 3", "8 3 2 3")
SLANT = 0.82  # share of its width that a rotated name takes horizontally
LINE = 17  # distance between two lines of text


@dataclass(frozen=True)
class PlotArea:
    """The rectangle of a figure that data are drawn in, with a scale along each side."""

    x: Scale
    y: Scale
    left: float
    top: float
    width: float
    height: float

    @classmethod
    def fit(cls, x: Scale, y: Scale, *, top: float, height: float, width: float, least: float = 0) -> PlotArea:
        """Return the plot area for two scales, with room for the labels of the vertical axis; it begins at ``top``.

        ``width`` is that of the figure, and ``least`` the smallest of the area.
        """
        left = 12 + y.widest
        if x.is_crowded(width - left - 8):  # the first name must not cross the left edge
            first = SLANT * width_of(x.short[x.ticks[0].label])
            left = max(left, first - (width - left) / len(x.ticks) / 2 + 8)
        half = width_of(x.ticks[-1].label) / 2 if x.ticks and x.names is None and x.ticks[-1].at > 0.97 else 0
        return cls(x, y, left, top, max(least, width - left - max(8, half)), height)

    def across(self, x: Any) -> float:
        """Return the horizontal position of a value on the figure."""
        return self.left + self.width * self.x.position(x)

    def up(self, y: Any) -> float:
        """Return the vertical position of a value on the figure; larger values are higher up."""
        return self.top + self.height * (1 - self.y.position(y))

    @property
    def bottom(self) -> float:
        """Return the vertical position of the horizontal axis."""
        return self.top + self.height

    def upright(self, x: float, kind: str, *inside: str) -> str:
        """Return a vertical line over the height of the area as an SVG element of a class of style."""
        return element("path", *inside, class_=kind, d=path([(x, self.top), (x, self.bottom)]))


def axes(area: PlotArea, x_title: str, y_title: str) -> tuple[list[str], float]:
    """Return the lines, ticks and titles of both axes as SVG elements, and the lowest position they reach."""
    right = area.left + area.width
    drawn = [text(y_title, 2, area.top - 10, class_="soft")] if y_title else []
    for tick in area.y.ticks:
        at = area.top + area.height * (1 - tick.at)
        if area.y.names is None:
            drawn.append(element("line", class_="grid", x1=area.left, x2=right, y1=at, y2=at))
        drawn.append(text(area.y.short[tick.label], area.left - 6, at + 4, whole=tick.label, text_anchor="end"))
    if area.y.names is not None and area.x.names is None:
        drawn += [area.upright(area.left + area.width * tick.at, "grid") for tick in area.x.ticks]
    if area.y.ticks:
        drawn.append(element("line", class_="axis", x1=area.left, x2=right, y1=area.bottom, y2=area.bottom))
    ticks, reach = _horizontal_ticks(area)
    if x_title:
        reach += LINE
        ticks.append(text(x_title, area.left + area.width / 2, reach, class_="soft", text_anchor="middle"))
    return [*drawn, *ticks], reach + 6


def _horizontal_ticks(area: PlotArea) -> tuple[list[str], float]:
    """Return the ticks of the horizontal axis as SVG elements, and the lowest position they reach.

    Names that would touch are rotated; if there are too many, only some are shown.
    """
    scale, room = area.x, area.width / max(1, len(area.x.ticks))
    least = scale.widest if scale.names is None else LINE * 0.8
    rotated = scale.is_crowded(area.width)
    drawn = []
    for tick in scale.ticks[:: max(1, math.ceil(least / room))]:
        x, y = area.left + area.width * tick.at, area.bottom + 16
        turn = {"transform": f"rotate(-38 {x:.1f} {y - 4:.1f})", "text_anchor": "end"} if rotated else {}
        drawn.append(text(scale.short[tick.label], x, y, whole=tick.label, **({"text_anchor": "middle"} | turn)))
    return drawn, area.bottom + (16 if not rotated else 12 + 0.62 * scale.widest)


def legend(names: Sequence[str], *, lines: bool) -> tuple[list[str], float]:
    """Return the legend as SVG elements, a marker and a name for each series, and the lowest position it reaches.

    With ``lines``, the markers are on lines.
    """
    drawn, x, y, short = [], 2.0, float(SIZE), short_names(names)
    for number, name in enumerate(names):
        wide = 30 + width_of(short[name])
        if x > 2 and x + wide > WIDTH:
            x, y = 2.0, y + LINE
        inside = [stroke(number, [(x, y - 4), (x + 20, y - 4)])] if lines else []
        drawn.append(element("g", *inside, marker(number, x + 10, y - 4), class_=colour(number)))
        drawn.append(text(short[name], x + 25, y, whole=name))
        x += wide + 8
    return drawn, y + 8


def stroke(number: int, points: Sequence[tuple[float, float]]) -> str:
    """Return a line through points as SVG, in the dash pattern of series ``number``."""
    return element("path", class_="l", d=path(points), stroke_dasharray=DASHES[number // COLOURS % len(DASHES)])


def marker(number: int, x: float, y: float, *inside: str) -> str:
    """Return the marker of series ``number`` at a position as SVG: a circle, square, diamond or triangle."""
    if number % 4 == 0:
        return element("circle", *inside, class_="m", cx=x, cy=y, r=3.6)
    corners = (
        [(x - 3.2, y - 3.2), (x + 3.2, y - 3.2), (x + 3.2, y + 3.2), (x - 3.2, y + 3.2)],
        [(x, y - 4.8), (x + 4.8, y), (x, y + 4.8), (x - 4.8, y)],
        [(x, y - 4.4), (x + 4.4, y + 3.6), (x - 4.4, y + 3.6)],
    )
    return element("path", *inside, class_="m", d=path(corners[number % 4 - 1], closed=True))


def colour(number: int) -> str:
    """Return the CSS class with the colour of series ``number``."""
    return f"c{number % COLOURS}"
