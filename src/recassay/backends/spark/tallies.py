"""Tallies made by the tasks of Spark: each task yields those of its users, and this process adds them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from recassay.backends.spark.session import is_local, session_of
from recassay.backends.spark.tables import SparkTable, UserChunk, map_users
from recassay.columnar.vocabulary import concat_ids
from recassay.data.io.columns import USER
from recassay.data.io.parquet import read_parquet, scan_parquet
from recassay.engine.tally import TallyFiles, UserTally

PART = "part"  # the column of packed tallies

Key = TypeVar("Key")


def tallies_of(
    tables: Mapping[str, SparkTable],
    work: Callable[[UserChunk], Mapping[Key, UserTally]],
    folder: str,
    *,
    order: Sequence[str] = (),
) -> dict[Key, UserTally]:
    """Return the tallies of all users, by key, with values in temporary files of this machine; users ascend.

    ``work`` returns those of a chunk of users; it is called in the tasks. They write to ``folder``: Spark commits the
    files of one attempt of a task, so a task that dies and is retried counts once. Rows of a user have an ``order``.
    """
    some = next(iter(tables.values()))
    schema = f"{USER} {some.kind(USER)}, {PART} binary"
    map_users(tables, _Packing(work), schema, order=order).write.parquet(folder)
    files: dict[Key, TallyFiles] = {}
    users: dict[Key, list[pl.Series]] = {}
    for part in _parts(some, folder, schema):
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


class _Packing:
    """The work of a task that yields a row for each chunk of users: the first user, and the packed tallies."""

    def __init__(self, work: Callable[[UserChunk], Mapping[Key, UserTally]]) -> None:
        self.work = work

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        for piece in pieces:
            first = min(frame[USER][0] for frame in piece.values() if frame.height)
            yield pl.DataFrame({USER: [first], PART: [pickle.dumps(self.work(piece))]})


def _parts(table: SparkTable, folder: str, schema: str) -> Iterator[dict[Any, UserTally]]:
    """Yield the tallies that tasks wrote to a folder, by their first users: which examples errors name depends on it.

    Files that this process sees are read here, which saves a job of Spark.
    """
    spark = session_of(table.frame)
    if is_local(spark) and Path(folder).is_dir():
        files = sorted(Path(folder).glob("part-*.parquet"))
        users = {file: read_parquet(file, columns=[USER])[USER] for file in files}
        firsts = [(user, file, row) for file in files for row, user in enumerate(users[file])]
        packed = (scan_parquet(file).slice(row, 1).collect()[PART][0] for _, file, row in sorted(firsts))
    else:
        rows = spark.read.schema(schema).parquet(folder).orderBy(USER).select(PART).toLocalIterator()
        packed = (bytes(row[0]) for row in rows)
    yield from map(pickle.loads, packed)
