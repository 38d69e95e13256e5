"""A fold of Spark from tables that were split already."""

from __future__ import annotations

from functools import reduce
from typing import Any

from recassay.data.fold import Leakage
from recassay.data.read import Columns
from recassay.data.time_kind import TimeKind
from recassay.engine.spark.folds import SparkFold, label_of
from recassay.engine.spark.session import is_spark, session_of, spark_session, told
from recassay.engine.spark.tables import refuse_two_kinds, table
from recassay.engine.spark.times import LogTimes
from recassay.split.base import TEST, TRAIN, VALIDATION

LABELS = {"train": TRAIN, "test": TEST, "validation": VALIDATION}


def spark_fold(
    train: Any,
    test: Any,
    validation: Any = None,
    *,
    leakage: Leakage = "global",
    columns: Columns = None,
    times: TimeKind | None = None,
) -> SparkFold:
    """A fold of parts that a lake holds already: Spark tables, or Parquet files at paths that Spark can read.

    ``leakage`` says what of the future a system can see, see :class:`~recassay.Fold`: unless stated otherwise time has
    played no part. ``times`` says what the times can tell: ``clock`` times unless stated otherwise. All tables have the
    same columns, or some lack times or ratings.
    """
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    given = {"train": train, "test": test} | ({} if validation is None else {"validation": validation})
    spark = next((session_of(one) for one in given.values() if is_spark(one)), None) or spark_session()
    parts = {name: table(spark, one, "log", columns=columns) for name, one in given.items()}
    refuse_two_kinds(parts)
    with told():
        labels = (one.frame.withColumn(label_of(0), F.lit(LABELS[name])) for name, one in parts.items())
        labelled = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), labels)
        names = [name for name in labelled.columns if name != label_of(0)]
        rows = {name: labelled.where(F.col(label_of(0)) == LABELS[name]).select(*names) for name in given}
    facts = LogTimes(parts["train"], times or "clock")
    return SparkFold(
        rows["train"], rows["test"], leakage, {"name": "given"}, rows.get("validation"), {}, 0, None, labelled, facts
    )
