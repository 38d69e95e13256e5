"""Spark tables with the columns we know, and whole users of several of them, piece by piece, in the tasks.

What a task sees is what the local engine sees: Polars frames with canonical columns, the rows of a user together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.data.io.clean import clean
from recassay.data.io.columns import parse_columns, resolve
from recassay.data.io.roles import ITEM, RANK, TIMESTAMP, USER, Role, role_named
from recassay.data.io.table import SAMPLE_ROWS, Table
from recassay.data.io.unread import Remarks, groups_in, numbers, remarks_on, several_tables
from recassay.data.read import Columns
from recassay.data.time_kind import holds_positions
from recassay.data.vocabulary import Vocabulary, mixed_kinds
from recassay.engine.spark.session import carried, is_spark, placed, told
from recassay.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

ROWS = 1 << 20  # of a piece, about
TAG, ROW = "table", "row"

Piece = dict[str, pl.DataFrame]  # by the name of a table: the rows of some users, who ascend
Work = Callable[[Iterator[Piece]], Iterator[pl.DataFrame]]

IDS = (USER, ITEM)
WHOLE, TEXT = ("tinyint", "smallint", "int", "bigint"), ("string",)


@dataclass(frozen=True)
class SparkTable:
    """A Spark table with canonical columns, and ``row``, where a row stands in its files, if asked for and known."""

    frame: DataFrame
    where: str
    remarks: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # what findings say of it, by code
    positions: bool = field(default=False, kw_only=True)  # its times are, by the name of their column

    @property
    def columns(self) -> tuple[str, ...]:
        """Canonical names, without the row."""
        return tuple(name for name in self.frame.columns if name != ROW)

    @property
    def has_rows(self) -> bool:
        """Whether rows have an order."""
        return ROW in self.frame.columns

    def without_rows(self) -> SparkTable:
        """The table without the place of its rows."""
        return replace(self, frame=self.frame.drop(ROW))

    def kind(self, name: str) -> str:
        """The type of a column as Spark writes it."""
        return dict(self.frame.dtypes)[name]


def table(
    spark: SparkSession,
    source: Any,
    role: str,
    *,
    columns: Columns = None,
    rows: bool = False,
    name: str = "",
    ordered: bool = False,
) -> SparkTable:
    """The table of a role in a Spark table, or in Parquet files at a path that Spark can read.

    Ids become 64-bit integers or strings, as :func:`~recassay.data.io.read_table` has them. With ``rows`` there is a
    column ``row``, by which rows stand as they do in the files; the rows of a Spark table have no order. ``ordered``
    says that a run without ranks and scores has its rows best first.
    """
    wanted = role_named(role)
    where = name or (f"the {role} ({type(source).__name__})" if is_spark(source) else str(source))
    with told():
        frame = source if is_spark(source) else _parquet(spark, source)
        names = [one for one in frame.columns if one != ROW]

        def sample(some: Sequence[str]) -> pl.DataFrame:
            return pl.DataFrame(frame.select(*some).limit(SAMPLE_ROWS).toArrow()) if some else pl.DataFrame()

        chosen = parse_columns(columns)
        found = resolve(names, wanted, chosen, where=where, numbers=lambda some: numbers(sample(some)))
        opened = Table(names, lambda some: sample(list(some.values())), where)
        remarks = remarks_on(opened, sample, found, wanted, ordered=ordered)
        remarks |= _several(frame, names, found, wanted)
        kept = [frame[name].alias(meaning) for meaning, name in found.items()]
        if rows and (place := _row(frame, source)) is not None:
            kept.append(place)
        positions = TIMESTAMP in found and holds_positions(found[TIMESTAMP])
        cleaned = _cleaned(frame.select(kept), wanted, where)
        return SparkTable(cleaned, where, remarks=remarks, positions=positions)


def _several(frame: DataFrame, names: Sequence[str], found: Mapping[str, str], role: Role) -> Remarks:
    """R003, where a column has a name that tells tables apart."""
    remarks: Remarks = {}
    for name in groups_in(names, found, role):
        pairs = frame.select(found[USER], name).distinct()
        if pairs.select(name).distinct().limit(2).count() > 1:
            remarks |= several_tables(pl.DataFrame(pairs.toArrow()), found[USER], name, role)
    return remarks


def _parquet(spark: SparkSession, source: Any) -> DataFrame:
    if not isinstance(source, str | Path):
        raise UsageError(
            "U228",
            f"the Spark engine reads Spark tables and Parquet files, not a {type(source).__name__}",
            hint="give a path, or spark.createDataFrame(...)",
        )
    return spark.read.parquet(placed(spark, source))


def _row(frame: DataFrame, source: Any) -> Any:
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    if ROW in frame.columns:
        return frame[ROW]
    if is_spark(source):
        return None
    return F.struct(F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("index")).alias(ROW)


def _cleaned(frame: DataFrame, role: Role, where: str) -> DataFrame:
    """Ids and numbers in their types: by a cast where that cannot go wrong, else by our own rules, row by row."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = dict(frame.dtypes)
    numbers = [name for name in kinds if name not in (*IDS, ROW, "timestamp")]
    plain = all(kinds[name] in WHOLE + TEXT for name in IDS if name in kinds) and all(
        kinds[name] in (*WHOLE, "float", "double") for name in numbers
    )
    if plain and kinds.get(RANK, "int") in WHOLE:
        return frame.select(
            [F.col(name).cast(_kind(name, kinds[name])).alias(name) if name != ROW else F.col(name) for name in kinds]
        )
    names = tuple(name for name in kinds if name != ROW)
    wanted = ", ".join(f"{name} {_kind(name, kinds[name])}" for name in names) + (
        f", {ROW} {kinds[ROW]}" if ROW in kinds else ""
    )
    return frame.mapInArrow(carried(_cleaner(names, where, role.whole_ranks)), wanted)


