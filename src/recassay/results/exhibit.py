"""Exhibits: tables of results, with the names of the columns that a picture of the table uses as axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import polars as pl

from recassay.shown import Displayable

Kind = Literal["line", "point", "bar", "dot", "heat"]
ABOUT = ("name", "title", "caption", "table")


@dataclass(frozen=True, eq=False, repr=False)
class Exhibit(Displayable):
    """A table and how to draw it: ``y`` over ``x``, a picture per value of ``facet``, a line per value of ``series``.

    ``name`` is used in file names; ``caption`` says what the picture shows and what to be careful about. ``low`` and
    ``high`` are bounds of the values drawn. With ``downwards`` small values of ``y`` are on top, as for ranks. The
    pictures share their scales, or have ``own_scales`` where they show different metrics. The kinds are

    * ``line``, ``bar``, and ``point``, without lines between points;
    * ``dot``: a row for every ``y`` (names), with a dot at ``x`` and its bounds;
    * ``heat``: a cell for every ``x`` and ``y``, both names, shaded by ``value``, with ``label`` or the value as text.

    ``band`` is a column of text; a range of ``x`` with the same text gets a shaded and labelled background. ``mark`` is
    a column of text at the ``x`` of an event, and null elsewhere.

    >>> table = pl.DataFrame({"removed": [0.0, 0.5], "mean": [0.4, 0.2], "system": ["a", "a"]})
    >>> one = Exhibit("sparsity", "Fewer ratings", "Precision falls in proportion.", table, "removed", "mean", "system")
    >>> one.to_dict()["rows"][1]
    {'removed': 0.5, 'mean': 0.2, 'system': 'a'}
    >>> Exhibit.from_dict(one.to_dict()).series
    'system'
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
    kind: Kind = "line"
    log_x: bool = False
    log_y: bool = False
    downwards: bool = False
    value: str | None = None
    label: str | None = None
    band: str | None = None
    mark: str | None = None
    own_scales: bool = False

    def to_dict(self) -> Mapping[str, Any]:
        """Return texts, axes and rows, ready for JSON."""
        about = {"name": self.name, "title": self.title, "caption": self.caption}
        axes = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ABOUT}
        return {**about, "axes": axes, "rows": self.table.to_dicts()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Exhibit:
        """Return the exhibit (a table to draw) that :meth:`to_dict` wrote; unknown axes are left out."""
        known = {one.name for one in fields(cls)} - set(ABOUT)
        axes = {name: value for name, value in content["axes"].items() if name in known}
        table = pl.DataFrame(content["rows"], infer_schema_length=None)
        return cls(content["name"], content["title"], content["caption"], table, **axes)
