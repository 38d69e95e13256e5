"""Folds of a log on Spark: one pass labels every row for each fold, and a part is the rows with its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.backends.base import Remote
from recassay.backends.spark.logs import PLACE, SparkLog, UserRows
from recassay.backends.spark.session import translate_errors
from recassay.backends.spark.tables import SparkTable
from recassay.backends.spark.times import LogTimes
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.columns import USER
from recassay.split.base import PROFILE, TEST, TRAIN, VALIDATION, CutSummary, Split, empty_part_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY, BUCKET, OFFSET = "lot", "bucket", "offset"
LOW_BITS = 48  # low bits of a key; the bits above them are the bucket in which its user is sorted


@dataclass(frozen=True, eq=False)
class SparkFold(Remote):
    """Train and test rows of a log on Spark, and perhaps validation rows, as Spark tables; see :class:`~recassay.Fold`.

    ``profile`` holds the rows of ``train`` of users that are queried but must not be learned from. All parts are rows
    of ``labelled``, the log with the label of each row, which Spark caches on its disks; ``labelled.unpersist()`` frees
    it, for all folds of the split.
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
        """Load the fold into the memory of this machine and return it."""
        with translate_errors():
            frame = pl.DataFrame(self.labelled.toArrow())
        labels = frame[label_of(self.number)].to_numpy()
        facts = self.time_facts
        log = Interactions.from_frame(frame, times=None if facts is None else facts.known)
        if facts is not None and facts.known is None:
            log = log.with_inferred_times(named=facts.table.positions)
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
    """Return the name of the column that holds the labels of rows in fold ``number``."""
    return f"fold_{number}"


def cut(log: SparkLog, split: Split) -> tuple[SparkFold, ...]:
    """Return the folds that a split makes of a log, with the same counts of rows as for a log in memory."""
    queue = _user_places(log, split) if split.orders_users else None
    cutter = Cutter(split, None if split.orders_users else split.facts(log))
    found = log.summed(cutter.count, queue)
    if found is None or not found.cuts:
        raise empty_part_error(split, *((0, 0) if found is None else (found.rows, found.users)), "test")
    for one in found.cuts:
        split.refuse_empty(one, found.rows, found.users)
    labels = ", ".join(f"{label_of(one.number)} tinyint" for one in found.cuts)
    labelled = _persisted(log.map_users(cutter.label, f"{log.schema}, {labels}", queue))
    return tuple(_fold(log, split, one, labelled) for one in found.cuts)


@dataclass(frozen=True)
class CutTotals:
    """The number of rows and users, and how many rows each fold assigns to training, test and validation.

    The totals of disjoint groups of users add up.
    """

    rows: int
    users: int
    cuts: tuple[CutSummary, ...]

    def __add__(self, other: CutTotals) -> CutTotals:
        cuts = (one + another for one, another in zip(self.cuts, other.cuts, strict=True))
        return CutTotals(self.rows + other.rows, self.users + other.users, tuple(cuts))


@dataclass(frozen=True)
class Cutter:
    """A split together with the statistics of the whole log that it needs to label the rows of some users.

    ``facts`` are these statistics, from :meth:`Split.facts`; a label says whether a row is for training, test or
    validation.
    """

    split: Split
    facts: Any

    def _cuts(self, look: UserRows) -> list[tuple[CutSummary, Any]]:
        parts = self.split.cuts(look.log, look.places if self.split.orders_users else self.facts)
        return [(CutSummary.of(part, labels), labels) for part in parts for labels in [part.labels()]]

    def count(self, look: UserRows) -> CutTotals:
        """Return the numbers of rows and users, and how many rows each fold puts into training, test and validation."""
        return CutTotals(len(look.log), look.log.n_users, tuple(one for one, _ in self._cuts(look)))

    def label(self, look: UserRows) -> pl.DataFrame:
        """Return the rows of some users with a column of labels for every fold.

        A label says whether the row is for training, test or validation.
        """
        return look.frame.with_columns(pl.Series(label_of(one.number), labels) for one, labels in self._cuts(look))


def _fold(log: SparkLog, split: Split, one: CutSummary, labelled: DataFrame) -> SparkFold:
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


def _user_places(log: SparkLog, split: Split) -> SparkTable:
    """Return a table with the position of each user (from 0) when users are sorted by the split's random key.

    Users with equal keys are sorted by id. Users are divided into buckets by key, and each bucket is sorted by itself.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    keys = _persisted(log.map_users(UserOrder(split), f"{USER} {log.table.kind(USER)}, {KEY} bigint"))
    keys = keys.withColumn(BUCKET, F.shiftrightunsigned(KEY, LOW_BITS))
    with translate_errors():
        counts = pl.DataFrame(keys.groupBy(BUCKET).count().toArrow()).sort(BUCKET)
    offsets = counts.select(BUCKET, (pl.col("count").cum_sum() - pl.col("count")).alias(OFFSET))
    before = F.row_number().over(Window.partitionBy(BUCKET).orderBy(KEY, USER)) - 1
    joined = keys.join(F.broadcast(keys.sparkSession.createDataFrame(offsets.to_arrow())), BUCKET)
    return SparkTable(joined.select(USER, (before + F.col(OFFSET)).alias(PLACE)), log.table.where)


@dataclass(frozen=True)
class UserOrder:
    """A function for tasks that computes the random key by which a split sorts users.

    Keys are signed integers, because Spark has no unsigned ones.
    """

    split: Split

    def __call__(self, look: UserRows) -> pl.DataFrame:
        """Return a table of the ids of some users and their keys."""
        ids = look.log.user_vocabulary.ids
        return pl.DataFrame({USER: ids, KEY: self.split.user_order(look.log).view(np.int64)})


def _persisted(frame: DataFrame) -> DataFrame:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)
