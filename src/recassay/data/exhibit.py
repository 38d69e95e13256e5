"""A table worth a picture: what an experiment found, and which of its columns are the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import polars as pl

from recassay.data.shown import Shown

Kind = Literal["line", "step", "point", "bar", "dot", "heat", "parallel"]
ABOUT = ("name", "title", "caption", "table")


@dataclass(frozen=True, eq=False)
class Exhibit(Shown):
    """A picture of ``y`` over ``x``, one for each value of ``facet``, with a line for each value of ``series``.

    ``name`` is a word for files, ``caption`` says what to see and what to be careful about. ``low`` and ``high`` are
    bounds of what is drawn. ``downwards``: small values of ``y`` stand on top, as ranks do. Its pictures have the
    same scales, so that they can be compared, or ``own_scales``, because they show other metrics. The kinds are

    * ``line``, ``step`` (a value holds until the next), ``bar``, and ``point``, which joins nothing: a trade-off;
    * ``dot``: a line for every ``y``, which are names, with a dot at ``x`` and its bounds along it;
    * ``heat``: a cell for every ``x`` and ``y``, both names, shaded by ``value`` and told by ``label`` or its value;
    * ``parallel``: an upright axis with a scale of its own for every ``x``, which are names.

    ``band`` is a column of text: where it says the same along ``x``, the ground behind the lines is shaded and named;
    ``mark`` is a column of text at the ``x`` where something happened, and null elsewhere.

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
        """Ready for JSON."""
        about = {"name": self.name, "title": self.title, "caption": self.caption}
        axes = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ABOUT}
        return {**about, "axes": axes, "rows": self.table.to_dicts()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Exhibit:
        """What :meth:`to_dict` made, from JSON; axes that it does not know are left out."""
        known = {one.name for one in fields(cls)} - set(ABOUT)
        axes = {name: value for name, value in content["axes"].items() if name in known}
        table = pl.DataFrame(content["rows"], infer_schema_length=None)
        return cls(content["name"], content["title"], content["caption"], table, **axes)
