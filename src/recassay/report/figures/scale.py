"""Scales: the position of a value along an axis, ticks at round values, and short forms of long names."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from recassay.errors import printable
from recassay.report.content.wording import shorten
from recassay.report.figures.svg import width_of

STEPS = (1, 2, 2.5, 5, 10)
LONGEST = 26  # characters of a name in a figure
LONGER = 40  # of names that look alike in fewer characters


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


def scale_of(values: Sequence[Any], *, log: bool = False) -> Scale:
    """Return a scale for values of one kind: numbers, times, or names in the order in which they come."""
    if values and all(map(is_number, values)):
        return logarithmic(min(values), max(values)) if log else linear(min(values), max(values))
    if values and all(isinstance(value, datetime.date) for value in values):
        return _times(values)
    return categories(list(dict.fromkeys(map(str, values))))


def linear(low: float, high: float, most: int = 6) -> Scale:
    """Return a linear scale with at most ``most`` ticks at round numbers.

    >>> [tick.label for tick in linear(0, 0.4).ticks]
    ['0', '0.1', '0.2', '0.3', '0.4']
    """
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    step = _step((high - low) / (most - 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 9) % 1 != 0  # a step of 2.5 needs one more digit
    ticks = tuple(
        Tick((n * step - low) / (high - low), _label(n * step, int(digits))) for n in range(first, last + 1)
    )  # fmt: skip
    return Scale(lambda value: (value - low) / (high - low), ticks)


def around(values: Sequence[float], share: float = 0.08, least: float = 0.5) -> Scale:
    """Return a linear scale that covers values with a margin, a ``share`` of their range or else ``least``."""
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
