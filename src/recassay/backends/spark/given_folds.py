"""Folds on Spark made of tables that were split already."""

from __future__ import annotations

from functools import reduce

from recassay.backends.base import is_spark_frame
from recassay.backends.spark.folds import SparkFold, label_of
from recassay.backends.spark.session import session_of, spark_session, translate_errors
from recassay.backends.spark.tables import raise_if_mixed_ids, spark_table
from recassay.backends.spark.times import LogTimes
from recassay.columnar.time_kind import TimeKind
from recassay.data.fold import Leakage
from recassay.data.read import Columns, TableSource
from recassay.naming.arguments import checks_types
from recassay.split.base import TEST, TRAIN, VALIDATION

LABELS = {"train": TRAIN, "test": TEST, "validation": VALIDATION}


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
