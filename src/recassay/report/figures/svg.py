"""SVG elements as text. All text and attributes are escaped, so that names from files cannot inject markup."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from rich.cells import cell_len

from recassay.errors import printable

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
    """Return the approximate width of words in a figure."""
    return LETTER * cell_len(printable(words))


def _value(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
    return str(value)
