"""Spark tables with canonical columns, and a way to run work on whole users of several tables in the tasks.

A task sees what the local back end sees: Polars frames with canonical columns, the rows of a user together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.backends.base import Remote, is_spark_frame
from recassay.backends.spark.session import carry_errors, spark_path, translate_errors
from recassay.columnar.times import is_position_column
from recassay.columnar.vocabulary import Vocabulary, id_types_differ
from recassay.data.io.clean import clean
from recassay.data.io.columns import ITEM, RANK, SCORE, TIMESTAMP, USER, Role, parse_columns, resolve, role_named
from recassay.data.io.table import SAMPLE_ROWS, Table
from recassay.data.io.unread import (
    Remarks,
    grouping_columns,
    numeric_columns,
    remark_on_mixed_tables,
    remarks_on_unread,
)
from recassay.data.read import Columns
from recassay.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

ROWS = 1 << 20  # about, of a chunk
TAG, ROW = "table", "row"

UserChunk = dict[str, pl.DataFrame]  # rows of some users by name of the table; users ascend
Work = Callable[[Iterator[UserChunk]], Iterator[pl.DataFrame]]

IDS = (USER, ITEM)
WHOLE, TEXT = ("tinyint", "smallint", "int", "bigint"), ("string",)


@dataclass(frozen=True)
class SparkTable(Remote):
    """A Spark table with canonical columns, and perhaps ``row``, the position of a row in its files.

    ``remarks`` are texts about the table that findings quote, by finding code. ``positions`` says that the name of the
    time column marks its values as positions (1, 2, 3, ...).
    """

    frame: DataFrame
    where: str
    remarks: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    positions: bool = field(default=False, kw_only=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the canonical names of the columns, without ``row``."""
        return tuple(name for name in self.frame.columns if name != ROW)

    @property
    def has_rows(self) -> bool:
        """Return whether the table has the column ``row``, the positions of its rows in files."""
        return ROW in self.frame.columns

    def empty(self) -> pl.DataFrame:
        """Return a table without rows, with the columns and types that tasks get."""
        with translate_errors():
            return pl.DataFrame(self.frame.limit(0).select(*self.columns).toArrow())

    def kind(self, name: str) -> str:
        """Return the type of the column ``name`` as Spark writes it."""
        return dict(self.frame.dtypes)[name]


def spark_table(
    spark: SparkSession,
    source: Any,
    role: str,
    *,
    columns: Columns = None,
    rows: bool = False,
    name: str = "",
    ordered: bool = False,
) -> SparkTable:
    """Return the canonical columns of a Spark table, or of Parquet files at a path that Spark can read.

    ``role`` says what the table is: a run, truth or log. Ids become 64-bit integers or strings, as in
    :func:`~recassay.data.io.read_table`. With ``rows`` files get a column ``row`` that sorts rows as they are in the
    files; the rows of a Spark table have no order. ``ordered`` says that a run without ranks and scores has its rows
    best first.
    """
    wanted = role_named(role)
    where = name or (f"the {role} ({type(source).__name__})" if is_spark_frame(source) else str(source))
    with translate_errors():
        frame = source if is_spark_frame(source) else _read_parquet(spark, source)
        names = [one for one in frame.columns if one != ROW]

        def sample(some: Sequence[str]) -> pl.DataFrame:
            return pl.DataFrame(frame.select(*some).limit(SAMPLE_ROWS).toArrow()) if some else pl.DataFrame()

        chosen = parse_columns(columns)
        found = resolve(names, wanted, chosen, where=where, numeric_columns=lambda some: numeric_columns(sample(some)))
        opened = Table(names, lambda some: sample(list(some.values())), where, sample=sample)
        remarks = remarks_on_unread(opened, found, wanted, ordered=ordered)
        remarks |= _several_tables_remark(frame, names, found, wanted)
        kept = [frame[name].alias(meaning) for meaning, name in found.items()]
        if rows and (place := _row_place(frame, source)) is not None:
            kept.append(place)
        positions = TIMESTAMP in found and is_position_column(found[TIMESTAMP])
        cleaned = _cleaned(frame.select(kept), wanted, where)
        return SparkTable(cleaned, where, remarks=remarks, positions=positions)


