"""A log on Spark: what local splits, filters and sequencers ask a log in parts, asked of the tasks of a cluster.

Whole users stand together in a task, and become a log there; what is asked of it is what is asked of a log in memory.
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

from recassay.data.interactions import Interactions
from recassay.data.io.roles import ITEM, TIMESTAMP, USER
from recassay.data.read import Columns
from recassay.data.time_kind import TimeKind, known_kind
from recassay.data.time_scale import TimeScale
from recassay.engine.spark.session import carried, is_spark, session_of, spark_session, told
from recassay.engine.spark.tables import Piece, SparkTable, by_user, table, to_batches
from recassay.engine.spark.times import LogTimes
from recassay.split.filters import Filter, added_up
from recassay.split.in_parts import Rows, Side

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from recassay.engine.spark.folds import SparkFold
    from recassay.engine.spark.sequences import SparkSequences
    from recassay.split.base import Split
    from recassay.split.sessions import Sequencer

LOG, QUEUE, FOUND, PLACE = "log", "queue", "found", "place"
TOGETHER = 16  # tasks that add up what all tasks found, before the driver does

Found = TypeVar("Found")
Keep = Callable[[Interactions], Rows]


def spark_log(source: Any, *, columns: Columns = None, times: str | None = None) -> SparkLog:
    """A log that stays where it is: a Spark table, or Parquet files at a path that Spark can read.

    Splits, filters and sequencers take it as they take :class:`~recassay.Interactions`. Rows of a user that tie in time
    stand in the order of the files, or of a column ``row``; a Spark table without it has no order, and there they stand
    by item id, then rating. ``times`` says what its times can tell, as for :func:`~recassay.read_interactions`; what is
    not said is found out when it matters.
    """
    spark = session_of(source) if is_spark(source) else spark_session()
    found = table(spark, source, "log", columns=columns, rows=True)
    return SparkLog(found, time_facts=LogTimes(found, known_kind(times, has_times=TIMESTAMP in found.columns)))


@dataclass(frozen=True)
class Kept:
    """Which rows of some users a filter keeps that knows what it must of all."""

    filter: Filter
    facts: Any

    def __call__(self, log: Interactions) -> Rows:
        """The rows of some users that stay."""
        return self.filter.kept(log, self.facts)[0]


@dataclass(frozen=True, eq=False)
class SparkLog:
    """A log in the tasks of Spark: rows of a table, less what is not kept. Nothing is read before it is asked for."""

    table: SparkTable
    keeps: tuple[Keep, ...] = ()
    time_facts: LogTimes | None = None

    @property
    def times(self) -> TimeKind | None:
        """What its times can tell; found out by a look at them the first time, unless it was said."""
        return None if self.time_facts is None else self.time_facts.kind

    @property
    def origin(self) -> str:
        """Where it comes from."""
        return self.table.where

    @property
    def time_scale(self) -> TimeScale:
        """How large its times are."""
        return TimeScale() if self.time_facts is None else self.time_facts.scale

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """The sum of what is found in each part; parts are of whole users, or of whole items if asked for."""
        if whole == "item":
            of_items: Found = self._with_sides_changed().total(_OfItems(look))
            return of_items
        found: Found | None = self.summed(_Plain(look))
        return look(self._nothing()) if found is None else found

    def where(self, keep: Keep) -> SparkLog:
        """The log of the rows that are kept."""
        return replace(self, keeps=(*self.keeps, keep))

    def bare(self) -> SparkLog:
        """The log without times and ratings; with them while they are needed to tell what is kept."""
        if self.keeps:
            return self
        table = replace(self.table, frame=self.table.frame.select(USER, ITEM))
        return replace(self, table=table, time_facts=None)

    def cut(self, split: Split) -> tuple[SparkFold, ...]:
        """The folds of a split."""
        from recassay.engine.spark.folds import cut

        return cut(self, split)

    def sequences(self, sequencer: Sequencer) -> SparkSequences:
        """The sequences it becomes."""
        from recassay.engine.spark.sequences import sequences

        return sequences(self, sequencer)

    def filtered(self, filters: Sequence[Filter]) -> SparkFiltered:
        """What one filter after the other leaves of it, and how many rows are gone, by reason."""
        log, sieves = self, list[Kept]()
        for one in filters:
            sieves.append(Kept(one, one.facts(log)))
            log = log.where(sieves[-1])
        removed: dict[str, int] = {}
        if sieves:
            for one, step in zip(filters, self.total(partial(_sieved, sieves)).steps, strict=True):
                if step.rows == sum(step.removed.values()):
                    raise one.nothing_kept(step.rows, step.users)
                removed = added_up(removed, step.removed)
        return SparkFiltered(log, removed)

    @property
    def frame(self) -> DataFrame:
        """Its rows as a Spark table."""
        if not self.keeps:
            return self.table.frame.select(*self.table.columns)
        return self.by_user(_rows, self.schema)

    @property
    def schema(self) -> str:
        """Names and types of its columns."""
        return ", ".join(f"{name} {self.table.kind(name)}" for name in self.table.columns)

    def by_user(
        self, work: Callable[[Look], pl.DataFrame | None], schema: str, queue: SparkTable | None = None
    ) -> DataFrame:
        """The rows that ``work`` makes of each look at some users."""
        tables = {LOG: self.table} if queue is None else {LOG: self.table, QUEUE: queue}
        return by_user(tables, _Made(self.keeps, self.table.where, self._kind, work), schema)

    def summed(self, look: Callable[[Look], Found], queue: SparkTable | None = None) -> Found | None:
        """The sum of what is found in each look; None of no rows."""
        tables = {LOG: self.table} if queue is None else {LOG: self.table, QUEUE: queue}
        packed = by_user(tables, _Summed(self.keeps, self.table.where, self._kind, look), f"{FOUND} binary")
        if int(packed.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0) > TOGETHER:
            packed = packed.repartition(TOGETHER).mapInArrow(carried(_added), f"{FOUND} binary")
        with told():
            found = [_unpacked(bytes(row[0])) for row in packed.collect()]
        return reduce(add, found) if found else None

    @property
    def _kind(self) -> TimeKind | None:
        """The kind as far as it is known: who needs it has asked before."""
        return None if self.time_facts is None else self.time_facts.known

    def _nothing(self) -> Interactions:
        empty = pl.DataFrame(self.table.frame.limit(0).toArrow())
        return Interactions.from_frame(empty.select(self.table.columns), origin=self.table.where, times=self._kind)

    def _with_sides_changed(self) -> SparkLog:
        """Items for users: parts are then of whole items."""
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        rest = [F.col(name) for name in self.table.columns if name not in (USER, ITEM)]
        changed = self.frame.select(F.col(ITEM).alias(USER), F.col(USER).alias(ITEM), *rest)
        return SparkLog(replace(self.table, frame=changed), time_facts=self.time_facts)


@dataclass(frozen=True)
class SparkFiltered:
    """What is left of a log on Spark, and how many rows are not, by reason."""

    log: SparkLog
    removed: dict[str, int]


class Look(NamedTuple):
    """Some users in a task: their rows as a table and as a log, and their places in a queue, if they are told."""

    frame: pl.DataFrame
    log: Interactions
    places: Any = None


@dataclass(frozen=True)
class _Seen:
    """Work of a task: what is kept of each piece is looked at."""

    keeps: tuple[Keep, ...]
    where: str
    times: TimeKind | None

    def looks(self, pieces: Iterator[Piece]) -> Iterator[Look]:
        """A look at each piece of which something is kept."""
        for piece in pieces:
            frame = piece[LOG]
            log = Interactions.from_frame(frame, origin=self.where, times=self.times)
            for keep in self.keeps:
                kept = keep(log)
                frame, log = frame.filter(pl.Series(kept, dtype=pl.Boolean)), log.take(kept).compact()
            if len(log):
                places = piece[QUEUE][PLACE].to_numpy() if QUEUE in piece else None  # users ascend on either side
                yield Look(frame, log, places)


@dataclass(frozen=True)
class _Made(_Seen):
    """Rows made of each look."""

    work: Callable[[Look], pl.DataFrame | None]

    def __call__(self, pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        for look in self.looks(pieces):
            made = self.work(look)
            if made is not None:
                yield made


@dataclass(frozen=True)
class _Summed(_Seen):
    """What is found in each look, added up to one row of the task."""

    look: Callable[[Look], Any]

    def __call__(self, pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        found = None
        for look in self.looks(pieces):
            one = self.look(look)
            found = one if found is None else found + one
        if found is not None:
            yield pl.DataFrame({FOUND: [_packed(found)]})


@dataclass(frozen=True)
class _Plain:
    """A look at the log alone."""

    look: Callable[[Interactions], Any]

    def __call__(self, seen: Look) -> Any:
        return self.look(seen.log)


@dataclass(frozen=True)
class _OfItems:
    """A look at whole items that stand where users do."""

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


class Step(NamedTuple):
    """What a filter was given, and what it took away."""

    rows: int
    users: int
    removed: dict[str, int]


@dataclass(frozen=True)
class Steps:
    """What several filters did, one after the other; it adds up over users."""

    steps: tuple[Step, ...]

    def __add__(self, other: Steps) -> Steps:
        pairs = zip(self.steps, other.steps, strict=True)
        return Steps(tuple(Step(a.rows + b.rows, a.users + b.users, added_up(a.removed, b.removed)) for a, b in pairs))


def _sieved(sieves: Sequence[Kept], log: Interactions) -> Steps:
    steps = []
    for one in sieves:
        kept, removed = one.filter.kept(log, one.facts)
        steps.append(Step(len(log), log.n_users, dict(removed)))
        log = log.take(kept).compact()
    return Steps(tuple(steps))


def _rows(look: Look) -> pl.DataFrame:
    return look.frame


def _packed(found: Any) -> bytes:
    return zlib.compress(pickle.dumps(found), 1)


def _unpacked(packed: bytes) -> Any:
    return pickle.loads(zlib.decompress(packed))


def _added(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    found = [_unpacked(value.as_py()) for batch in batches for value in batch.column(0)]
    if found:
        yield from to_batches(pl.DataFrame({FOUND: [_packed(reduce(add, found))]}))
