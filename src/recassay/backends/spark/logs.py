"""A log on Spark: splits, filters and sequencers run in the tasks of a cluster, on the rows of whole users.

A task has all rows of its users and makes a log of them, so it runs the code for logs in memory.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import polars as pl

from recassay.backends.base import Remote, is_spark_frame
from recassay.backends.spark.session import carry_errors, session_of, spark_session, translate_errors
from recassay.backends.spark.tables import SparkTable, UserChunk, map_users, spark_table, to_batches
from recassay.backends.spark.times import LogTimes
from recassay.columnar.time_kind import TimeKind, validated_kind
from recassay.columnar.time_scale import TimeScale
from recassay.data.interactions import Interactions
from recassay.data.io.columns import ITEM, TIMESTAMP, USER
from recassay.data.read import Columns, TableSource
from recassay.naming.arguments import checks_types
from recassay.split.filters import Filter, add_counts
from recassay.split.partitions import Rows, Side

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from recassay.backends.spark.folds import SparkFold
    from recassay.backends.spark.sequences import SparkSequences
    from recassay.split.base import Split
    from recassay.split.sessions import Sequencer

LOG, QUEUE, FOUND, PLACE = "log", "queue", "found", "place"
TOGETHER = 16  # tasks that add up what all tasks found, before the driver does

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
    return SparkLog(found, time_facts=LogTimes(found, validated_kind(times, has_times=TIMESTAMP in found.columns)))


@dataclass(frozen=True)
class FilterOfUsers:
    """A filter together with the statistics of the whole log that it needs to select rows of some users.

    ``facts`` are these statistics, from :meth:`Filter.facts`.
    """

    filter: Filter
    facts: Any

    def __call__(self, log: Interactions) -> Rows:
        """Return a mask of the rows that the filter keeps; ``log`` has all rows of some users."""
        return self.filter.kept(log, self.facts)[0]


@dataclass(frozen=True, eq=False)
class SparkLog(Remote):
    """A log in a Spark table, less the rows that filters remove. Nothing is read until a result is needed."""

    table: SparkTable
    keeps: tuple[Keep, ...] = ()
    time_facts: LogTimes | None = None

    @property
    def times(self) -> TimeKind | None:
        """Return the kind of times; it is inferred from the times when first needed, unless it was stated."""
        return None if self.time_facts is None else self.time_facts.kind

    @property
    def origin(self) -> str:
        """Return where the log comes from, for messages."""
        return self.table.where

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""
        return TimeScale() if self.time_facts is None else self.time_facts.scale

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """Apply ``look`` to every partition of the log, in the tasks, and return the sum of the results.

        A partition has all rows of some users, or with ``whole="item"`` all rows of some items.
        """
        if whole == "item":
            of_items: Found = self._transposed().total(_OfItems(look))
            return of_items
        found: Found | None = self.summed(_OfLog(look))
        return look(self._empty()) if found is None else found

    def where(self, keep: Keep) -> SparkLog:
        """Return the log with only the rows that the filter ``keep`` selects."""
        return replace(self, keeps=(*self.keeps, keep))

    def bare(self) -> SparkLog:
        """Return the log without its times and ratings; a filtered log keeps them, since its filters may need them."""
        if self.keeps:
            return self
        table = replace(self.table, frame=self.table.frame.select(USER, ITEM))
        return replace(self, table=table, time_facts=None)

    def cut(self, split: Split) -> tuple[SparkFold, ...]:
        """Return the folds that a split makes of the log, as Spark tables."""
        from recassay.backends.spark.folds import cut

        return cut(self, split)

    def sequences(self, sequencer: Sequencer) -> SparkSequences:
        """Return the sequences that a sequencer makes of the log."""
        from recassay.backends.spark.sequences import sequences

        return sequences(self, sequencer)

    def filtered(self, filters: Sequence[Filter]) -> SparkFiltered:
        """Return the log after all filters, applied in order, with the number of removed rows by reason."""
        log, sieves = self, list[FilterOfUsers]()
        for one in filters:
            sieves.append(FilterOfUsers(one, one.facts(log)))
            log = log.where(sieves[-1])
        removed: dict[str, int] = {}
        if sieves:
            for one, step in zip(filters, self.total(partial(_sieved, sieves)).steps, strict=True):
                if step.rows == sum(step.removed.values()):
                    raise one.nothing_kept(step.rows, step.users)
                removed = add_counts(removed, step.removed)
        return SparkFiltered(log, removed)

    @property
    def frame(self) -> DataFrame:
        """Return the rows as a Spark table."""
        if not self.keeps:
            return self.table.frame.select(*self.table.columns)
        return self.map_users(_rows, self.schema)

    @property
    def schema(self) -> str:
        """Return names and types of the columns as Spark writes a schema."""
        return ", ".join(f"{name} {self.table.kind(name)}" for name in self.table.columns)

    def map_users(
        self, work: Callable[[UserRows], pl.DataFrame | None], schema: str, queue: SparkTable | None = None
    ) -> DataFrame:
        """Apply ``work`` to each chunk of users in the tasks, and return all rows that it returns as a Spark table.

        ``schema`` describes the table. ``queue`` is a table with the position of each user in the order of a split;
        with it the chunks (:class:`UserRows`) have these positions.
        """
        tables = {LOG: self.table} if queue is None else {LOG: self.table, QUEUE: queue}
        return map_users(tables, _MakeRows(self.keeps, self.table.where, self._kind, work), schema)

    def summed(self, look: Callable[[UserRows], Found], queue: SparkTable | None = None) -> Found | None:
        """Apply ``look`` to each chunk of users in the tasks, and return the sum of the results.

        Return None for a log without rows. ``queue`` is a table with the position of each user in the order of a split;
        with it the chunks (:class:`UserRows`) have these positions.
        """
        tables = {LOG: self.table} if queue is None else {LOG: self.table, QUEUE: queue}
        packed = map_users(tables, _AddUp(self.keeps, self.table.where, self._kind, look), f"{FOUND} binary")
        if int(packed.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0) > TOGETHER:
            packed = packed.repartition(TOGETHER).mapInArrow(carry_errors(_added), f"{FOUND} binary")
        with translate_errors():
            found = [_unpacked(bytes(row[0])) for row in packed.collect()]
        return reduce(add, found) if found else None

    @property
    def _kind(self) -> TimeKind | None:
        """Return the kind of times if it is known (stated or inferred already), else None."""
        return None if self.time_facts is None else self.time_facts.known

    def _empty(self) -> Interactions:
        empty = pl.DataFrame(self.table.frame.limit(0).toArrow())
        return Interactions.from_frame(empty.select(self.table.columns), origin=self.table.where, times=self._kind)

    def _transposed(self) -> SparkLog:
        """Return the log with users and items exchanged, so that partitions have all rows of some items."""
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        rest = [F.col(name) for name in self.table.columns if name not in (USER, ITEM)]
        changed = self.frame.select(F.col(ITEM).alias(USER), F.col(USER).alias(ITEM), *rest)
        return SparkLog(replace(self.table, frame=changed), time_facts=self.time_facts)


@dataclass(frozen=True)
class SparkFiltered:
    """A filtered log on Spark, and the number of removed rows by reason."""

    log: SparkLog
    removed: dict[str, int]


class UserRows(NamedTuple):
    """The rows of some users in a task, as a table and as a log.

    ``places`` are the positions of these users among all users in the order of a split; None if the split needs no
    order.
    """

    frame: pl.DataFrame
    log: Interactions
    places: Any = None


@dataclass(frozen=True)
class _UserTask:
    """Base of work that a task does on the users of a log; it applies the log's filters to each chunk of users."""

    keeps: tuple[Keep, ...]
    where: str
    times: TimeKind | None

    def kept_rows(self, pieces: Iterator[UserChunk]) -> Iterator[UserRows]:
        """Yield for each chunk the rows that the filters keep; chunks without any are skipped."""
        for piece in pieces:
            frame = piece[LOG]
            log = Interactions.from_frame(frame, origin=self.where, times=self.times)
            for keep in self.keeps:
                kept = keep(log)
                frame, log = frame.filter(pl.Series(kept, dtype=pl.Boolean)), log.take(kept).compact()
            if len(log):
                places = piece[QUEUE][PLACE].to_numpy() if QUEUE in piece else None  # users ascend on either side
                yield UserRows(frame, log, places)


