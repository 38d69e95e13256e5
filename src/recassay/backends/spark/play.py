"""Recommendations of a system for the users of a Spark fold: each task ranks the catalogue for its users.

A task has the rows of its users. Facts about items (their counts, and the factors of a model) are computed once and
sent to all workers. Nothing has the size users x items, and no rows of users go to the driver.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recassay.arrays import Int64
from recassay.backends.base import is_spark_frame
from recassay.backends.spark.folds import SparkFold, label_of
from recassay.backends.spark.score import new_folder
from recassay.backends.spark.session import session_of, translate_errors
from recassay.backends.spark.standings import (
    PlayedTotals,
    joined_standings,
    packed_standings,
    unpacked_standings,
)
from recassay.backends.spark.tables import SparkTable, UserChunk, map_users
from recassay.backends.spark.tallies import PART, map_packed, pack, unpack
from recassay.columnar.identity import id_keys, mix
from recassay.columnar.vocabulary import concat_ids
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions, ItemCounts
from recassay.data.io.columns import ITEM, RANK, SCORE, USER
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.engine.ranks.play import PlayRequest, play_fitted, ranking_task
from recassay.errors import UsageError
from recassay.models.adapters.tables import FactorTable, Vectors, factor_columns
from recassay.models.base.capabilities import fitted_on_fold
from recassay.naming.system_names import system_name
from recassay.protocols.ranking import Ranking
from recassay.split.base import PROFILE, TEST, TRAIN, VALIDATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG, USERS, COUNTS, VECTOR = "log", "users", "counts", "vector"
ROWS = 1 << 18  # about, of a chunk: smaller than elsewhere, as a list of 100 items is longer than most histories
PARTS: Mapping[str, tuple[int, ...]] = {"train": (TRAIN, PROFILE), "test": (TEST,), "validation": (VALIDATION,)}


@dataclass(frozen=True, eq=False)
class SparkRun(SparkTable):
    """The recommendations of a system on Spark: ranked lists, and standings (ranks of the relevant items).

    The lists are the table ``frame``: user_id, item_id, rank, score. ``ra.score`` evaluates the lists, and ``ra.judge``
    the standings. Both stay in Parquet files. ``chunks`` has a row for each chunk of users, with their packed
    standings; ``shared`` are the fields of :class:`~recassay.types.Standings` that all chunks share.
    """

    chunks: DataFrame
    shared: Mapping[str, Any]
    played: PlayedTotals

    @property
    def name(self) -> str:
        """Return the name of the system."""
        return str(self.shared["name"])

    def here(self) -> Run:
        """Load lists and ranks of relevant items of all users into this process and return them as a run."""
        with translate_errors():
            lists = pl.DataFrame(self.frame.toArrow())
        return replace(Run.from_frame(lists, self.name, order="rank"), standings=self.standings_here())

    def standings_here(self, every: int = 1) -> Standings:
        """Load the standings of about one in ``every`` users into this process; they are drawn by their ids."""
        shared = self.shared  # tasks must not carry the table itself

        def drawn(packed: bytes) -> bytes:
            part = unpacked_standings(packed, shared)
            assert part.everyone is not None, "a task of a fold has them"
            chosen = mix(id_keys(part.everyone)) % np.uint64(every) == 0
            return packed_standings(joined_standings([part], part.everyone.filter(pl.Series(chosen))))

        with translate_errors():
            parts = [unpacked_standings(row[PART], shared) for row in map_packed(self.chunks, drawn).collect()]
        users = concat_ids(part.everyone for part in parts if part.everyone is not None).sort()
        return replace(joined_standings(parts, users), unlisted=self.played.unlisted if every == 1 else 0)


@dataclass(frozen=True, eq=False)
class SharedFacts:
    """The data that every task needs besides the rows of its users.

    ``counts`` are the item counts of each part of the fold (training, test, ...), and ``items`` the item factors if the
    model has them. ``leakage``, ``how`` and ``number`` describe the fold as in :class:`~recassay.Fold`, and ``where``
    names the log in errors.
    """

    counts: Mapping[str, ItemCounts]
    items: Vectors | None
    protocol: Ranking
    leakage: Leakage
    how: Mapping[str, Any]
    number: int
    where: str

    def fold(self, rows: pl.DataFrame) -> Fold:
        """Return the fold of some users, made of rows with a column of labels, such as training or test."""
        log = Interactions.from_frame(rows.drop(label_of(self.number)), whole=self.counts["train"], origin=self.where)
        label = rows[label_of(self.number)].to_numpy()
        parts = {
            name: replace(log.take(np.isin(label, PARTS[name])), whole=counts) for name, counts in self.counts.items()
        }
        validation = parts.get("validation")
        return Fold(parts["train"], parts["test"], self.leakage, self.how, validation, number=self.number)


@dataclass(frozen=True, eq=False)
class PlayTask:
    """The work of a task: to rank the catalogue for its users.

    ``known`` is a Spark broadcast of :class:`SharedFacts`, so that a worker holds one copy. ``name`` is that of the
    system.
    """

    known: Any
    model: Any
    name: str

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        """Yield a table for each chunk of users: the rows of their lists, and a row with their packed standings."""
        known: SharedFacts = self.known.value
        for piece in pieces:
            if not piece[LOG].height:
                continue  # these users have factors and no rows in the log
            fold = known.fold(piece[LOG])
            model = self.model
            if isinstance(model, FactorTable):
                users = Vectors.of(piece[USERS], "users") if USERS in piece else model.users
                model = replace(model, users=users, items=known.items)
            task = ranking_task(fold, known.protocol)
            run = play_fitted(fitted_on_fold(model, fold), task, self.name, k=known.protocol.k, threads=1)
            assert run.standings is not None, "it was played"
            packed = pl.DataFrame(
                {
                    USER: piece[LOG][USER].head(1),
                    PART: [packed_standings(run.standings)],
                    COUNTS: [pack(PlayedTotals.of(run.standings))],
                }
            )
            yield pl.concat([run.frame(), packed], how="diagonal")


def play_on_spark(request: PlayRequest) -> SparkRun:
    """Return the run of a system, computed by tasks; it stays in Parquet files, in a folder within ``work``."""
    model, protocol, fold = request.model, request.protocol, request.fold
    if not isinstance(fold, SparkFold):
        what = f"Spark plays systems on Spark folds, not on a {type(fold).__name__}"
        raise UsageError(
            "U223", what, hint="split a log of ra.spark_log(...), or combine tables with ra.spark_fold(...)"
        )
    if not isinstance(protocol, Ranking):
        raise UsageError("U107", f"Spark does not support the protocol {protocol}", hint="use ranking(...)")
    if not getattr(model, "fits_by_user", False):
        raise UsageError(
            "U107",
            f"{model} would learn from the users of one task only",
            hint="fit it elsewhere and play its factors (ra.models.FactorTable) or its scores (ra.models.ScoreBatches)",
        )
    spark, label = session_of(fold.labelled), label_of(fold.number)
    log = SparkTable(fold.labelled.select(*fold.train.columns, label), "the log")
    tables = {LOG: log}
    name, items = request.name or system_name(model), None
    if isinstance(model, FactorTable):
        items = Vectors.of(_in_memory(model.items), "items")
        if is_spark_frame(model.users):
            tables[USERS] = vectors_table(model.users)
            model = replace(model, users=None)
        model = replace(model, items=None)
    with translate_errors():
        counts = item_counts_by_part(fold)
    known = SharedFacts(counts, items, protocol, fold.leakage, fold.how, fold.number, log.where)
    task = ranking_task(known.fold(log.empty()), protocol)
    own = {"name": name, "vocabulary": task.train.item_vocabulary, "popularity": task.weight, "how": task.how}
    lists = f"{USER} {log.kind(USER)}, {ITEM} {log.kind(ITEM)}, {RANK} int, {SCORE} double"
    schema = f"{lists}, {PART} binary, {COUNTS} binary"
    broadcast = spark.sparkContext.broadcast(known)
    with contextlib.ExitStack() as stack, translate_errors():
        folder = stack.enter_context(new_folder(spark, request.execution.work))
        map_users(tables, PlayTask(broadcast, model, name), schema, rows=ROWS, slow=True).write.parquet(folder)
        broadcast.unpersist()
        written = spark.read.schema(schema).parquet(folder)
        chunks = written.where(f"{PART} is not null")
        played: PlayedTotals = reduce(add, (unpack(row[0]) for row in chunks.select(COUNTS).collect()))
        frame = written.where(f"{PART} is null").drop(PART, COUNTS)
        run = SparkRun(frame, name, chunks.select(USER, PART), own, played)
        weakref.finalize(run, stack.pop_all().close)  # a temporary folder is removed with the run
    return run


def item_counts_by_part(fold: SparkFold) -> dict[str, ItemCounts]:
    """Return, for each part of a fold (such as ``train``), how many users and events each item of the log has in it."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    label = F.col(label_of(fold.number))
    parts = [name for name in PARTS if name != "validation" or fold.validation is not None]
    inside = {name: label.isin(*PARTS[name]) for name in parts}
    wanted = [F.count_distinct(F.when(inside[name], F.col(USER))).alias(f"{name}_users") for name in parts]
    wanted += [F.count(F.when(inside[name], 1)).alias(f"{name}_events") for name in parts]
    items = pl.DataFrame(fold.labelled.groupBy(ITEM).agg(*wanted).toArrow()).sort(ITEM)
    users = fold.labelled.agg(*wanted[: len(parts)]).collect()[0]

    def column(name: str) -> Int64:
        return items[name].to_numpy().astype(np.int64)

    return {
        name: ItemCounts(items[ITEM], column(f"{name}_users"), column(f"{name}_events"), int(users[f"{name}_users"]))
        for name in parts
    }


def vectors_table(frame: DataFrame) -> SparkTable:
    """Return a table of users and their vectors with the standard column names, and the types that logs have."""
    from pyspark.sql import functions as F  # noqa: N812

    user, vector = factor_columns({name: kind.startswith("array") for name, kind in frame.dtypes}, "users")
    kind = "string" if dict(frame.dtypes)[user] == "string" else "bigint"
    picked = frame.select(F.col(user).cast(kind).alias(USER), F.col(vector).cast("array<float>").alias(VECTOR))
    return SparkTable(picked, "factors of users")


def _in_memory(source: Any) -> Any:
    if not is_spark_frame(source):
        return source
    with translate_errors():
        return pl.DataFrame(source.toArrow())
