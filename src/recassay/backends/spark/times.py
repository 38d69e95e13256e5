"""The kind and magnitudes of the times of a log on Spark, inferred once by the rules for logs in memory."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from recassay.backends.spark.session import translate_errors
from recassay.backends.spark.tables import WHOLE, SparkTable, UserChunk
from recassay.backends.spark.tallies import summed, summed_batches
from recassay.columnar.times import Positions, TimeKind, TimeScale, is_calendar_time, kind_of_positions
from recassay.data.interactions import Interactions
from recassay.data.io.columns import ITEM, TIMESTAMP, USER

NUMBERS = (*WHOLE, "float", "double")
LOG = "log"
SOME = 1_000  # rows


class LogTimes:
    """The times of a log on Spark; ``known`` is their kind (clock, global or user) once it is stated or inferred."""

    def __init__(self, table: SparkTable, stated: TimeKind | None) -> None:
        self.table, self.known = table, stated
        self.there = TIMESTAMP in table.columns

    @property
    def kind(self) -> TimeKind | None:
        """Return the kind of times, inferred when first needed; None without times."""
        if self.known is None and self.there:
            self.known = self._inferred()
        return self.known

    @cached_property
    def scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, from one pass over their column."""
        if not self.there:
            return TimeScale()
        column = self.table.frame[TIMESTAMP]
        dates = self.table.kind(TIMESTAMP) not in NUMBERS
        times = self.table.frame.select((column.cast("timestamp") if dates else column).alias(TIMESTAMP))
        return summed_batches(times, lambda batch: TimeScale.of(batch[TIMESTAMP])) or TimeScale()

    def _inferred(self) -> TimeKind:
        if self.table.kind(TIMESTAMP) not in NUMBERS:
            return "clock"
        if any(self.scale.counts[1:]):
            return "global" if self._calendar_times() else "clock"
        bare = SparkTable(self.table.frame.select(USER, ITEM, TIMESTAMP), self.table.where)
        return kind_of_positions(summed({LOG: bare}, _positions) or Positions(), named=self.table.positions)

    def _calendar_times(self) -> bool:
        """Return whether the times are dates and times written as numbers, such as 20200531235959.

        Only a few of them are examined.
        """
        if self.scale.counts[0] or self.scale.unit != "milliseconds":
            return False
        with translate_errors():
            some = self.table.frame.select(TIMESTAMP).where(f"{TIMESTAMP} is not null").limit(SOME).toArrow()
        return is_calendar_time(pl.DataFrame(some)[TIMESTAMP].drop_nulls().to_numpy())


def _positions(piece: UserChunk) -> Positions:
    """Return the statistics of some users that tell whether times are positions."""
    log = Interactions.from_frame(piece[LOG])
    assert log.timestamps is not None, "there is a column"
    return Positions.of(log.users, log.timestamps)