@dataclass(frozen=True)
class _MakeRows(_UserTask):
    """The work of a task that yields the table ``work`` makes of each chunk of users."""

    work: Callable[[UserRows], pl.DataFrame | None]

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        for look in self.kept_rows(pieces):
            made = self.work(look)
            if made is not None:
                yield made


@dataclass(frozen=True)
class _AddUp(_UserTask):
    """The work of a task that applies ``look`` to each chunk of its users and yields the sum of the results.

    The sum is one row of the resulting table.
    """

    look: Callable[[UserRows], Any]

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        found = None
        for look in self.kept_rows(pieces):
            one = self.look(look)
            found = one if found is None else found + one
        if found is not None:
            yield pl.DataFrame({FOUND: [_packed(found)]})


@dataclass(frozen=True)
class _OfLog:
    """A function of :class:`UserRows` that returns ``look`` of their log."""

    look: Callable[[Interactions], Any]

    def __call__(self, seen: UserRows) -> Any:
        return self.look(seen.log)


@dataclass(frozen=True)
class _OfItems:
    """A function that exchanges the users and items of a log and returns ``look`` of the result.

    It is given a log in which they were exchanged before, so that each partition has all rows of some items.
    """

    look: Callable[[Interactions], Any]

    def __call__(self, log: Interactions) -> Any:
        return self.look(
            replace(
                log,
                users=log.items,
                items=log.users,
                user_vocabulary=log.item_vocabulary,
                item_vocabulary=log.user_vocabulary,
            )
        )


class FilterStep(NamedTuple):
    """The numbers of rows and users that a filter was given, and the number of rows it removed, by reason."""

    rows: int
    users: int
    removed: dict[str, int]


@dataclass(frozen=True)
class Steps:
    """The counts of each of several filters, applied in order; the counts of disjoint groups of users add up."""

    steps: tuple[FilterStep, ...]

    def __add__(self, other: Steps) -> Steps:
        pairs = zip(self.steps, other.steps, strict=True)
        return Steps(
            tuple(FilterStep(a.rows + b.rows, a.users + b.users, add_counts(a.removed, b.removed)) for a, b in pairs)
        )


def _sieved(sieves: Sequence[FilterOfUsers], log: Interactions) -> Steps:
    steps = []
    for one in sieves:
        kept, removed = one.filter.kept(log, one.facts)
        steps.append(FilterStep(len(log), log.n_users, dict(removed)))
        log = log.take(kept).compact()
    return Steps(tuple(steps))


def _rows(look: UserRows) -> pl.DataFrame:
    return look.frame


def _packed(found: Any) -> bytes:
    return zlib.compress(pickle.dumps(found), 1)


def _unpacked(packed: bytes) -> Any:
    return pickle.loads(zlib.decompress(packed))


def _added(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    found = [_unpacked(value.as_py()) for batch in batches for value in batch.column(0)]
    if found:
        yield from to_batches(pl.DataFrame({FOUND: [_packed(reduce(add, found))]}))
