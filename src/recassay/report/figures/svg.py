"""Elements of SVG as text: every name and number in it is escaped, so that no text has power over the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from rich.cells import cell_len

from recassay.report.wording import printable

SIZE = 12  # of letters
LETTER = 6.6  # width of a letter of that size, on average and a little more


def element(tag: str, *inside: str, **attributes: object) -> str:
    """An element; ``inside`` is SVG already. ``class_`` is the class, and underlines become dashes.

    >>> element("g", element("rect", width=2.50), class_="a")
    '<g class="a"><rect width="2.5"/></g>'
    """
    given = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(printable(_value(value)))}"
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{given}/>"


def text(words: object, x: float, y: float, **attributes: object) -> str:
    """Words that stand at a place.

    >>> text("<b>", 1, 2)
    '<text x="1" y="2">&lt;b&gt;</text>'
    """
    return element("text", escape(printable(str(words))), x=x, y=y, **attributes)


def told(words: str) -> str:
    """What a pointer that rests on an element is told."""
    return element("title", escape(printable(words)))


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """The ``d`` of a line through points.

    >>> path([(0, 1), (2, 3.14159)])
    'M0 1L2 3.1'
    """
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points) + ("Z" if closed else "")


def width_of(words: str) -> float:
    """How wide words are, about."""
    return LETTER * cell_len(printable(words))


def _value(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
    return str(value)