def _cleaner(names: tuple[str, ...], where: str, whole_ranks: bool) -> Callable[..., Any]:
    def cleaned(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield from to_batches(clean(_frame(batch), columns=names, where=where, whole_ranks=whole_ranks))

    return cleaned


def _kind(name: str, kind: str) -> str:
    """What a column becomes."""
    if name in IDS:
        return "string" if kind in ("string", "binary") else "bigint"
    if name == RANK:
        return "bigint"
    return kind if name == "timestamp" else "double"


def by_user(
    tables: Mapping[str, SparkTable],
    work: Work,
    schema: str,
    *,
    rows: int = ROWS,
    order: Sequence[str] = (),
    slow: bool = False,
) -> DataFrame:
    """What ``work`` makes of whole users, in the tasks: it gets pieces of about so many rows, whose users ascend.

    Each user is in one piece of one task, with the rows of every table; a task's pieces come one after the other, so
    that work may say something at its end. Within a user rows stand by the columns of ``order`` (``-score`` descends),
    then by all others: the same rows give the same piece, however they are spread over partitions and files.

    Spark makes as many tasks as there are shuffle partitions, or fewer where there is little to read; ``slow`` work,
    which takes long for few rows, is left to all of them.
    """
    refuse_two_kinds(tables)
    tagged = [_tagged(one, number) for number, one in enumerate(tables.values())]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tagged)
    names = [name for name in together.columns if name != ROW]
    spread = together.repartition(_partitions(together), USER) if slow else together.repartition(USER)
    placed = spread.sortWithinPartitions(*_sorting(together.columns, order)).select(names)
    columns = [(name, list(one.columns)) for name, one in tables.items()]
    return placed.mapInArrow(carried(_task(columns, work, rows)), schema)


def _partitions(frame: DataFrame) -> int:
    """Of a shuffle."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def refuse_two_kinds(tables: Mapping[str, SparkTable]) -> None:
    """Raise I403 where ids are numbers in one table and text in another."""
    kinds = {name: {one.kind(name) for one in tables.values() if name in one.columns} for name in IDS}
    for name, found in kinds.items():
        if len(found) > 1:
            raise mixed_kinds(name.removesuffix("_id"), *_two_kinds(tables, name))


def _two_kinds(tables: Mapping[str, SparkTable], name: str) -> tuple[Vocabulary, Vocabulary]:
    """A vocabulary of each kind that meets."""
    examples = {"string": pl.Series([""]), "bigint": pl.Series([0])}
    found = dict.fromkeys(one.kind(name) for one in tables.values() if name in one.columns)
    first, second = [Vocabulary(examples[kind]) for kind in found][:2]
    return first, second


def _tagged(one: SparkTable, number: int) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return one.frame.withColumn(TAG, F.lit(number))


def _sorting(columns: Sequence[str], order: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    first = [name for name in order if name.lstrip("-") in columns]
    named = {USER, TAG, *(name.lstrip("-") for name in first)}
    wanted = [USER, TAG, *first, *(name for name in (ROW, *columns) if name in columns and name not in named)]
    return [F.desc(name[1:]) if name.startswith("-") else F.asc(name) for name in dict.fromkeys(wanted)]


def _task(columns: list[tuple[str, list[str]]], work: Work, rows: int) -> Callable[..., Any]:
    def task(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for frame in work(pieces(batches, columns, rows)):
            yield from to_batches(frame)

    return task


def pieces(
    batches: Iterator[pyarrow.RecordBatch], columns: Sequence[tuple[str, list[str]]], rows: int = ROWS
) -> Iterator[Piece]:
    """Whole users from batches whose users ascend."""
    held: list[pl.DataFrame] = []
    count = 0
    for batch in batches:
        frame = _frame(batch)
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
            yield _parted(whole[:end], columns)
            held = [whole[end:]]
            count = held[0].height
    if held:
        yield _parted(pl.concat(held), columns)


def _parted(frame: pl.DataFrame, columns: Sequence[tuple[str, list[str]]]) -> Piece:
    return {name: frame.filter(pl.col(TAG) == number).select(own) for number, (name, own) in enumerate(columns)}


def _frame(batch: pyarrow.RecordBatch) -> pl.DataFrame:
    found = pl.from_arrow(batch)
    assert isinstance(found, pl.DataFrame), "a batch of rows is a table"
    return found


def to_batches(frame: pl.DataFrame) -> list[pyarrow.RecordBatch]:
    """A frame as Spark takes it: text and lists with short offsets."""
    import pyarrow

    found = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    small = [pyarrow.field(one.name, _short(one.type)) for one in found.schema]
    batches: list[pyarrow.RecordBatch] = found.cast(pyarrow.schema(small)).to_batches()
    return batches


def _short(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    if pyarrow.types.is_large_list(kind):
        return pyarrow.list_(_short(kind.value_type))
    return {"large_string": pyarrow.string(), "large_binary": pyarrow.binary()}.get(str(kind), kind)


def spark_type(dtype: pl.DataType) -> str:
    """What Spark calls a type of Polars: ids, numbers, and bytes."""
    names: dict[Any, str] = {pl.String: "string", pl.Float64: "double", pl.Binary: "binary", pl.Boolean: "boolean"}
    return names.get(dtype, "bigint")
