"""Means by group of users, or of relevant items: which groups a system serves worse, and whether that is chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import polars as pl

from recassay.data.io.write import finite
from recassay.shown import Displayable

GroupKind = Literal["users", "items"]


@dataclass(frozen=True)
class GroupRow:
    """The mean of one system under one metric in one group, and its difference from the mean over all users.

    ``n`` counts the users with a value; of a group of items these are users with a relevant item in it. ``p`` is the
    p-value of the difference, corrected over all groups.
    """

    system: str
    metric: str
    group: str
    n: int
    mean: float
    low: float
    high: float
    difference: float
    p: float
    significant: bool


@dataclass(frozen=True)
class GroupGap:
    """The difference between the best and the worst group of one system under one metric, and its test.

    ``p`` is corrected over all ``pairs`` of groups, because the data chose the two. For a metric without a better
    direction ``best`` has the highest mean.
    """

    system: str
    metric: str
    best: str
    worst: str
    gap: float
    low: float
    high: float
    p: float
    pairs: int
    significant: bool


@dataclass(frozen=True, eq=False, repr=False)
class GroupScores(Displayable):
    """Means of all systems by the groups of one column, and the gap between the best and the worst group.

    ``by`` is the column, and ``kind`` says what is grouped: users, or relevant items. Groups with fewer than
    ``smallest`` users are not reported: ``hidden`` is their number, and ``hidden_users`` the sum of their users.
    ``without`` counts users, or items, without a value in the column. ``left_out`` maps a metric that has no groups to
    the reason; ``note`` says how values became groups, if they were numbers.
    """

    by: str
    kind: GroupKind
    rows: tuple[GroupRow, ...]
    gaps: tuple[GroupGap, ...]
    smallest: int
    hidden: int = 0
    hidden_users: int = 0
    without: int = 0
    level: float = 0.95
    correction: str = "holm"
    left_out: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups that are reported."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that have groups."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the names of the systems that have groups."""
        return tuple(dict.fromkeys(row.system for row in self.rows))

    def row(self, system: str, metric: str, group: str) -> GroupRow | None:
        """Return the row of one system, metric and group; None if too few users have a value."""
        wanted = (system, metric, group)
        return next((row for row in self.rows if (row.system, row.metric, row.group) == wanted), None)

    def cells(self, metric: str, group: str) -> list[GroupRow | None]:
        """Return the row of every system under one metric in one group; None if too few users have a value."""
        return [self.row(system, metric, group) for system in self.systems]

    def gap(self, system: str, metric: str) -> GroupGap | None:
        """Return the difference of best and worst group of a system under a metric; None without two groups."""
        return next((row for row in self.gaps if (row.system, row.metric) == (system, metric)), None)

    def frame(self) -> pl.DataFrame:
        """Return a row per system, metric and group: mean, difference from the mean over all users, and its p."""
        return self._with_grouping(pl.DataFrame([asdict(row) for row in self.rows], schema=_schema(GroupRow)))

    def gaps_frame(self) -> pl.DataFrame:
        """Return a row per system and metric: best and worst group, the gap between them, its interval, its p."""
        return self._with_grouping(pl.DataFrame([asdict(row) for row in self.gaps], schema=_schema(GroupGap)))

    def _with_grouping(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(pl.lit(self.by).alias("by"), pl.lit(self.kind).alias("kind"), pl.all())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; undefined and infinite numbers are None."""
        about = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in LISTS}
        about["left_out"] = dict(self.left_out)
        return {**about, **{name: [finite(vars(row)) for row in getattr(self, name)] for name in LISTS}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> GroupScores:
        """Return the group scores that :meth:`to_dict` turned into plain values.

        >>> row = GroupRow("pop", "ndcg@10", "de", 12, 0.25, math.nan, math.nan, 0.01, 0.5, False)
        >>> made = GroupScores("country", "users", (row,), (), 10)
        >>> GroupScores.from_dict(made.to_dict()).rows[0].mean
        0.25
        """
        rows = tuple(GroupRow(**_null_as_nan(row)) for row in content["rows"])
        gaps = tuple(GroupGap(**_null_as_nan(row)) for row in content["gaps"])
        known = {one.name for one in fields(cls)} - set(LISTS)
        return cls(**{name: value for name, value in content.items() if name in known}, rows=rows, gaps=gaps)


LISTS = ("rows", "gaps")
_TYPES = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}


def _schema(kind: type) -> dict[str, Any]:
    return {one.name: _TYPES[str(one.type)] for one in fields(kind)}


def _null_as_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in row.items()}