def _several_tables_remark(frame: DataFrame, names: Sequence[str], found: Mapping[str, str], role: Role) -> Remarks:
    """Return the remark R003 if the rows of some user have several values in a column such as ``model``.

    Rows of several tables are mixed then. ``names`` are all columns, ``found`` maps canonical names to those that are
    read, and ``role`` says what the table is.
    """
    remarks: Remarks = {}
    for name in grouping_columns(names, found, role):
        pairs = frame.select(found[USER], name).distinct()
        if pairs.select(name).distinct().limit(2).count() > 1:
            remarks |= remark_on_mixed_tables(pl.DataFrame(pairs.toArrow()).lazy(), found[USER], name, role)
    return remarks


def _read_parquet(spark: SparkSession, source: Any) -> DataFrame:
    if not isinstance(source, str | Path):
        raise UsageError(
            "U223",
            f"the Spark engine reads Spark tables and Parquet files, not a {type(source).__name__}",
            hint="give a path, or spark.createDataFrame(...)",
        )
    return spark.read.parquet(spark_path(spark, source))


def _row_place(frame: DataFrame, source: Any) -> Any:
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    if ROW in frame.columns:
        return frame[ROW]
    if is_spark_frame(source):
        return None
    return F.struct(F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("index")).alias(ROW)


def _cleaned(frame: DataFrame, role: Role, where: str) -> DataFrame:
    """Return a table with the canonical types of ids and numbers.

    Columns are cast by Spark where that cannot fail, and else converted in the tasks as readers do; ``where`` names the
    table in errors.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kinds = dict(frame.dtypes)
    numeric_columns = [name for name in kinds if name not in (*IDS, ROW, "timestamp")]
    plain = all(kinds[name] in WHOLE + TEXT for name in IDS if name in kinds) and all(
        kinds[name] in (*WHOLE, "float", "double") for name in numeric_columns
    )
    if plain and kinds.get(RANK, "int") in WHOLE and kinds.get(SCORE) != "bigint":  # Spark rounds those above 2^53
        return frame.select(
            [
                F.col(name).cast(_clean_type(name, kinds[name])).alias(name) if name != ROW else F.col(name)
                for name in kinds
            ]
        )
    names = tuple(name for name in kinds if name != ROW)
    wanted = ", ".join(f"{name} {_clean_type(name, kinds[name])}" for name in names) + (
        f", {ROW} {kinds[ROW]}" if ROW in kinds else ""
    )
    return frame.mapInArrow(carry_errors(_cleaner(names, where, role.whole_ranks)), wanted)


def _cleaner(names: tuple[str, ...], where: str, whole_ranks: bool) -> Callable[..., Any]:
    def cleaned(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield from to_batches(clean(pl.DataFrame(batch), columns=names, where=where, whole_ranks=whole_ranks))

    return cleaned


def _clean_type(name: str, kind: str) -> str:
    """Return the Spark type to which the column with canonical name ``name`` and Spark type ``kind`` is converted."""
    if name in IDS:
        return "string" if kind in ("string", "binary") else "bigint"
    if name == RANK:
        return "bigint"
    return kind if name == "timestamp" else "double"


def map_users(
    tables: Mapping[str, SparkTable],
    work: Work,
    schema: str,
    *,
    rows: int = ROWS,
    order: Sequence[str] = (),
    slow: bool = False,
) -> DataFrame:
    """Return the table of all rows that ``work`` yields; it is called in each task with the chunks of the task's users.

    A chunk has about ``rows`` rows. Each user is in one chunk of one task, with the rows of every table, and users
    ascend. A task's chunks come one after another, so work can yield totals at its end. Within a user rows are sorted
    by the columns of ``order`` (``-score`` descends), then by all others: equal rows give equal chunks, whatever their
    partitions and files. ``schema`` describes the resulting table.

    Spark starts as many tasks as there are shuffle partitions, or fewer where there is little to read. ``slow`` work,
    which takes long for few rows, is spread over all of them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    raise_if_mixed_ids(tables)
    tagged = [one.frame.withColumn(TAG, F.lit(number)) for number, one in enumerate(tables.values())]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tagged)
    names = [name for name in together.columns if name != ROW]
    spread = together.repartition(shuffle_partitions(together), USER) if slow else together.repartition(USER)
    grouped = spread.sortWithinPartitions(*_sort_columns(together.columns, order)).select(names)
    columns = [(name, list(one.columns)) for name, one in tables.items()]
    return grouped.mapInArrow(carry_errors(_task(columns, work, rows)), schema)


