"""Folds of a log on Spark: one pass labels every row for each fold, and a part is the rows with its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.backends.base import Remote, is_spark_frame
from recassay.backends.spark.logs import PLACE, LogTimes, SparkLog, UserRows
from recassay.backends.spark.session import session_of, spark_session, translate_errors
from recassay.backends.spark.tables import SparkTable, raise_if_mixed_ids, spark_table
from recassay.backends.spark.tallies import Sums
from recassay.columnar.times import TimeKind
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.columns import USER
from recassay.data.read import Columns, TableSource
from recassay.naming.arguments import checks_types
from recassay.split.base import PROFILE, TEST, TRAIN, VALIDATION, CutSummary, Split, empty_part_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY, BUCKET, OFFSET = "lot", "bucket", "offset"
LABELS = {"train": TRAIN, "test": TEST, "validation": VALIDATION}
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
    time_facts: LogTimes = field(repr=False)

    def here(self) -> Fold:
        """Load the fold into the memory of this machine and return it."""
        with translate_errors():
            frame = pl.DataFrame(self.labelled.toArrow())
        labels = frame[label_of(self.number)].to_numpy()
        log = Interactions.from_frame(frame, times=self.time_facts.known)
        if self.time_facts.known is None:
            log = log.with_inferred_times(named=self.time_facts.table.positions)
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
    """Return the folds that a split makes of a log, with the same rows in each part as for a log in memory."""
    user_order = _user_order(log, split) if split.orders_users else None
    facts = None if split.orders_users else split.facts(log)

    def cuts(part: UserRows) -> list[tuple[CutSummary, Any]]:
        found = split.cuts(part.log, part.positions if split.orders_users else facts)
        return [(CutSummary.of(one, labels), labels) for one in found for labels in [one.labels()]]

    def count(part: UserRows) -> Sums:
        return Sums((len(part.log), part.log.n_users, Sums(one for one, _ in cuts(part))))

    def label(part: UserRows) -> pl.DataFrame:
        return part.frame.with_columns(pl.Series(label_of(one.number), labels) for one, labels in cuts(part))

    rows, users, summaries = log.summed(count, user_order) or (0, 0, ())
    if not summaries:
        raise empty_part_error(split, rows, users, "test")
    for one in summaries:
        split.refuse_empty(one, rows, users)
    labels = ", ".join(f"{label_of(one.number)} tinyint" for one in summaries)
    labelled = _persisted(log.map_users(label, f"{log.schema}, {labels}", user_order))
    return tuple(_fold(log, split, one, labelled) for one in summaries)


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


def _user_order(log: SparkLog, split: Split) -> SparkTable:
    """Return a table with the position of each user (from 0) when users are sorted by the split's random key.

    Users with equal keys are sorted by id. Users are divided into buckets by the first bits of the key, and each bucket
    is sorted on its own.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    def keys_of(part: UserRows) -> pl.DataFrame:  # signed, as Spark has no unsigned integers
        return pl.DataFrame({USER: part.log.user_vocabulary.ids, KEY: split.user_order(part.log).view(np.int64)})

    keys = _persisted(log.map_users(keys_of, f"{USER} {log.table.kind(USER)}, {KEY} bigint"))
    keys = keys.withColumn(BUCKET, F.shiftrightunsigned(KEY, LOW_BITS))
    with translate_errors():
        counts = pl.DataFrame(keys.groupBy(BUCKET).count().toArrow()).sort(BUCKET)
    offsets = counts.select(BUCKET, (pl.col("count").cum_sum() - pl.col("count")).alias(OFFSET))
    before = F.row_number().over(Window.partitionBy(BUCKET).orderBy(KEY, USER)) - 1
    joined = keys.join(F.broadcast(keys.sparkSession.createDataFrame(offsets.to_arrow())), BUCKET)
    return SparkTable(joined.select(USER, (before + F.col(OFFSET)).alias(PLACE)), log.table.where)


def _persisted(frame: DataFrame) -> DataFrame:
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


@checks_types
def spark_fold(
    train: TableSource,
    test: TableSource,
    validation: TableSource = None,
    *,
    leakage: Leakage = "global",
    columns: Columns = None,
    times: TimeKind | None = None,
) -> SparkFold:
    """Return a fold made of existing parts: Spark tables, or Parquet files at paths that Spark can read.

    ``leakage`` says what of the future a system can see, see :class:`~recassay.Fold`; the default says that the split
    ignored time. ``times`` is the kind of times, by default ``clock`` times. All tables have the same columns, or some
    lack times or ratings.
    """
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    given = {"train": train, "test": test} | ({} if validation is None else {"validation": validation})
    spark = next((session_of(one) for one in given.values() if is_spark_frame(one)), None) or spark_session()
    parts = {name: spark_table(spark, one, "log", columns=columns) for name, one in given.items()}
    raise_if_mixed_ids(parts)
    with translate_errors():
        labels = (one.frame.withColumn(label_of(0), F.lit(LABELS[name])) for name, one in parts.items())
        labelled = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), labels)
        names = [name for name in labelled.columns if name != label_of(0)]
        rows = {name: labelled.where(F.col(label_of(0)) == LABELS[name]).select(*names) for name in given}
    facts = LogTimes(parts["train"], times or "clock")
    return SparkFold(
        rows["train"], rows["test"], leakage, {"name": "given"}, rows.get("validation"), {}, 0, None, labelled, facts
    )
