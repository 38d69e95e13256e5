"""What the times of a log on Spark can tell: found out once, when a split first asks, by the rules of the laptop."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.io.roles import ITEM, TIMESTAMP, USER
from recassay.data.time_kind import Positions, TimeKind, is_calendar_time, kind_of
from recassay.data.time_scale import EDGES, TimeScale
from recassay.engine.spark.session import told
from recassay.engine.spark.tables import WHOLE, Piece, SparkTable, by_user

if TYPE_CHECKING:
    from pyspark.sql import Column

NUMBERS = (*WHOLE, "float", "double")
LOG, FOUND = "log", "found"
SOME = 1_000  # rows
NAMES = ("n", "low", "high")


class LogTimes:
    """What is known of the times of a table; ``known`` is the kind if it was said or found out already."""

    def __init__(self, table: SparkTable, said: TimeKind | None) -> None:
        self.table, self.known = table, said
        self.there = TIMESTAMP in table.columns

    @property
    def kind(self) -> TimeKind | None:
        """What they can tell."""
        if self.known is None and self.there:
            self.known = self._found()
        return self.known

    @cached_property
    def scale(self) -> TimeScale:
        """How large they are, by one look at their column."""
        if not self.there:
            return TimeScale()
        kind = self.table.kind(TIMESTAMP)
        dates = kind not in NUMBERS
        edges: list[float] = [-np.inf, *(EDGES[:2] if dates else EDGES), np.inf]
        with told():
            values = self.table.frame.select(self._number(dates).alias(TIMESTAMP))
            row = values.agg(*_of_bands(edges)).collect()[0]
        counts, lows, highs = ([row[f"{what}_{band}"] for band in range(len(edges) - 1)] for what in NAMES)
        least = tuple(np.inf if low is None else float(low) for low in lows)
        return TimeScale(tuple(counts), least, tuple(-np.inf if one is None else float(one) for one in highs), dates)

    def _number(self, dates: bool) -> Column:
        column = self.table.frame[TIMESTAMP]
        return column.cast("timestamp").cast("double") if dates else column

    def _found(self) -> TimeKind:
        if self.table.kind(TIMESTAMP) not in NUMBERS:
            return "clock"
        if any(self.scale.counts[1:]):
            return "global" if self._calendar_times() else "clock"
        bare = SparkTable(self.table.frame.select(USER, ITEM, TIMESTAMP), self.table.where)
        with told():
            rows = by_user({LOG: bare}, _counted, f"{FOUND} binary").collect()
        parts = [pickle.loads(bytes(row[0])) for row in rows]
        return kind_of(reduce(add, parts, Positions()), named=self.table.positions)

    def _calendar_times(self) -> bool:
        """Return whether numbers are dates and times written as one number; few of them show that they are not."""
        if self.scale.counts[0] or self.scale.unit != "milliseconds":
            return False
        with told():
            some = self.table.frame.select(TIMESTAMP).where(f"{TIMESTAMP} is not null").limit(SOME).toArrow()
        return is_calendar_time(pl.DataFrame(some)[TIMESTAMP].drop_nulls().to_numpy())


def _of_bands(edges: list[float]) -> list[Any]:
    """Count, least and greatest of the values in each band."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    value = F.col(TIMESTAMP)
    finite = value.isNotNull() & ~F.isnan(value.cast("double")) & (F.abs(value.cast("double")) < float("inf"))
    found = []
    for band, (low, high) in enumerate(pairwise(edges)):
        inside = F.when(finite & (value >= low) & (value < high), value)
        found += [F.count(inside).alias(f"n_{band}"), F.min(inside).alias(f"low_{band}")]
        found.append(F.max(inside).alias(f"high_{band}"))
    return found


def _counted(pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
    """A row for some users of a task: what tells positions from instants."""
    for piece in pieces:
        log = Interactions.from_frame(piece[LOG])
        assert log.timestamps is not None, "there is a column"
        found = Positions.of(log.users, log.timestamps)
        yield pl.DataFrame({FOUND: [pickle.dumps(found)]})
