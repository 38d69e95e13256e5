"""Parts that all figures share: the plot area with its axes, the legend, and the markers of series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recassay.report.content.wording import shorten
from recassay.report.figures.scale import Scale
from recassay.report.figures.svg import SIZE, element, path, text, width_of

WIDTH = 400  # of a figure; pages scale it up by at most half, so that its text stays legible on a phone
HEIGHT = 230  # of the plot area
COLOURS = 8  # of the palette in page.css
DASHES = (None, "6 3", "2 3", "8 3 2 3")
LONGEST = 26  # characters of a name in a figure
LONGER = 40  # of names that look alike in fewer characters
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

    def at(self, x: Any, y: Any) -> tuple[float, float]:
        """Return the position of a point with values ``x`` and ``y`` on the figure: horizontal, vertical."""
        return self.across(x), self.up(y)

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


def picture(*inside: str, width: float, height: float, name: str) -> str:
    """Return a complete SVG figure; ``name`` is its label for screen readers."""
    return element(
        "svg", *inside, xmlns="http://www.w3.org/2000/svg", class_="figure", role="img", aria_label=name,
        viewBox=f"0 0 {math.ceil(width)} {math.ceil(height)}", width=math.ceil(width), height=math.ceil(height),
    )  # fmt: skip


def plot_area(x: Scale, y: Scale, *, top: float, height: float = HEIGHT, width: float = WIDTH) -> PlotArea:
    """Return the plot area for two scales, with room for the labels of the vertical axis; it begins at ``top``."""
    left = 12 + max(map(width_of, _short_labels(y).values()), default=0)
    if x.names and _is_rotated(x, width - left - 8):  # the first name must not cross the left edge
        left = max(left, SLANT * width_of(_short_labels(x)[x.ticks[0].label]) - (width - left) / len(x.ticks) / 2 + 8)
    half = width_of(x.ticks[-1].label) / 2 if x.ticks and x.names is None else 0
    return PlotArea(x, y, left, top, width - left - max(8, half * (x.ticks[-1].at > 0.97) if x.ticks else 0), height)


def axes(area: PlotArea, x_title: str, y_title: str) -> tuple[list[str], float]:
    """Return the lines, ticks and titles of both axes as SVG elements, and the lowest position they reach."""
    right = area.left + area.width
    drawn = [text(y_title, 2, area.top - 10, class_="soft")] if y_title else []
    short = _short_labels(area.y)
    for tick in area.y.ticks:
        at = area.top + area.height * (1 - tick.at)
        if area.y.names is None:
            drawn.append(element("line", class_="grid", x1=area.left, x2=right, y1=at, y2=at))
        drawn.append(text(short[tick.label], area.left - 6, at + 4, whole=tick.label, text_anchor="end"))
    drawn.append(element("line", class_="axis", x1=area.left, x2=right, y1=area.bottom, y2=area.bottom))
    marks, reach = _horizontal_ticks(area)
    drawn += marks
    if x_title:
        reach += LINE
        drawn.append(text(x_title, area.left + area.width / 2, reach, class_="soft", text_anchor="middle"))
    return drawn, reach + 6


def _horizontal_ticks(area: PlotArea) -> tuple[list[str], float]:
    """Return the ticks of the horizontal axis as SVG elements, and the lowest position they reach.

    Names that would touch are rotated; if there are too many, only some are shown.
    """
    ticks = list(area.x.ticks)
    room = area.width / max(1, len(ticks))
    short = _short_labels(area.x)
    wide = max(map(width_of, short.values()), default=0)
    if area.x.names is None and wide > room:
        ticks = ticks[:: math.ceil(wide / room)]
    if area.x.names is not None and room < LINE * 0.8:
        ticks = ticks[:: math.ceil(LINE * 0.8 / room)]
    rotated = _is_rotated(area.x, area.width)
    drawn = []
    for tick in ticks:
        x, y = area.left + area.width * tick.at, area.bottom + 16
        rotation = {"transform": f"rotate(-38 {x:.1f} {y - 4:.1f})", "text_anchor": "end"} if rotated else {}
        drawn.append(text(short[tick.label], x, y, whole=tick.label, **({"text_anchor": "middle"} | rotation)))
    return drawn, area.bottom + (16 if not rotated else 12 + 0.62 * wide)


def _is_rotated(scale: Scale, width: float) -> bool:
    """Return whether the names of a scale would touch each other if they were horizontal."""
    wide = max(map(width_of, _short_labels(scale).values()), default=0)
    return scale.names is not None and wide > width / max(1, len(scale.ticks)) - 4


def legend(names: Sequence[str], *, width: float = WIDTH, lines: bool = True) -> tuple[list[str], float]:
    """Return the legend as SVG elements, a marker and a name for each series, and the lowest position it reaches.

    With ``lines``, the markers are on lines.
    """
    drawn, x, y, short = [], 2.0, float(SIZE), short_names(names)
    for number, name in enumerate(names):
        label = short[name]
        wide = 30 + width_of(label)
        if x > 2 and x + wide > width:
            x, y = 2.0, y + LINE
        inside = [stroke(number, [(x, y - 4), (x + 20, y - 4)])] if lines else []
        drawn.append(element("g", *inside, marker(number, x + 10, y - 4), class_=colour(number)))
        drawn.append(text(label, x + 25, y, whole=name))
        x += wide + 8
    return drawn, y + 8


def stroke(number: int, points: Sequence[tuple[float, float]]) -> str:
    """Return a line through points as SVG, in the dash pattern of series ``number``."""
    return element("path", class_="l", d=path(points), stroke_dasharray=DASHES[number // COLOURS % len(DASHES)])


def marker(number: int, x: float, y: float, *inside: str) -> str:
    """Return the marker of series ``number`` at a position as SVG: a circle, square, diamond or triangle."""
    kind, r = number % 4, 3.6
    if kind == 0:
        return element("circle", *inside, class_="m", cx=x, cy=y, r=r)
    if kind == 1:
        return element("rect", *inside, class_="m", x=x - 3.2, y=y - 3.2, width=6.4, height=6.4)
    corners = [(x, y - 4.8), (x + 4.8, y), (x, y + 4.8), (x - 4.8, y)] if kind == 2 else []
    corners = corners or [(x, y - 4.4), (x + 4.4, y + 3.6), (x - 4.4, y + 3.6)]
    return element("path", *inside, class_="m", d=path(corners, closed=True))


def colour(number: int) -> str:
    """Return the CSS class with the colour of series ``number``."""
    return f"c{number % COLOURS}"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return a short form of each name: long names lose their middle, or another part if two would look alike.

    >>> list(short_names(["pop", "BPR(factors=16, regularization=0.01)"]).values())
    ['pop', 'BPR(factors=1…zation=0.01)']
    >>> list(short_names([f"BPR(factors={number}, regularization=0.01)" for number in (16, 18)]).values())
    ['BPR(factors=16…ation=0.01)', 'BPR(factors=18…ation=0.01)']
    """
    distinct = list(dict.fromkeys(names))
    for width in (LONGEST, LONGER):
        for lean in sorted(range(-width // 2, width // 2), key=abs):
            short = {name: shorten(name, width, lean) for name in distinct}
            if len(set(short.values())) == len(distinct):
                return short
    return {name: f"{number}: {shorten(name, LONGEST)}" for number, name in enumerate(distinct, start=1)}


def _short_labels(scale: Scale) -> dict[str, str]:
    """Return the short forms of the labels along a scale."""
    return short_names([tick.label for tick in scale.ticks])
