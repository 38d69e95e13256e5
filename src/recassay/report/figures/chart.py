"""Parts that all figures share: SVG elements, scales, the plot area with its axes, the legend and markers of series."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rich.cells import cell_len

from recassay.errors import printable
from recassay.report.content import wording

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

        ``width`` is the width of the figure, and ``least`` the smallest width that the plot area may have.
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
        """Return a vertical line at ``x`` over the height of the area, as an SVG element.

        ``kind`` is its CSS class, and ``inside`` are SVG elements within it, such as a tooltip.
        """
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


STEPS = (1, 2, 2.5, 5, 10)
LONGEST = 26  # characters of a name in a figure


@dataclass(frozen=True)
class Tick:
    """A labelled tick of an axis; ``at`` is its position from 0 to 1."""

    at: float
    label: str


@dataclass(frozen=True)
class Scale:
    """A map from values to positions along an axis, from 0 to 1, with ticks.

    ``names`` are the values if they are names, else None.
    """

    position: Callable[[Any], float]
    ticks: tuple[Tick, ...]
    names: tuple[str, ...] | None = None  # set if values are names, each with an equal share of the axis

    @cached_property
    def short(self) -> dict[str, str]:
        """Return the short forms of the labels of ticks."""
        return short_names([tick.label for tick in self.ticks])

    @cached_property
    def widest(self) -> float:
        """Return the width of the widest label in its short form; 0 without ticks."""
        return max(map(width_of, self.short.values()), default=0.0)

    def is_crowded(self, width: float) -> bool:
        """Return whether names along an axis of this width would touch each other if they were horizontal."""
        return self.names is not None and self.widest > width / max(1, len(self.ticks)) - 4


def is_number(value: object) -> bool:
    """Return whether a value is a number and not a bool.

    >>> is_number(2), is_number(True)
    (True, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return a short form of each name, as short as a figure needs; names that would look alike are numbered.

    >>> list(short_names(["pop", "runs/of-the-first-model/in-production"]).values())
    ['pop', 'runs/of-the-f…n-production']
    >>> list(short_names([f"BPR(factors={number}, regularization=0.01)" for number in (16, 18)]).values())
    ['BPR(factors=16, …)', 'BPR(factors=18, …)']
    """
    distinct = list(dict.fromkeys(names))
    forms = wording.short_names(distinct)
    short = {name: wording.shorten(forms.get(name, name), LONGEST) for name in distinct}
    alike = len(set(short.values())) < len(short)
    return {name: f"{at}: {form}" if alike else form for at, (name, form) in enumerate(short.items(), start=1)}


def scale_of(values: Sequence[Any], *, log: bool = False) -> Scale:
    """Return a scale for values of one kind: numbers, times, or names in the order in which they come."""
    if values and all(map(is_number, values)):
        return logarithmic(min(values), max(values)) if log else linear(min(values), max(values))
    if values and all(isinstance(value, datetime.date) for value in values):
        return _times(values)
    return categories(list(dict.fromkeys(map(str, values))))


def linear(low: float, high: float) -> Scale:
    """Return a linear scale with at most six ticks at round numbers.

    >>> [tick.label for tick in linear(0, 0.4).ticks]
    ['0', '0.1', '0.2', '0.3', '0.4']
    """
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    step = _step((high - low) / 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 9) % 1 != 0  # a step of 2.5 needs one more digit
    ticks = tuple(
        Tick((n * step - low) / (high - low), _label(n * step, int(digits))) for n in range(first, last + 1)
    )  # fmt: skip
    return Scale(lambda value: (value - low) / (high - low), ticks)


def around(values: Sequence[float], share: float = 0.08, least: float = 0.5) -> Scale:
    """Return a linear scale that covers values with a margin: a ``share`` of their range, or ``least`` if that is 0."""
    margin = share * (max(values) - min(values)) or least
    return linear(min(values) - margin, max(values) + margin)


def upside_down(scale: Scale) -> Scale:
    """Return the scale in the other direction."""
    ticks = tuple(Tick(1 - tick.at, tick.label) for tick in scale.ticks)
    return Scale(lambda value: 1 - scale.position(value), ticks, scale.names)


def logarithmic(low: float, high: float) -> Scale:
    """Return a logarithmic scale with ticks at powers of ten, and at 2 and 5 times them over short ranges.

    >>> [tick.label for tick in logarithmic(10, 1000).ticks]
    ['10', '100', '1,000']
    """
    start, end = math.log10(low), math.log10(high)
    start, end = (start - 0.5, end + 0.5) if start == end else (start, end)
    powers = range(math.floor(start), math.ceil(end) + 1)
    factors = (1,) if end - start >= 2 else (1, 2, 5)
    round_numbers = [factor * 10.0**power for power in powers for factor in factors]
    inside = [value for value in round_numbers if start - 1e-9 <= math.log10(value) <= end + 1e-9]
    inside = inside[:: max(1, math.ceil(len(inside) / 7))]
    ticks = tuple(Tick((math.log10(value) - start) / (end - start), f"{value:,.12g}") for value in inside)
    return Scale(lambda value: (math.log10(value) - start) / (end - start), ticks)


def categories(names: Sequence[str]) -> Scale:
    """Return a scale of names, each in the middle of an equal share of the axis.

    >>> [tick.at for tick in categories(["a", "b"]).ticks]
    [0.25, 0.75]
    """
    share = 1 / max(1, len(names))
    places = {name: (number + 0.5) * share for number, name in enumerate(names)}
    ticks = tuple(Tick(at, printable(name)) for name, at in places.items())
    return Scale(lambda value: places[str(value)], ticks, tuple(names))


def _times(values: Sequence[Any]) -> Scale:
    """Return a scale of times, labelled by date, or by hour and minute if they span less than three days."""
    seconds = [_seconds(value) for value in values]
    low, high = min(seconds), max(seconds)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    day = 86_400
    form = "%Y-%m-%d" if high - low >= 3 * day else "%m-%d %H:%M"
    marks = [low + share * (high - low) for share in (0.0, 1 / 3, 2 / 3, 1.0)]
    labels = [datetime.datetime.fromtimestamp(mark, datetime.UTC).strftime(form) for mark in marks]
    ticks = tuple(Tick((mark - low) / (high - low), label) for mark, label in zip(marks, labels, strict=True))
    return Scale(lambda value: (_seconds(value) - low) / (high - low), ticks)


def _seconds(value: datetime.date) -> float:
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _step(least: float) -> float:
    """Return the smallest round step between ticks that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(part * power for part in STEPS if part * power >= least * (1 - 1e-9))


def _label(value: float, digits: int) -> str:
    if value and (abs(value) >= 1e7 or abs(value) < 1e-5):
        return f"{value:.3g}"
    text = f"{value:z,.{digits}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


SIZE = 12  # of text
LETTER = 6.6  # width of a character of that size: the average and a small margin


def element(tag: str, *inside: str, **attributes: object) -> str:
    """Return an SVG element as text, around ``inside``, whose parts are SVG already.

    Attribute names may end in an underscore (``class_``); other underscores become dashes.

    >>> element("g", element("rect", width=2.50), class_="a")
    '<g class="a"><rect width="2.5"/></g>'
    """
    given = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(printable(_value(value)))}"
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{given}/>"


def text(words: object, x: float, y: float, *, whole: str | None = None, **attributes: object) -> str:
    """Return an SVG element with words at a position; its tooltip is ``whole``, if the words are a short form of it.

    >>> text("<b>", 1, 2)
    '<text x="1" y="2">&lt;b&gt;</text>'
    >>> text("b…5", 1, 2, whole="bm25")
    '<text x="1" y="2">b…5<title>bm25</title></text>'
    """
    full = () if whole is None or whole == words else (tooltip(whole),)
    return element("text", escape(printable(str(words))), *full, x=x, y=y, **attributes)


def tooltip(words: str) -> str:
    """Return an SVG element that gives the element around it a tooltip."""
    return element("title", escape(printable(words)))


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """Return the ``d`` attribute of an SVG path through points; ``closed`` joins the last point to the first.

    >>> path([(0, 1), (2, 3.14159)])
    'M0 1L2 3.1'
    """
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points) + ("Z" if closed else "")


def width_of(words: str) -> float:
    """Return the approximate width of words in a figure, in user units of the SVG (CSS pixels at full size)."""
    return LETTER * cell_len(printable(words))


def _value(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
    return str(value)
