"""Scoring of runs by the tasks of Spark: each task scores its own users, with the code of the local back end.

Values go to Parquet, a row for each user. The totals of a task are a row of the same file. Spark commits the file of
one attempt of a task, so a task that dies and is retried counts once.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from recassay.backends.spark.own_files import TALLY, own_files, packed_tallies
from recassay.backends.spark.session import carry_errors, session_of, translate_errors
from recassay.backends.spark.tables import SparkTable, UserChunk, map_users, read_own, to_batches
from recassay.data.interactions import Interactions
from recassay.data.io.roles import USER
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.lists.job import Job
from recassay.engine.lists.parts import ORDERS, Column, PartialCounts, PartialResult
from recassay.engine.lists.sources import TableOrigin
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import UnitMetric
from recassay.metrics.ties import OF_ROWS

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

TRUTH, TRAIN = "truth", "train"
TOGETHER = 16  # tasks that add up the totals of all tasks before the driver does


class Key(NamedTuple):
    """The name of a stored column of values: the system, and what the values are.

    ``column`` is a pair: the kind (``value``, ``weight``, ...) and the metric's heading, such as ``ndcg@10``.
    """

    system: str
    column: Column


@dataclass(frozen=True, eq=False)
class ScoringTask:
    """The work of a task: to score the lists of its users and to yield the values.

    ``nan`` and ``negative`` say what is done with NaN scores and negative gains, and ``keep_scores`` whether runs keep
    their scores. ``origins`` says where each table comes from. ``placed`` names the systems whose rows have positions
    in files, which can order their lists.
    """

    job: Job
    systems: tuple[str, ...]
    origins: Mapping[str, TableOrigin]
    nan: str = "error"
    keep_scores: bool = True
    negative: str = "error"
    placed: frozenset[str] = frozenset()

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the names of all columns that may have values, in the order of the columns in the files."""
        metrics = self.job.unit_metrics
        headings = list(metrics)
        weighted = [heading for heading, metric in metrics.items() if type(metric).weights is not UnitMetric.weights]
        ranking = [heading for heading, metric in metrics.items() if metric.family == "ranking"]
        columns: list[Column] = [("value", heading) for heading in headings]
        columns += [("weight", heading) for heading in weighted]
        columns += [(order, heading) for order in ORDERS for heading in ranking]
        return tuple(Key(system, column) for system in self.systems for column in columns)

    def schema(self, user: str) -> str:
        """Return the schema of the table of values as text; ``user`` is the Spark type of user ids."""
        return f"{USER} {user}, {TALLY} binary{values_schema(self.keys)}"

    def __call__(self, pieces: Iterator[UserChunk]) -> Iterator[pl.DataFrame]:
        """Yield the values of the users of each chunk, and at the end a row with the totals over all of them."""
        found: dict[str, PartialCounts] = {}
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
            packed = zlib.compress(pickle.dumps(ScoringTotals(found, there)), 1)
            empty = {column_name(place): pl.Series([None], dtype=pl.Float64) for place in range(len(self.keys))}
            yield pl.DataFrame({USER: pl.Series([None], dtype=users), TALLY: [packed], **empty})

    def _parts(self, piece: UserChunk) -> dict[str, PartialResult]:
        origin = self.origins[TRUTH]
        truth = Truth.from_frame(
            piece[TRUTH],
            negative=self.negative,  # type: ignore[arg-type]
            origin=origin.where,
            remarks=origin.remarks,
        )
        job = self._with_users_log(piece)
        return {name: job.judge_part(self._run(piece, name), truth) for name in self.systems}

    def _with_users_log(self, piece: UserChunk) -> Job:
        """Return the job with the training rows of these users, if the training log is a table too."""
        context = self.job.context
        if TRAIN not in piece or context.train is None or context.train.whole is None:
            return self.job
        log = Interactions.of_users(piece[TRAIN], context.train.whole, origin=self.origins[TRAIN].where)
        return self.job.with_train(log)

    def _run(self, piece: UserChunk, name: str) -> Run:
        return Run.from_frame(
            piece[run_table(name)],
            name,
            order="row" if self.job.conventions.order == "row" else None,
            nan=self.nan,  # type: ignore[arg-type]
            keep_scores=self.keep_scores,
            keep_rows=name in self.placed,
            origin=self.origins[name].where,
            remarks=self.origins[name].remarks,
        )

    def _rows(self, parts: Mapping[str, PartialResult]) -> pl.DataFrame:
        units = parts[self.systems[0]].units
        columns = {
            column_name(place): pl.Series(parts[key.system].columns[key.column], dtype=pl.Float64)
            if key.column in parts[key.system].columns
            else pl.Series([None], dtype=pl.Float64).new_from_index(0, units.len())
            for place, key in enumerate(self.keys)
        }
        nothing = pl.Series([None], dtype=pl.Binary).new_from_index(0, units.len())
        return pl.DataFrame({USER: units, TALLY: nothing, **columns})


class ScoringTotals(NamedTuple):
    """Totals over the users of some tasks.

    They are the counts of each system (``tallies``), and the columns that have values (``there``).
    """

    tallies: dict[str, PartialCounts]
    there: set[Key]

    def plus(self, other: ScoringTotals) -> ScoringTotals:
        """Return the sum of two totals, of different users."""
        return ScoringTotals(
            {name: one + other.tallies[name] for name, one in self.tallies.items()}, self.there | other.there
        )


