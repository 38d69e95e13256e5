"""Folds of a log on Spark: one pass says of every row what it is in each fold, and a part is the rows that are it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.roles import USER
from recassay.engine.spark.logs import PLACE, Look, SparkLog
from recassay.engine.spark.session import told
from recassay.engine.spark.tables import SparkTable
from recassay.engine.spark.times import LogTimes
from recassay.split.base import PROFILE, TEST, TRAIN, VALIDATION, CutOf, Split, nothing_left

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOT, BUCKET, OFFSET = "lot", "bucket", "offset"
LOW_BITS = 48  # of a lot, below those that say in which bucket of the queue it is


@dataclass(frozen=True, eq=False)
class SparkFold:
    """Train and test rows of a log on Spark, and perhaps validation rows, as Spark tables; see :class:`~recassay.Fold`.

    ``profile`` is the rows of ``train`` of users that are asked about but not to be learned from. All parts are rows of
    ``labelled``, which Spark keeps on its disks once it is there; ``labelled.unpersist()`` lets it go, of all folds of
    the split.
    """

    train: DataFrame
    test: DataFrame
    leakage: Leakage
    how: Mapping[str, Any]
    validation: DataFrame | None
    removed: Mapping[str, int]
    number: int
    profile: DataFrame | None
    labelled: DataFrame = field(repr=False)
    time_facts: LogTimes | None = field(default=None, repr=False)

    def here(self) -> Fold:
        """The fold in the memory of this machine."""
        with told():
            frame = pl.DataFrame(self.labelled.toArrow())
        labels = frame[label_of(self.number)].to_numpy()
        facts = self.time_facts
        log = Interactions.from_frame(frame, times=None if facts is None else facts.known)
        if facts is not None and facts.known is None:
            log = log.reading_times(named=facts.table.positions)
        train = (labels == TRAIN) | (labels == PROFILE)
        return Fold(
            log.take(train),
            log.take(labels == TEST),
            self.leakage,
            self.how,
            None if self.validation is None else log.take(labels == VALIDATION),
            self.removed,
            self.number,
            None if self.profile is None else labels[train] == PROFILE,
        )


def label_of(number: int) -> str:
    """The column that says what a row is in a fold."""
    return f"fold_{number}"


def cut(log: SparkLog, split: Split) -> tuple[SparkFold, ...]:
    """The folds of a log, with the counts that the local engine has."""
    queue = _queue(log, split) if split.queues else None
    cutter = Cutter(split, None if split.queues else split.facts(log))
    found = log.summed(cutter.count, queue)
    if found is None or not found.cuts:
        raise nothing_left(split, *((0, 0) if found is None else (found.rows, found.users)), "test")
    for one in found.cuts:
        split.refuse_empty(one, found.rows, found.users)
    labels = ", ".join(f"{label_of(one.number)} tinyint" for one in found.cuts)
    labelled = _kept(log.by_user(cutter.label, f"{log.schema}, {labels}", queue))
    return tuple(_fold(log, split, one, labelled) for one in found.cuts)


@dataclass(frozen=True)
class Counted:
    """Rows and users, and what came out of each cut; it adds up over users."""

    rows: int
    users: int
    cuts: tuple[CutOf, ...]

    def __add__(self, other: Counted) -> Counted:
        cuts = (one + another for one, another in zip(self.cuts, other.cuts, strict=True))
        return Counted(self.rows + other.rows, self.users + other.users, tuple(cuts))


@dataclass(frozen=True)
class Cutter:
    """A split that knows what it must of the whole log."""

    split: Split
    facts: Any

    def _cuts(self, look: Look) -> list[tuple[CutOf, Any]]:
        parts = self.split.cuts(look.log, look.places if self.split.queues else self.facts)
        return [(CutOf.of(part, labels), labels) for part in parts for labels in [part.labels()]]

    def count(self, look: Look) -> Counted:
        """How many rows of some users are what."""
        return Counted(len(look.log), look.log.n_users, tuple(one for one, _ in self._cuts(look)))

    def label(self, look: Look) -> pl.DataFrame:
        """The rows of some users, with what each is in every fold."""
        return look.frame.with_columns(pl.Series(label_of(one.number), labels) for one, labels in self._cuts(look))


def _fold(log: SparkLog, split: Split, one: CutOf, labelled: DataFrame) -> SparkFold:
    def rows(*labels: int) -> DataFrame:
        return labelled.where(labelled[label_of(one.number)].isin(*labels)).select(*log.table.columns)

    return SparkFold(
        rows(TRAIN, PROFILE),
        rows(TEST),
        split.leakage,
        split.how(one),
        rows(VALIDATION) if one.validates else None,
        one.removed,
        one.number,
        rows(PROFILE) if one.profiles else None,
        labelled,
        log.time_facts,
    )


def _queue(log: SparkLog, split: Split) -> SparkTable:
    """The place of each user in the order of all lots, then ids: users of a bucket of lots are ordered together."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    lots = _kept(log.by_user(Lots(split), f"{USER} {log.table.kind(USER)}, {LOT} bigint"))
    lots = lots.withColumn(BUCKET, F.shiftrightunsigned(LOT, LOW_BITS))
    with told():
        counts = pl.DataFrame(lots.groupBy(BUCKET).count().toArrow()).sort(BUCKET)
    offsets = counts.select(BUCKET, (pl.col("count").cum_sum() - pl.col("count")).alias(OFFSET))
    before = F.row_number().over(Window.partitionBy(BUCKET).orderBy(LOT, USER)) - 1
    joined = lots.join(F.broadcast(lots.sparkSession.createDataFrame(offsets.to_arrow())), BUCKET)
    return SparkTable(joined.select(USER, (before + F.col(OFFSET)).alias(PLACE)), log.table.where)


@dataclass(frozen=True)
class Lots:
    """The lot by which each user queues up, with its sign changed where Spark has no unsigned numbers."""

    split: Split

    def __call__(self, look: Look) -> pl.DataFrame:
        """Some users and their lots."""
        ids = look.log.user_vocabulary.ids
        return pl.DataFrame({USER: ids, LOT: self.split.queue(look.log).view(np.int64)})


def _kept(frame: DataFrame) -> DataFrame:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)