def shuffle_partitions(frame: DataFrame) -> int:
    """Return the number of partitions of a shuffle."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def raise_if_mixed_ids(tables: Mapping[str, SparkTable]) -> None:
    """Raise I403 if ids are numbers in one table and text in another."""
    for name in IDS:
        kinds = dict.fromkeys(one.kind(name) for one in tables.values() if name in one.columns)
        if len(kinds) > 1:
            examples = (Vocabulary(pl.Series([0 if kind == "bigint" else ""])) for kind in [*kinds][:2])
            raise id_types_differ(name.removesuffix("_id"), *examples)


def _sort_columns(columns: Sequence[str], order: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    first = [name for name in order if name.lstrip("-") in columns]
    named = {USER, TAG, *(name.lstrip("-") for name in first)}
    wanted = [USER, TAG, *first, *(name for name in (ROW, *columns) if name in columns and name not in named)]
    return [F.desc(name[1:]) if name.startswith("-") else F.asc(name) for name in dict.fromkeys(wanted)]


def _task(columns: list[tuple[str, list[str]]], work: Work, rows: int) -> Callable[..., Any]:
    def task(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for frame in work(user_chunks(batches, columns, rows)):
            yield from to_batches(frame)

    return task


def user_chunks(
    batches: Iterator[pyarrow.RecordBatch], columns: Sequence[tuple[str, list[str]]], rows: int = ROWS
) -> Iterator[UserChunk]:
    """Yield chunks of whole users, of about ``rows`` rows, from record batches whose rows are sorted by user.

    A batch holds the columns of several tables; ``columns`` has, for each table, its name and the names of its columns.
    Raise I304 for a row without a user.
    """
    held: list[pl.DataFrame] = []
    count = 0
    for batch in batches:
        frame = pl.DataFrame(batch)
        if frame[USER].null_count():
            raise InputError(
                "I304",
                f"{frame[USER].null_count():,} rows have no user",
                where=", ".join(name for name, _ in columns),
                hint="remove these rows, or give each its id",
            )
        held.append(frame)
        count += frame.height
        if count >= rows and held[0][USER][0] != frame[USER][-1]:
            whole = pl.concat(held)
            end = int(whole[USER].search_sorted(frame[USER][-1]))
            yield _split_by_table(whole[:end], columns)
            held = [whole[end:]]
            count = held[0].height
    if held:
        yield _split_by_table(pl.concat(held), columns)


def _split_by_table(frame: pl.DataFrame, columns: Sequence[tuple[str, list[str]]]) -> UserChunk:
    return {name: frame.filter(pl.col(TAG) == number).select(own) for number, (name, own) in enumerate(columns)}


def to_batches(frame: pl.DataFrame) -> list[pyarrow.RecordBatch]:
    """Return a frame without lists as record batches for Spark, which needs 32-bit offsets of text and bytes."""
    import pyarrow

    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    small = {"large_string": pyarrow.string(), "large_binary": pyarrow.binary()}
    fields = [field.with_type(small.get(str(field.type), field.type)) for field in table.schema]
    return list(table.cast(pyarrow.schema(fields)).to_batches())