def run_scoring(
    task: ScoringTask, side_tables: Mapping[str, SparkTable], runs: Mapping[str, SparkTable], folder: str
) -> ScoringTotals:
    """Score all runs, write the values of all users to a folder, and return the totals over all users.

    ``side_tables`` are the truth, and perhaps the training log.
    """
    conventions = task.job.conventions
    lists = {name: with_order(run, conventions) for name, run in runs.items()}
    task = replace(task, placed=frozenset(name for name, run in lists.items() if run.has_rows))
    with translate_errors():
        # Whether scores look like ranks (R004) depends on the order of rows.
        watched = {name: run for name, run in runs.items() if not lists[name].has_rows and has_whole_scores(run)}
        lists |= watched
        tables = {**side_tables, **{run_table(name): run for name, run in lists.items()}}
        order = AS_READ if conventions.reads_rows or conventions.order == "row" or watched else ORDER
        rows = map_users(tables, task, task.schema(side_tables[TRUTH].kind(USER)), order=order)
        rows.write.parquet(folder)
        totals = read_totals(session_of(side_tables[TRUTH].frame), folder)
    if totals is None or not next(iter(totals.tallies.values())).alignment.queries:
        raise empty_truth(side_tables[TRUTH].where)
    return totals


def empty_truth(where: str) -> InputError:
    """Return I103 for a truth without rows; ``where`` names it."""
    return InputError("I103", "the truth has no rows", where=where, hint="check the program that wrote it")


ORDER = ("rank", "-score", "row")  # of the rows of a list
AS_READ = ("row", "rank", "-score")  # where conventions look at the order of rows


def has_whole_scores(run: SparkTable) -> bool:
    """Return whether the lists of a run from files are ordered by scores that are all whole numbers from 0 on.

    For most runs this reads a few rows, because the first other score answers it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if not run.has_rows or "rank" in run.columns or "score" not in run.columns:
        return False
    score = F.col("score")
    return not run.frame.where((score != F.floor(score)) | (score < 0)).take(1)


def with_order(run: SparkTable, conventions: Conventions) -> SparkTable:
    """Return a run with the columns that order its lists; raise U228 if nothing orders them.

    The position of a row in its files is dropped unless the conventions read it, as it takes more bytes than the rest
    of the row.
    """
    lacks = None
    if not {"rank", "score"} & set(run.columns):
        lacks = "the run has neither rank nor score"
    elif conventions.order == "row":
        lacks = "order='row' takes lists in the order of their rows"
    elif conventions.ties in OF_ROWS:
        lacks = f"ties={conventions.ties!r} keeps tied rows in their order"
    if lacks is None and not conventions.reads_rows:
        return run.without_row_order()
    if lacks is None or run.has_rows:
        return run
    raise UsageError(
        "U228",
        f"{lacks}, but the rows of a Spark table have no order",
        where=run.where,
        hint="give the path of its Parquet files, whose rows have an order, or a rank for every row",
    )


def read_totals(spark: SparkSession, folder: str) -> ScoringTotals | None:
    """Return the sum of the totals of all tasks; None if no task had a row."""
    found = sorted((_unpacked(packed) for packed in _read_packed_totals(spark, folder)), key=_first_user)
    return reduce(ScoringTotals.plus, found) if found else None


def _read_packed_totals(spark: SparkSession, folder: str) -> list[bytes]:
    """Return totals from a folder; on a cluster tasks add them up first, so that few rows reach the driver."""
    files = own_files(spark, folder)
    if files is not None:
        return packed_tallies(files)
    rows = read_own(spark, folder, f"{TALLY} binary").where(f"{TALLY} is not null")
    packed = rows.coalesce(TOGETHER).mapInArrow(carry_errors(_added), f"{TALLY} binary").collect()
    return [bytes(row[0]) for row in packed]


def _added(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    packed = [value.as_py() for batch in batches for value in batch.column(0)]
    if packed:
        one = reduce(ScoringTotals.plus, sorted((_unpacked(value) for value in packed), key=_first_user))
        yield from to_batches(pl.DataFrame({TALLY: [zlib.compress(pickle.dumps(one), 1)]}))


def _unpacked(packed: bytes) -> ScoringTotals:
    found: ScoringTotals = pickle.loads(zlib.decompress(packed))
    return found


def _first_user(one: ScoringTotals) -> tuple[bool, Any]:
    """Return a key to sort totals by: (False, id of the first user that they count), or (True, 0) without users.

    The order decides which examples an error names; the sums are the same in any order.
    """
    known = next(iter(one.tallies.values())).shared_ids
    users = known.truth_users if known.truth_users.len() else known.run_users
    return (not users.len(), users.first() if users.len() else 0)


def column_name(place: int) -> str:
    """Return the name of column number ``place`` in the Parquet files.

    The heading of a metric cannot be the name, because it may contain characters that names must not.
    """
    return f"c{place}"


def values_schema(keys: Sequence[Key]) -> str:
    """Return the part of a schema, as text, that declares a column for each of ``keys``.

    It follows other columns, so it begins with a comma; it is empty without keys.
    """
    return "".join(f", {column_name(place)} double" for place in range(len(keys)))


def run_table(system: str) -> str:
    """Return the name of the table of a run among those of a task."""
    return f"run {system}"


def user_rows(spark: SparkSession, folder: str, columns: str) -> DataFrame:
    """Return the rows of users, without those of totals, from a folder of values; ``columns`` is its schema."""
    return read_own(spark, folder, f"{columns}, {TALLY} binary").where(f"{TALLY} is null").drop(TALLY)
