"""A system played on a fold of Spark: tasks rank the catalogue for the users they have, as the local engine does.

A task has the rows of its users; what is about items (how often each occurs, and the factors of a model) is counted
once and sent to all workers. Nothing of the size users x items is anywhere, and no user's rows go to the driver.
"""

from __future__ import annotations

import pickle
import shutil
import weakref
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.roles import ITEM, RANK, SCORE, USER
from recassay.data.item_counts import ItemCounts
from recassay.data.run import Run
from recassay.engine.play import answer, question_of
from recassay.engine.spark.folds import SparkFold, label_of
from recassay.engine.spark.score import new_folder
from recassay.engine.spark.session import is_spark, session_of, told
from recassay.engine.spark.standing import LISTED, WORTH, About, Played, rows_of, standings_of
from recassay.engine.spark.tables import Piece, SparkTable, by_user
from recassay.errors import UsageError
from recassay.models.base import OfParts
from recassay.models.tables import FactorTable, Vectors, columns_of
from recassay.models.training import fit
from recassay.protocols.ranking import Ranking
from recassay.split.base import PROFILE, TEST, TRAIN, VALIDATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG, USERS, TALLY, VECTOR = "log", "users", "tally", "vector"
ROWS = 1 << 18  # of a piece, about: lists of a hundred items are longer than what a user did
PARTS: Mapping[str, tuple[int, ...]] = {"train": (TRAIN, PROFILE), "test": (TEST,), "validation": (VALIDATION,)}


@dataclass(frozen=True, eq=False)
class SparkRun(SparkTable):
    """What a system answered, on Spark: ranked lists (``frame``: user_id, item_id, rank, score), and standings.

    ``ra.score`` judges the lists, and ``ra.judge`` the standings. Both stay in the Parquet files of ``rows``, a row for
    each user.
    """

    rows: DataFrame
    about: About
    played: Played

    @property
    def name(self) -> str:
        """Of the system."""
        return self.about.name

    def here(self) -> Run:
        """The run as the local engine makes it, with the lists and standings of all users in this process."""
        with told():
            rows = pl.DataFrame(self.rows.orderBy(USER).toArrow())
        lists = rows.filter(pl.col(LISTED).list.len() > 0).select(USER, pl.col(LISTED).alias(ITEM), WORTH)
        ranked = lists.explode(ITEM, WORTH).with_columns(pl.int_range(1, pl.len() + 1).over(USER).alias(RANK))
        run = Run.from_frame(ranked, self.name, order="rank")
        return replace(run, standings=standings_of(rows, self.about, self.played.unlisted))


@dataclass(frozen=True, eq=False)
class Known:
    """What every task is told: the counts of all items in each part, their factors if there are any, what is asked."""

    counts: Mapping[str, ItemCounts]
    items: Vectors | None
    protocol: Ranking
    leakage: Leakage
    how: Mapping[str, Any]
    number: int
    where: str

    def fold(self, rows: pl.DataFrame) -> Fold:
        """The fold of some users."""
        log = Interactions.of_some(rows.drop(label_of(self.number)), self.counts["train"], origin=self.where)
        label = rows[label_of(self.number)].to_numpy()
        parts = {
            name: replace(log.take(np.isin(label, PARTS[name])), whole=counts) for name, counts in self.counts.items()
        }
        validation = parts.get("validation")
        return Fold(parts["train"], parts["test"], self.leakage, self.how, validation, number=self.number)


