"""Runs judged by the tasks of Spark: each judges the users it has, as parts, with what judges them everywhere.

Values go to Parquet, a row for each user. What adds up stands beside them, once for each task: whoever commits the
file commits the tally in it, so that a task that dies and is tried again counts once.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.io.roles import USER
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.local import Job
from recassay.engine.parts import Column, Part, Tally
from recassay.engine.sources import Origin
from recassay.engine.spark.session import carried, session_of, told
from recassay.engine.spark.tables import Piece, SparkTable, by_user, to_batches
from recassay.errors import UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import UnitMetric
from recassay.metrics.ties import OF_ROWS

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

TRUTH, TRAIN, TALLY = "truth", "train", "tally"
TOGETHER = 16  # tasks that add up what all tasks found, before the driver does
ORDERS = ("pessimistic", "optimistic")


class Key(NamedTuple):
    """A column of values: of a system, of one kind, under a heading."""

    system: str
    column: Column


@dataclass(frozen=True, eq=False)
class Judging:
    """What tasks are told: how to judge, and where the values go.

    ``nan`` and ``keep_scores`` say how runs are read, ``placed`` names the systems whose rows come in the order of
    their files.
    """

    job: Job  # its truth is of nobody: each task has its own
    systems: tuple[str, ...]
    origins: Mapping[str, Origin]
    nan: str = "error"
    keep_scores: bool = True
    negative: str = "error"
    placed: frozenset[str] = frozenset()

    @property
    def keys(self) -> tuple[Key, ...]:
        """All columns there can be, in the order in which they stand."""
        metrics = self.job.unit_metrics
        headings = list(metrics)
        weighted = [heading for heading, metric in metrics.items() if type(metric).weights is not UnitMetric.weights]
        ranking = [heading for heading, metric in metrics.items() if metric.family == "ranking"]
        columns: list[Column] = [("value", heading) for heading in headings]
        columns += [("weight", heading) for heading in weighted]
        columns += [(order, heading) for order in ORDERS for heading in ranking]  # type: ignore[misc]
        return tuple(Key(system, column) for system in self.systems for column in columns)

    def schema(self, user: str) -> str:
        """Of the table of values."""
        columns = ", ".join(f"{name_of(place)} double" for place in range(len(self.keys)))
        return f"{USER} {user}, {TALLY} binary" + (f", {columns}" if columns else "")

    def __call__(self, pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        """Values of the users of a task, piece by piece, and at the end what its pieces add up to."""
        found: dict[str, Tally] = {}
        there: set[Key] = set()
        users = None
        for piece in pieces:
            parts = self._parts(piece)
            users = piece[TRUTH][USER].dtype
            for name, part in parts.items():
                found[name] = found[name] + part.tally if name in found else part.tally
                there |= {Key(name, column) for column in part.columns}
            yield self._rows(parts)
        if found:
            packed = zlib.compress(pickle.dumps(Tallied(found, there)), 1)
            empty = {name_of(place): pl.Series([None], dtype=pl.Float64) for place in range(len(self.keys))}
            yield pl.DataFrame({USER: pl.Series([None], dtype=users), TALLY: [packed], **empty})

    def _parts(self, piece: Piece) -> dict[str, Part]:
        origin = self.origins[TRUTH]
        truth = Truth.from_frame(
            piece[TRUTH],
            negative=self.negative,  # type: ignore[arg-type]
            origin=origin.where,
            remarks=origin.remarks,
        )
        job = self._knowing(piece)
        return {name: job.part(self._run(piece, name), truth) for name in self.systems}

    def _knowing(self, piece: Piece) -> Job:
        """The job with the rows of these users in the training log, if that is a table too."""
        context = self.job.context
        if TRAIN not in piece or context.train is None or context.train.whole is None:
            return self.job
        log = Interactions.of_some(piece[TRAIN], context.train.whole, origin=self.origins[TRAIN].where)
        return self.job.beside(log)

    def _run(self, piece: Piece, name: str) -> Run:
        return Run.from_frame(
            piece[table_of(name)],
            name,
            order="row" if self.job.conventions.order == "row" else None,
            nan=self.nan,  # type: ignore[arg-type]
            keep_scores=self.keep_scores,
            keep_rows=name in self.placed,
            origin=self.origins[name].where,
            remarks=self.origins[name].remarks,
        )

    def _rows(self, parts: Mapping[str, Part]) -> pl.DataFrame:
        units = parts[self.systems[0]].units
        columns = {
            name_of(place): pl.Series(parts[key.system].columns[key.column], dtype=pl.Float64)
            if key.column in parts[key.system].columns
            else pl.Series([None], dtype=pl.Float64).new_from_index(0, units.len())
            for place, key in enumerate(self.keys)
        }
        nothing = pl.Series([None], dtype=pl.Binary).new_from_index(0, units.len())
        return pl.DataFrame({USER: units, TALLY: nothing, **columns})


class Tallied(NamedTuple):
    """What the users of a task, or of several, add up to: a tally of each system, and which columns have values."""

    tallies: dict[str, Tally]
    there: set[Key]

    def plus(self, other: Tallied) -> Tallied:
        """Both together."""
        return Tallied(
            {name: one + other.tallies[name] for name, one in self.tallies.items()}, self.there | other.there
        )


def judge(judging: Judging, beside: Mapping[str, SparkTable], runs: Mapping[str, SparkTable], folder: str) -> Tallied:
    """Judge all runs, write the values of all users to a folder, and bring back what they add up to.

    ``beside`` the runs are the truth, and perhaps the training log.
    """
    conventions = judging.job.conventions
    lists = {name: in_order(run, conventions) for name, run in runs.items()}
    judging = replace(judging, placed=frozenset(name for name, run in lists.items() if run.has_rows))
    tables = {**beside, **{table_of(name): run for name, run in lists.items()}}
    order = AS_READ if conventions.reads_rows or conventions.order == "row" else ORDER
    with told():
        rows = by_user(tables, judging, judging.schema(beside[TRUTH].kind(USER)), order=order)
        rows.write.parquet(folder)
        return tallied(session_of(beside[TRUTH].frame), folder)


ORDER = ("rank", "-score", "row")  # of the rows of a list
AS_READ = ("row", "rank", "-score")  # where conventions look at the order of rows


def in_order(run: SparkTable, conventions: Conventions) -> SparkTable:
    """A run in which something says what comes first; U228 if nothing does.

    Where a row stands in its files travels only if it decides: it is longer than all the rest of the row. Whether a
    repeated item has a last row is only asked once one is met (I319).
    """
    lacks = None
    if not {"rank", "score"} & set(run.columns):
        lacks = "the run has neither rank nor score"
    elif conventions.order == "row":
        lacks = "lists were to be taken in the order of their rows (order='row')"
    elif conventions.ties in OF_ROWS:
        lacks = f"rows that tie were to stand as they came (ties={conventions.ties!r})"
    if lacks is None and not conventions.reads_rows:
        return run.without_rows()
    if lacks is None or run.has_rows:
        return run
    raise UsageError(
        "U228",
        f"{lacks}, and the rows of a Spark table have no order",
        where=run.where,
        hint="give the path of its Parquet files, whose rows have a place, or a rank for every row",
    )


def tallied(spark: SparkSession, folder: str) -> Tallied:
    """What all tasks add up to: added in tasks first, so that few come back."""
    rows = spark.read.parquet(folder).where(f"{TALLY} is not null").select(TALLY)
    packed = rows.coalesce(TOGETHER).mapInArrow(carried(_added), f"{TALLY} binary").collect()
    found = sorted((_unpacked(bytes(row[0])) for row in packed), key=_first_user)
    if not found:
        raise UsageError("U116", "neither truth nor runs have a row")
    return reduce(Tallied.plus, found)


def _added(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    packed = [value.as_py() for batch in batches for value in batch.column(0)]
    if packed:
        one = reduce(Tallied.plus, sorted((_unpacked(value) for value in packed), key=_first_user))
        yield from to_batches(pl.DataFrame({TALLY: [zlib.compress(pickle.dumps(one), 1)]}))


def _unpacked(packed: bytes) -> Tallied:
    found: Tallied = pickle.loads(zlib.decompress(packed))
    return found


def _first_user(one: Tallied) -> tuple[bool, Any]:
    """Tallies add up in any order; examples in an error are taken in this one."""
    known = next(iter(one.tallies.values())).known
    users = known.asked if known.asked.len() else known.answered
    return (not users.len(), users.first() if users.len() else 0)


def name_of(place: int) -> str:
    """The name of a column of values in the Parquet files: headings may hold any sign."""
    return f"c{place}"


def table_of(system: str) -> str:
    """The name of the table of a run beside those of truth and log."""
    return f"run {system}"


def values_of(spark: SparkSession, folder: str) -> DataFrame:
    """The rows of users."""
    return spark.read.parquet(folder).where(f"{TALLY} is null").drop(TALLY)
