"""A log on Spark: splits, filters and sequencers run in the tasks of a cluster, on the rows of whole users.

A task has all rows of its users and makes a log of them, so it runs the code for logs in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from recassay.backends.base import Remote, is_spark_frame
from recassay.backends.spark.session import session_of, spark_session, translate_errors
from recassay.backends.spark.tables import WHOLE, SparkTable, UserChunk, map_users, spark_table
from recassay.backends.spark.tallies import Sums, summed, summed_batches
from recassay.columnar.layout import row_groups
from recassay.columnar.times import (
    Positions,
    TimeKind,
    TimeScale,
    is_calendar_time,
    kind_of_positions,
    validated_kind,
)
from recassay.data.interactions import Interactions
from recassay.data.io.columns import ITEM, TIMESTAMP, USER
from recassay.data.read import Columns, TableSource
from recassay.data.sequences import Sequences
from recassay.naming.arguments import checks_types
from recassay.split.filters import Filter, add_counts
from recassay.split.partitions import Rows, Side
from recassay.split.sessions import Sequencer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from recassay.backends.spark.folds import SparkFold
    from recassay.split.base import Split

LOG, USER_ORDER, PLACE = "log", "user order", "place"
SEQUENCE, POSITION = "sequence_id", "position"
NUMBERS = (*WHOLE, "float", "double")
SOME = 1_000  # rows

Found = TypeVar("Found")
Keep = Callable[[Interactions], Rows]


@checks_types
def spark_log(source: TableSource, *, columns: Columns = None, times: TimeKind | None = None) -> SparkLog:
    """Return a log whose rows stay in a Spark table, or in Parquet files at a path that Spark can read.

    Splits, filters and sequencers accept it like :class:`~recassay.Interactions`. Rows of a user with equal times are
    in the order of the files, or of a column ``row``. A Spark table without that column has no order, and the rows are
    sorted by item id, then rating. ``times`` states the kind of times, as for :func:`~recassay.read_interactions`;
    without it the kind is inferred when it is needed.
    """
    spark = session_of(source) if is_spark_frame(source) else spark_session()
    found = spark_table(spark, source, "log", columns=columns, rows=True)
    return SparkLog(found, LogTimes(found, validated_kind(times, has_times=TIMESTAMP in found.columns)))


@dataclass(frozen=True, eq=False)
class SparkLog(Remote):
    """A log in a Spark table, less the rows that filters remove. Nothing is read until a result is needed."""

    table: SparkTable
    time_facts: LogTimes
    keeps: tuple[Keep, ...] = ()

    @property
    def times(self) -> TimeKind | None:
        """Return the kind of times; it is inferred from the times when first needed, unless it was stated."""
        return self.time_facts.kind

    @property
    def origin(self) -> str:
        """Return where the log comes from, for messages."""
        return self.table.where

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""
        return self.time_facts.scale

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """Apply ``look`` to every partition of the log, in the tasks, and return the sum of the results.

        A partition has all rows of some users, or with ``whole="item"`` all rows of some items.
        """
        log = self._transposed() if whole == "item" else self
        of = (lambda part: look(_users_and_items_exchanged(part))) if whole == "item" else look
        found: Found | None = log.summed(lambda part: of(part.log))
        return of(log._empty()) if found is None else found

    def where(self, keep: Keep) -> SparkLog:
        """Return the log with only the rows that the filter ``keep`` selects."""
        return replace(self, keeps=(*self.keeps, keep))

    def bare(self) -> SparkLog:
        """Return the log without its times and ratings; a filtered log keeps them, since its filters may need them."""
        if self.keeps:
            return self
        table = replace(self.table, frame=self.table.frame.select(USER, ITEM))
        return SparkLog(table, LogTimes(table, None))

    def cut(self, split: Split) -> tuple[SparkFold, ...]:
        """Return the folds that a split makes of the log, as Spark tables."""
        from recassay.backends.spark.folds import cut

        return cut(self, split)

    def sequences(self, sequencer: Sequencer) -> SparkSequences:
        """Return the sequences that a sequencer makes of the log; raise an error if there are none."""

        def count(part: UserRows) -> Sums:
            made = sequencer.sequences_of(part.log)
            return Sums((len(part.log), part.log.n_users, len(made), dict(made.removed)))

        rows, users, count_of_all, removed = self.summed(count) or (0, 0, 0, {})
        if not count_of_all:
            raise sequencer.none_made(rows, users, self.table.where)
        kind = self.table.kind
        schema = f"{SEQUENCE} string, {USER} {kind(USER)}, {ITEM} {kind(ITEM)}, {POSITION} bigint"
        if TIMESTAMP in self.table.columns:
            schema += f", {TIMESTAMP} {'bigint' if kind(TIMESTAMP) in WHOLE else 'double'}"
        made = self.map_users(partial(_sequence_rows, sequencer), schema)
        return SparkSequences(made, count_of_all, removed, self.table.where, self.times)

    def filtered(self, filters: Sequence[Filter]) -> SparkFiltered:
        """Return the log after all filters, applied in order, with the number of removed rows by reason."""
        log, sieves = self, list[tuple[Filter, Any]]()
        for one in filters:
            sieves.append((one, one.facts(log)))
            log = log.where(partial(_kept_by, *sieves[-1]))
        removed: dict[str, int] = {}
        if sieves:
            for one, (rows, users, without) in zip(filters, self.total(partial(_filter_counts, sieves)), strict=True):
                if rows == sum(without.values()):
                    raise one.nothing_kept(rows, users)
                removed = add_counts(removed, without)
        return SparkFiltered(log, removed)

    @property
    def frame(self) -> DataFrame:
        """Return the rows as a Spark table."""
        if not self.keeps:
            return self.table.frame.select(*self.table.columns)
        return self.map_users(lambda part: part.frame, self.schema)

    @property
    def schema(self) -> str:
        """Return names and types of the columns as Spark writes a schema."""
        return ", ".join(f"{name} {self.table.kind(name)}" for name in self.table.columns)

    def map_users(
        self, work: Callable[[UserRows], pl.DataFrame | None], schema: str, user_order: SparkTable | None = None
    ) -> DataFrame:
        """Apply ``work`` to each chunk of users in the tasks, and return all rows that it returns as a Spark table.

        - ``work``: a function from the rows of a chunk of users to a table; None stands for no rows
        - ``schema``: the names and types of the columns of the result, as Spark writes them
        - ``user_order``: a table with each user's position among all users, if a split needs it; a chunk then has the
          positions of its users
        """
        rows_of = self._reader()

        def make(chunks: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
            parts = filter(None, map(rows_of, chunks))
            yield from (made for made in map(work, parts) if made is not None)

        return map_users(self._tables(user_order), make, schema)

    def summed(self, look: Callable[[UserRows], Any], user_order: SparkTable | None = None) -> Any:
        """Apply ``look`` to each chunk of users in the tasks, and return the sum of the results.

        Return None for a log without rows. ``user_order`` is a table with each user's position among all users, if a
        split needs it; a chunk then has the positions of its users.
        """
        rows_of = self._reader()

        def look_at(chunk: UserChunk) -> Any:
            part = rows_of(chunk)
            return None if part is None else look(part)

        return summed(self._tables(user_order), look_at)

    def _tables(self, user_order: SparkTable | None) -> dict[str, SparkTable]:
        return {LOG: self.table} if user_order is None else {LOG: self.table, USER_ORDER: user_order}

    def _reader(self) -> Callable[[UserChunk], UserRows | None]:
        """Return a function that reads the rows of a chunk that the filters keep, in a task; None without such rows."""
        keeps, where, times = (
            self.keeps,
            self.table.where,
            self.time_facts.known,
        )  # tasks must not carry the table itself

        def rows_of(chunk: UserChunk) -> UserRows | None:
            frame = chunk[LOG]
            log = Interactions.from_frame(frame, origin=where, times=times)
            for keep in keeps:
                kept = keep(log)
                frame, log = frame.filter(pl.Series(kept, dtype=pl.Boolean)), log.take(kept).compact()
            # users ascend in both tables of a chunk
            positions = chunk[USER_ORDER][PLACE].to_numpy() if USER_ORDER in chunk else None
            return UserRows(frame, log, positions) if len(log) else None

        return rows_of

    def _empty(self) -> Interactions:
        return Interactions.from_frame(self.table.empty(), origin=self.table.where, times=self.time_facts.known)

    def _transposed(self) -> SparkLog:
        """Return the log with users and items exchanged, so that partitions have all rows of some items."""
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        rest = [F.col(name) for name in self.table.columns if name not in (USER, ITEM)]
        changed = self.frame.select(F.col(ITEM).alias(USER), F.col(USER).alias(ITEM), *rest)
        return SparkLog(replace(self.table, frame=changed), self.time_facts)


@dataclass(frozen=True)
class SparkFiltered:
    """A filtered log on Spark, and the number of removed rows by reason."""

    log: SparkLog
    removed: dict[str, int]


class UserRows(NamedTuple):
    """The rows of some users in a task, as a table and as a log.

    ``positions`` are those of the users among all users, in the order of a split; None if the split needs no order.
    """

    frame: pl.DataFrame
    log: Interactions
    positions: Any = None


@dataclass(frozen=True, eq=False)
class SparkSequences:
    """Sequences as a Spark table: sequence_id, user_id, item_id, position, and timestamp if there are times.

    The id of a sequence is the id of its user, a dash, and its number among the sequences of the user, from 0:
    ``ann-0``. ``position`` counts its rows from 0. ``removed`` counts rows that are in no sequence, by reason.
    """

    frame: DataFrame
    count: int
    removed: Mapping[str, int]
    origin: str = ""
    kind: TimeKind | None = None

    def __len__(self) -> int:
        return self.count

    def here(self) -> Sequences:
        """Load the sequences into the memory of this machine and return them, numbered by user, then time."""
        with translate_errors():
            frame = pl.DataFrame(self.frame.toArrow())
        number = pl.col(SEQUENCE).str.split("-").list.last().cast(pl.Int64)
        frame = frame.with_columns(pl.struct(USER, number.alias("number")).rank("dense").alias(SEQUENCE))
        found = Sequences.from_frame(frame, origin=self.origin, kind=self.kind)
        return replace(found, removed=self.removed)


def _sequence_rows(sequencer: Sequencer, part: UserRows) -> pl.DataFrame | None:
    """Return the sequences of some users as a table with a row per item; None if there are none."""
    made = sequencer.sequences_of(part.log)
    if not len(made):
        return None
    first = np.append(True, made.users[1:] != made.users[:-1])  # sequence of its user
    number = np.arange(len(made)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    of = row_groups(made.offsets)
    position = np.arange(of.size) - made.offsets[of]
    frame = made.frame().with_columns(
        pl.format("{}-{}", USER, pl.Series(number[of])).alias(SEQUENCE), pl.Series(POSITION, position)
    )
    return frame.select(one for one in (SEQUENCE, USER, ITEM, POSITION, TIMESTAMP) if one in frame.columns)


def _users_and_items_exchanged(log: Interactions) -> Interactions:
    """Return a log with users and items exchanged."""
    return replace(
        log,
        users=log.items,
        items=log.users,
        user_vocabulary=log.item_vocabulary,
        item_vocabulary=log.user_vocabulary,
    )


def _kept_by(filter_: Filter, facts: Any, log: Interactions) -> Rows:
    """Return a mask of the rows that a filter keeps of some users' log; ``facts`` is what it needs of the whole log."""
    return filter_.kept(log, facts)[0]


def _filter_counts(sieves: Sequence[tuple[Filter, Any]], log: Interactions) -> Sums:
    """Return, for each filter, the numbers of rows and users before it, and of the rows that it removes by reason.

    The filters are applied in order. ``sieves`` are pairs of a filter and the facts about the whole log that it needs.
    """
    steps = []
    for filter_, facts in sieves:
        kept, removed = filter_.kept(log, facts)
        steps.append(Sums((len(log), log.n_users, dict(removed))))
        log = log.take(kept).compact()
    return Sums(steps)


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


def _positions(chunk: UserChunk) -> Positions:
    """Return, for some users, counts that tell whether times are positions 1, 2, 3, ... rather than dates."""
    log = Interactions.from_frame(chunk[LOG])
    assert log.timestamps is not None, "there is a column"
    return Positions.of(log.users, log.timestamps)