@dataclass(frozen=True, eq=False)
class Playing:
    """The work of a task; ``known`` is a broadcast of what all tasks know, and a worker has once."""

    known: Any
    model: Any
    about: About

    def __call__(self, pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        """A row for each user, and at the end what all of them add up to."""
        known: Known = self.known.value
        found: list[Played] = []
        last = None
        for piece in pieces:
            if not piece[LOG].height:
                continue  # users of whom there are factors and nothing else
            fold = known.fold(piece[LOG])
            model = self.model
            if isinstance(model, FactorTable):
                users = Vectors.of(piece[USERS], "users") if USERS in piece else model.users
                model = replace(model, users=users, items=known.items)
            run = answer(
                fit(model, fold), question_of(fold, known.protocol), self.about.name, k=known.protocol.k, threads=1
            )
            everyone = fold.train.user_vocabulary.ids
            assert run.standings is not None, "it was played"
            assert everyone is not None, "a log's ids are dense"
            found.append(Played.of(run.standings, everyone.len()))
            last = rows_of(run, everyone, self.about).with_columns(pl.lit(None, dtype=pl.Binary).alias(TALLY))
            yield last
        if last is not None:
            packed = zlib.compress(pickle.dumps(reduce(add, found)), 1)
            yield last.clear(1).with_columns(pl.lit(packed, dtype=pl.Binary).alias(TALLY))


def play_on_spark(
    model: Any,
    fold: SparkFold,
    protocol: Any,
    *,
    name: str | None = None,
    work: str | Path | None = None,
) -> SparkRun:
    """The answers of a system, made by the tasks; they stay in Parquet files, in a folder within ``work``."""
    if not isinstance(protocol, Ranking):
        raise UsageError("U107", f"there is no driver for {protocol} on Spark", hint="ranking(...)")
    if not isinstance(model, OfParts):
        raise UsageError(
            "U107",
            f"{model} would learn from the users of each task alone",
            hint="fit it elsewhere, and play its factors: ra.models.FactorTable, or its scores: ra.models.ScoreBatches",
        )
    spark, label = session_of(fold.labelled), label_of(fold.number)
    log = SparkTable(fold.labelled.select(*fold.train.columns, label), "the log")
    tables = {LOG: log}
    name, items = name or str(model), None
    if isinstance(model, FactorTable):
        items = Vectors.of(_here(model.items), "items")
        if is_spark(model.users):
            tables[USERS] = vectors_table(model.users)
            model = replace(model, users=None)
        model = replace(model, items=None)
    with told():
        counts = counted(fold)
    known = Known(counts, items, protocol, fold.leakage, fold.how, fold.number, log.where)
    asked = question_of(known.fold(_nobody(log)), protocol)
    about = About(name, counts["train"].ids, asked.weight, asked.how, tuple(asked.bins))
    schema = f"{about.schema(log.kind(USER), log.kind(ITEM))}, {TALLY} binary"
    broadcast = spark.sparkContext.broadcast(known)
    with new_folder(spark, work) as (folder, forget), told():
        by_user(tables, Playing(broadcast, model, about), schema, rows=ROWS, slow=True).write.parquet(folder)
        written = spark.read.parquet(folder)
        tallies = written.where(f"{TALLY} is not null").select(TALLY).collect()
        broadcast.unpersist()
        played: Played = reduce(add, (pickle.loads(zlib.decompress(bytes(row[0]))) for row in tallies))
        rows = written.where(f"{TALLY} is null").drop(TALLY)
        run = SparkRun(_lists(rows), about.name, rows, about, played)
        if forget:
            weakref.finalize(run, shutil.rmtree, Path(folder).parent, ignore_errors=True)
    return run


def counted(fold: SparkFold) -> dict[str, ItemCounts]:
    """How often each item of the whole log occurs in each part."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    label = F.col(label_of(fold.number))
    parts = [name for name in PARTS if name != "validation" or fold.validation is not None]
    inside = {name: label.isin(*PARTS[name]) for name in parts}
    wanted = [F.count_distinct(F.when(inside[name], F.col(USER))).alias(f"{name}_users") for name in parts]
    wanted += [F.count(F.when(inside[name], 1)).alias(f"{name}_events") for name in parts]
    items = pl.DataFrame(fold.labelled.groupBy(ITEM).agg(*wanted).toArrow()).sort(ITEM)
    users = fold.labelled.agg(*wanted[: len(parts)]).collect()[0]

    def column(name: str) -> NDArray[np.int64]:
        return items[name].to_numpy().astype(np.int64)

    return {
        name: ItemCounts(items[ITEM], column(f"{name}_users"), column(f"{name}_events"), int(users[f"{name}_users"]))
        for name in parts
    }


def vectors_table(frame: DataFrame) -> SparkTable:
    """Users and their vectors, with ids as those of a log."""
    from pyspark.sql import functions as F  # noqa: N812

    user, vector = columns_of({name: kind.startswith("array") for name, kind in frame.dtypes}, "users")
    kind = "string" if dict(frame.dtypes)[user] == "string" else "bigint"
    picked = frame.select(F.col(user).cast(kind).alias(USER), F.col(vector).cast("array<float>").alias(VECTOR))
    return SparkTable(picked, "factors of users")


def _here(source: Any) -> Any:
    if not is_spark(source):
        return source
    with told():
        return pl.DataFrame(source.toArrow())


def _nobody(log: SparkTable) -> pl.DataFrame:
    with told():
        return pl.DataFrame(log.frame.limit(0).toArrow())


def _lists(rows: DataFrame) -> DataFrame:
    """A row for each item of each list."""
    from pyspark.sql import functions as F  # noqa: N812

    pairs = F.posexplode(F.arrays_zip(F.col(LISTED), F.col(WORTH)))
    placed = rows.select(USER, pairs.alias("place", "pair"))
    return placed.select(
        USER,
        F.col(f"pair.{LISTED}").alias(ITEM),
        (F.col("place") + 1).cast("int").alias(RANK),
        F.col(f"pair.{WORTH}").alias(SCORE),
    )
