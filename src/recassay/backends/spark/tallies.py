"""Sums and tallies made by the tasks of Spark: each task yields those of its users, and this process adds them."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from recassay.backends.spark.session import carry_errors, is_local, session_of, translate_errors
from recassay.backends.spark.tables import SparkTable, UserChunk, map_users, shuffle_partitions, to_batches
from recassay.columnar.vocabulary import concat_ids
from recassay.data.io.columns import USER
from recassay.data.io.parquet import read_parquet, scan_parquet
from recassay.engine.tally import TallyFiles, UserTally
from recassay.split.filters import add_counts

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

PART = "part"  # the column of packed tallies and sums
TOGETHER = 16  # tasks that add up what all tasks found, before the driver does

Key = TypeVar("Key")


class Sums(tuple[Any, ...]):
    """A tuple of values about some users; two tuples are added entry by entry, and dicts of counts key by key.

    >>> Sums((3, {"too late": 1})) + Sums((2, {}))
    (5, {'too late': 1})
    """

    def __add__(self, other: tuple[Any, ...]) -> Sums:
        pairs = zip(self, other, strict=True)
        return Sums(add_counts(one, more) if isinstance(one, dict) else one + more for one, more in pairs)


def pack(value: Any) -> bytes:
    """Return a value as bytes, for a column of a Spark table."""
    return zlib.compress(pickle.dumps(value), 1)


def unpack(packed: bytes) -> Any:
    """Return the value in bytes that :func:`pack` made."""
    return pickle.loads(zlib.decompress(bytes(packed)))


def summed(tables: Mapping[str, SparkTable], look: Callable[[UserChunk], Any]) -> Any:
    """Apply ``look`` to each chunk of users in the tasks, and return the sum of the results.

    Return None if there are no results, or all are None.
    """

    def sums(chunks: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        yield from _sum_of(map(look, chunks))

    return _sum_of_packed(map_users(tables, sums, f"{PART} binary"))


def summed_batches(frame: DataFrame, look: Callable[[pl.DataFrame], Any]) -> Any:
    """Apply ``look`` to the rows of a Spark table, partition by partition, and return the sum of the results."""
    return _sum_of_packed(_sums(frame, lambda batch: look(pl.DataFrame(batch))))


def _sums(frame: DataFrame, look: Callable[[pyarrow.RecordBatch], Any]) -> DataFrame:
    """Return a table with the packed sum of what ``look`` returns for the batches of rows of each task."""

    def sums(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for total in _sum_of(map(look, batches)):
            yield from to_batches(total)

    return frame.mapInArrow(carry_errors(sums), f"{PART} binary")


def _sum_of_packed(packed: DataFrame) -> Any:
    """Return the sum of the values that tasks computed, in a table of packed values; None if there are none."""
    if shuffle_partitions(packed) > TOGETHER:
        packed = _sums(
            packed.repartition(TOGETHER),
            lambda batch: reduce(add, [unpack(value.as_py()) for value in batch.column(0)] or [None]),
        )
    with translate_errors():
        values = [unpack(row[0]) for row in packed.collect()]
    return reduce(add, values) if values else None


def _sum_of(values: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Yield the packed sum of the values that are not None as a table of one row; nothing if there are none."""
    there = (value for value in values if value is not None)
    first = next(there, None)
    if first is not None:
        yield pl.DataFrame({PART: [pack(reduce(add, there, first))]})


def map_packed(chunks: DataFrame, work: Callable[[bytes], bytes]) -> DataFrame:
    """Return the table ``chunks`` (users, bytes) with ``work`` applied, in the tasks, to the bytes in each row."""

    def worked(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for row in pl.DataFrame(batch).iter_slices(1):
                yield from to_batches(row.with_columns(pl.Series(PART, [work(row[PART][0])])))

    return chunks.mapInArrow(carry_errors(worked), chunks.schema)


def packed_tallies(
    tables: Mapping[str, SparkTable],
    work: Callable[[UserChunk], Mapping[Key, UserTally]],
    order: Sequence[str] = (),
) -> DataFrame:
    """Return a table with a row for each chunk of users: its first user, and the packed result of ``work``.

    ``work`` is called in the tasks. It returns values and counts of the users of a chunk, as a mapping of keys, such as
    names of systems, to ``UserTally``. The rows of a user are sorted by the columns ``order``.
    """

    def packed(chunks: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        for chunk in chunks:
            first = min(frame[USER][0] for frame in chunk.values() if frame.height)
            yield pl.DataFrame({USER: [first], PART: [pickle.dumps(work(chunk))]})

    some = next(iter(tables.values()))
    return map_users(tables, packed, f"{USER} {some.kind(USER)}, {PART} binary", order=order)


def tallies_of(packed: DataFrame, folder: str) -> dict[Any, UserTally]:
    """Return, for each key, the values and counts of all users, with values in temporary files of this machine.

    Users ascend. ``packed`` is a table as :func:`packed_tallies` returns it. Tasks write it to ``folder``: Spark
    commits the files of one attempt of a task, so a task that dies and is retried counts once.
    """
    packed.write.parquet(folder)
    files: dict[Any, TallyFiles] = {}
    users: dict[Any, list[pl.Series]] = {}
    for part in _parts(packed, folder):
        for key, tally in part.items():
            files.setdefault(key, TallyFiles()).add(tally)
            users.setdefault(key, []).append(tally.units)
    orders = {tuple(map(id, parts)): concat_ids(parts) for parts in users.values()}  # systems share their users
    places = {key: units.arg_sort().to_numpy() for key, units in orders.items()}
    whole = {}
    for key, one in files.items():
        shared = tuple(map(id, users[key]))
        whole[key] = one.whole(orders[shared][places[shared]], places[shared])
    return whole


def _parts(written: DataFrame, folder: str) -> Iterator[dict[Any, UserTally]]:
    """Yield, for each chunk of users, the ``{key: values and counts}`` that tasks wrote to a folder, by first user.

    The order decides which examples errors name. Files that this process sees are read here, which saves a job of
    Spark.
    """
    spark = session_of(written)
    if is_local(spark) and Path(folder).is_dir():
        files = sorted(Path(folder).glob("part-*.parquet"))
        users = {file: read_parquet(file, columns=[USER])[USER] for file in files}
        firsts = [(user, file, row) for file in files for row, user in enumerate(users[file])]
        packed = (scan_parquet(file).slice(row, 1).collect()[PART][0] for _, file, row in sorted(firsts))
    else:
        rows = spark.read.schema(written.schema).parquet(folder).orderBy(USER).select(PART).toLocalIterator()
        packed = (bytes(row[0]) for row in rows)
    yield from map(pickle.loads, packed)
