"""Sparklines: small charts within text, lines or bars, in the colour of the text."""

from __future__ import annotations

from collections.abc import Sequence

from recassay.report.figures.svg import element, path

WIDTH, HEIGHT = 160, 22


def sparkline(values: Sequence[float], *, bars: bool = False) -> str:
    """Return an SVG element with a line through values, or bars from 0; empty for fewer than two values.

    >>> sparkline([1.0, 2.0]).startswith("<svg") and "path" in sparkline([1.0, 2.0])
    True
    >>> sparkline([1.0])
    ''
    """
    if len(values) < 2:
        return ""
    least = min(0.0, *values) if bars else min(values)
    span = (max(values) - least) or 1.0
    heights = [1 + (HEIGHT - 2) * (value - least) / span for value in values]
    step = WIDTH / len(values) if bars else WIDTH / (len(values) - 1)
    if bars:
        drawn = [
            element("rect", x=step * at, y=HEIGHT - tall, width=max(step - 0.6, 0.6), height=tall, fill="currentColor")
            for at, tall in enumerate(heights)
        ]
    else:
        line = path((step * at, HEIGHT - tall) for at, tall in enumerate(heights))
        drawn = [element("path", d=line, fill="none", stroke="currentColor", stroke_width=1.3)]
    return element(
        "svg", *drawn, xmlns="http://www.w3.org/2000/svg", width=WIDTH, height=HEIGHT, viewBox=f"0 0 {WIDTH} {HEIGHT}",
        aria_hidden="true", style="vertical-align: middle; opacity: .75",
    )  # fmt: skip
