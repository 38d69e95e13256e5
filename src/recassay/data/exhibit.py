"""A table worth a picture: what an experiment found, and which of its columns are the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl


@dataclass(frozen=True, eq=False)
class Exhibit:
    """Lines (or bars) of ``y`` over ``x``, one for each value of ``series``; ``low`` and ``high`` are bounds of ``y``.

    ``name`` is a word for files, ``caption`` says what to see and what to be careful about. ``downwards``: small values
    of ``y`` stand on top, as ranks do.

    >>> table = pl.DataFrame({"removed": [0.0, 0.5], "mean": [0.4, 0.2], "system": ["a", "a"]})
    >>> one = Exhibit("sparsity", "Fewer ratings", "Precision falls in proportion.", table, "removed", "mean", "system")
    >>> one.to_dict()["rows"][1]
    {'removed': 0.5, 'mean': 0.2, 'system': 'a'}
    """

    name: str
    title: str
    caption: str
    table: pl.DataFrame
    x: str
    y: str
    series: str | None = None
    facet: str | None = None
    low: str | None = None
    high: str | None = None
    kind: Literal["line", "bar"] = "line"
    log_x: bool = False
    log_y: bool = False
    downwards: bool = False

    def to_dict(self) -> Mapping[str, Any]:
        """Ready for JSON."""
        axes: dict[str, Any] = {"x": self.x, "y": self.y, "series": self.series, "facet": self.facet, "low": self.low}
        axes |= {
            "high": self.high,
            "kind": self.kind,
            "log_x": self.log_x,
            "log_y": self.log_y,
            "downwards": self.downwards,
        }
        about = {"name": self.name, "title": self.title, "caption": self.caption}
        return {**about, "axes": axes, "rows": self.table.to_dicts()}
