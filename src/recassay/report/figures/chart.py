"""What all pictures share: the ground with its axes, the legend, and the signs that tell series apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recassay.report.figures.scale import Scale
from recassay.report.figures.svg import SIZE, element, path, text, width_of
from recassay.report.wording import shorten

WIDTH = 400  # of a picture; pages show it up to half as large again, so that its letters are read on a phone
HEIGHT = 230  # of the ground
COLOURS = 8  # of the palette in page.css
DASHES = (None, "6 3", "2 3", "8 3 2 3")
LONGEST = 26  # letters of a name in a picture
SLANT = 0.82  # of its width, how far a turned name reaches to its side
LINE = 17  # from one line of letters to the next


@dataclass(frozen=True)
class Ground:
    """Where things are drawn, and the scales along its sides."""

    x: Scale
    y: Scale
    left: float
    top: float
    width: float
    height: float

    def at(self, x: Any, y: Any) -> tuple[float, float]:
        """Where a point stands."""
        return self.across(x), self.up(y)

    def across(self, x: Any) -> float:
        """Where a value stands from left to right."""
        return self.left + self.width * self.x.place(x)

    def up(self, y: Any) -> float:
        """Where a value stands; larger ones higher."""
        return self.top + self.height * (1 - self.y.place(y))

    @property
    def bottom(self) -> float:
        """Where the horizontal axis lies."""
        return self.top + self.height


def picture(*inside: str, width: float, height: float, name: str) -> str:
    """A whole picture, with what it is called for those who do not see it."""
    return element(
        "svg", *inside, xmlns="http://www.w3.org/2000/svg", class_="figure", role="img", aria_label=name,
        viewBox=f"0 0 {math.ceil(width)} {math.ceil(height)}", width=math.ceil(width), height=math.ceil(height),
    )  # fmt: skip


def ground(x: Scale, y: Scale, *, top: float, height: float = HEIGHT, width: float = WIDTH) -> Ground:
    """The ground below a legend, with room for the names of the vertical axis."""
    names = max((width_of(shown(tick.label)) for tick in y.ticks), default=0)
    left = names + 12
    if x.names and _turned(x, width - left - 8):  # the first name must not reach over the edge
        left = max(left, SLANT * width_of(shown(x.ticks[0].label)) - (width - left) / len(x.ticks) / 2 + 8)
    half = width_of(x.ticks[-1].label) / 2 if x.ticks and x.names is None else 0
    return Ground(x, y, left, top, width - left - max(8, half * (x.ticks[-1].at > 0.97) if x.ticks else 0), height)


def axes(place: Ground, x_title: str, y_title: str) -> tuple[list[str], float]:
    """Lines, ticks and titles of both axes, and how far down they reach."""
    right = place.left + place.width
    drawn = [text(y_title, 2, place.top - 10, class_="soft")] if y_title else []
    for tick in place.y.ticks:
        at = place.top + place.height * (1 - tick.at)
        if place.y.names is None:
            drawn.append(element("line", class_="grid", x1=place.left, x2=right, y1=at, y2=at))
        drawn.append(text(shown(tick.label), place.left - 6, at + 4, text_anchor="end"))
    drawn.append(element("line", class_="axis", x1=place.left, x2=right, y1=place.bottom, y2=place.bottom))
    marks, reach = _below(place)
    drawn += marks
    if x_title:
        reach += LINE
        drawn.append(text(x_title, place.left + place.width / 2, reach, class_="soft", text_anchor="middle"))
    return drawn, reach + 6


def _below(place: Ground) -> tuple[list[str], float]:
    """The ticks of the horizontal axis: turned if they would touch; of many names some."""
    ticks = list(place.x.ticks)
    room = place.width / max(1, len(ticks))
    wide = max((width_of(shown(tick.label)) for tick in ticks), default=0)
    if place.x.names is None and wide > room:
        ticks = ticks[:: math.ceil(wide / room)]
    if place.x.names is not None and room < LINE * 0.8:
        ticks = ticks[:: math.ceil(LINE * 0.8 / room)]
    turned = _turned(place.x, place.width)
    drawn = []
    for tick in ticks:
        x, y = place.left + place.width * tick.at, place.bottom + 16
        how = {"transform": f"rotate(-38 {x:.1f} {y - 4:.1f})", "text_anchor": "end"} if turned else {}
        drawn.append(text(shown(tick.label), x, y, **({"text_anchor": "middle"} | how)))
    return drawn, place.bottom + (16 if not turned else 12 + 0.62 * wide)


def _turned(scale: Scale, width: float) -> bool:
    """Whether names would touch if they lay flat."""
    wide = max((width_of(shown(tick.label)) for tick in scale.ticks), default=0)
    return scale.names is not None and wide > width / max(1, len(scale.ticks)) - 4


def legend(names: Sequence[str], *, width: float = WIDTH, lines: bool = True) -> tuple[list[str], float]:
    """A sign and a name for each series, in as many lines as it takes, and how far down they reach."""
    drawn, x, y = [], 2.0, float(SIZE)
    for number, name in enumerate(names):
        label = shown(name)
        wide = 30 + width_of(label)
        if x > 2 and x + wide > width:
            x, y = 2.0, y + LINE
        inside = [stroke(number, [(x, y - 4), (x + 20, y - 4)])] if lines else []
        drawn += [element("g", *inside, sign(number, x + 10, y - 4), class_=colour(number)), text(label, x + 25, y)]
        x += wide + 8
    return drawn, y + 8


def stroke(number: int, points: Sequence[tuple[float, float]]) -> str:
    """The line of a series."""
    return element("path", class_="l", d=path(points), stroke_dasharray=DASHES[number // COLOURS % len(DASHES)])


def sign(number: int, x: float, y: float, *inside: str) -> str:
    """The sign of a series at a place: circle, square, diamond or triangle."""
    kind, r = number % 4, 3.6
    if kind == 0:
        return element("circle", *inside, class_="m", cx=x, cy=y, r=r)
    if kind == 1:
        return element("rect", *inside, class_="m", x=x - 3.2, y=y - 3.2, width=6.4, height=6.4)
    corners = [(x, y - 4.8), (x + 4.8, y), (x, y + 4.8), (x - 4.8, y)] if kind == 2 else []
    corners = corners or [(x, y - 4.4), (x + 4.4, y + 3.6), (x - 4.4, y + 3.6)]
    return element("path", *inside, class_="m", d=path(corners, closed=True))


def colour(number: int) -> str:
    """The class that gives a series its colour."""
    return f"c{number % COLOURS}"


def shown(name: str) -> str:
    """A name as a picture has room for it."""
    return shorten(name, LONGEST)
