"""Figures of exhibits as SVG, the same for the report page, notebooks and papers."""

from __future__ import annotations

from recassay.report.figures.draw import Panel, panels, undrawn

__all__ = ["Panel", "panels", "undrawn"]
