"""Pictures of exhibits as SVG: the same drawing for the page of a study and for a paper."""

from __future__ import annotations

from recassay.report.figures.draw import Panel, panels, undrawn

__all__ = ["Panel", "panels", "undrawn"]
