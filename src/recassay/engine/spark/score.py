"""``score`` where truth and runs are tables of Spark."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.comparison.intervals import LARGE, Uncertainty
from recassay.data.distances import given_distances
from recassay.data.interactions import Interactions
from recassay.data.io import run_sources
from recassay.data.io.roles import ITEM, TIMESTAMP, USER
from recassay.data.item_counts import ItemCounts
from recassay.data.read import Columns, beside, read_training
from recassay.data.truth import Truth
from recassay.data.truth_facts import TruthFacts
from recassay.engine.local import Job
from recassay.engine.sources import Origin
from recassay.engine.spark.judge import TRAIN, TRUTH, Judging, judge
from recassay.engine.spark.kept import FOUND, Kept
from recassay.engine.spark.means import worths
from recassay.engine.spark.progress import watched
from recassay.engine.spark.scores import KeptScores
from recassay.engine.spark.session import REMOTE, is_local, is_spark, placed, session_of, spark_session, told
from recassay.engine.spark.tables import ROW, Piece, SparkTable, by_user, table
from recassay.engine.summary import settings_of
from recassay.errors import InputError, UsageError
from recassay.metrics.base import CatalogueMetric, Metric, facts_for
from recassay.metrics.context import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Tables:
    """Truth, log and runs as they are handed in, and how they are read."""

    truth: Any
    runs: Any
    train: Any = None
    distances: Any = None
    columns: Columns = None
    truth_columns: Columns = None
    nan: str = "error"
    negative: str = "error"
    keep_scores: bool = True


def on_spark(*sources: Any) -> bool:
    """Whether some source is a table of Spark, or a collection that holds one."""
    held = [one for source in sources for one in _each(source)]
    return any(is_spark(one) or isinstance(one, SparkTable) for one in held)


def _each(source: Any) -> Iterable[Any]:
    """What a source holds, or itself."""
    return source.values() if isinstance(source, Mapping) else source if isinstance(source, list | tuple) else [source]


def score_tables(
    job: Job,
    tables: Tables,
    uncertainty: Uncertainty,
    profile: str | None,
    *,
    work: str | Path | None = None,
    few: int = LARGE,
) -> KeptScores:
    """Judge runs by the tasks of a Spark cluster; ``job`` has metrics and conventions, and no truth yet.

    Values of users stay in Parquet files, in a folder within ``work`` that all nodes see.
    """
    spark = _session(tables)
    truth = read_beside(spark, tables.truth, TRUTH, tables.columns, tables.truth_columns)
    runs = _runs(spark, tables, ordered=job.conventions.order == "row")
    if job.progress is not None:
        job.progress("starting Spark", 1, 1)
    others = {TRUTH: truth} | _log(spark, tables)
    with watched(spark, job.progress, "looking at truth and log"):
        job = _prepared(replace(job, context=_context(job.context, tables, others)), truth, tables.negative)
    origins = {name: Origin(one.where, one.remarks) for name, one in (others | runs).items()}
    told_to = replace(job, threads=1, progress=None)
    judging = Judging(told_to, tuple(runs), origins, tables.nan, tables.keep_scores, tables.negative)
    with new_folder(spark, work) as (folder, forget):
        with watched(spark, job.progress, "judging"):
            tallied = judge(judging, others, runs, folder)
        kept = Kept(spark, folder, judging.keys, frozenset(tallied.there))
        with watched(spark, job.progress, "means and intervals"):
            rows, findings = worths(kept, told_to, tallied, uncertainty, few)
        if forget:
            weakref.finalize(kept, shutil.rmtree, Path(folder).parent, ignore_errors=True)
    settings = settings_of(job, uncertainty, profile) | {"engine": "spark", "values": folder}
    return KeptScores.of(kept, tuple(runs), tuple(job.metrics), rows=rows, findings=findings, settings=settings)


def read_beside(spark: SparkSession, source: Any, role: str, columns: Columns, own: Columns = None) -> SparkTable:
    """A table that stands beside the runs, as :func:`~recassay.data.read.beside` has it."""
    if isinstance(source, SparkTable):
        return source
    return beside(lambda names: table(spark, source, role, columns=names), columns, own)


def _session(tables: Tables) -> SparkSession:
    """The session of what was handed in, else the active one."""
    for one in [tables.truth, *_each(tables.runs)]:
        frame = one.frame if isinstance(one, SparkTable) else one
        if is_spark(frame):
            return session_of(frame)
    return spark_session()


def _runs(spark: SparkSession, tables: Tables, *, ordered: bool) -> dict[str, SparkTable]:
    found = sources_of(tables.runs)
    return {
        name: one
        if isinstance(one, SparkTable)
        else table(spark, one, "run", columns=tables.columns, rows=True, ordered=ordered)
        for name, one in found.items()
    }


def sources_of(runs: Any) -> dict[str, Any]:
    """Runs by name: a table, a dict of them, or paths, of which those of this machine may be globs and folders."""
    if is_spark(runs):
        return {"run": runs}
    tables = [one for one in _each(runs) if isinstance(one, SparkTable)]
    if not isinstance(runs, Mapping) and tables and len(tables) == len(list(_each(runs))):
        return _by_name(tables)
    if isinstance(runs, Mapping) and runs:
        return {str(name): one for name, one in runs.items()}
    given = [runs] if isinstance(runs, str | Path) else list(runs) if isinstance(runs, list | tuple) else []
    found: dict[str, Any] = {}
    for one in given:
        if not isinstance(one, str | Path):
            break
        for name, path in _found(one):
            if name in found:
                where = f"{found[name]} and {path}"
                raise UsageError(
                    "U109", f"two runs have the name '{name}'", where=where, hint="give them as a dict of name to run"
                )
            found[name] = path
    else:
        if found:
            return found
    raise UsageError(
        "U228",
        f"runs for Spark are tables of Spark or paths, not a {type(runs).__name__}",
        hint="{'mine': spark.read.parquet(path)}",
    )


def _by_name(runs: Iterable[SparkTable]) -> dict[str, SparkTable]:
    """Runs that were played have names."""
    found: dict[str, SparkTable] = {}
    for run in runs:
        name = getattr(run, "name", "run")
        if name in found:
            raise UsageError("U109", f"two runs have the name '{name}'", hint="give them as a dict of name to run")
        found[name] = run
    return found


def _log(spark: SparkSession, tables: Tables) -> dict[str, SparkTable]:
    """The training log, if tasks get the rows of their users: a table of Spark, or a path."""
    given = tables.train
    if given is None or not (is_spark(given) or isinstance(given, SparkTable | str | Path)):
        return {}
    log = read_beside(spark, given, "log", tables.columns)
    return {TRAIN: SparkTable(log.frame.drop(TIMESTAMP), log.where)}  # no metric of a run looks at times


def _context(context: Context, tables: Tables, others: Mapping[str, SparkTable]) -> Context:
    """What metrics may know besides lists and truth."""
    if tables.train is None:
        return context
    there = TRAIN in others
    log = log_of_nobody(others[TRAIN]) if there else read_training(tables.train, columns=tables.columns)
    distances = None if tables.distances is None else given_distances(tables.distances, log.n_items)
    return replace(context, train=log, distances=distances)


def log_of_nobody(train: SparkTable) -> Interactions:
    """What is known of the items of a log, without a row of it."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    with told():
        counted = train.frame.groupBy(ITEM).agg(F.count_distinct(USER).alias("users"), F.count("*").alias("events"))
        items = pl.DataFrame(counted.toArrow()).sort(ITEM)
        users = train.frame.select(USER).distinct().count()
        nobody = pl.DataFrame(train.frame.limit(0).drop(ROW).toArrow())
    whole = ItemCounts(items[ITEM], items["users"].to_numpy(), items["events"].to_numpy(), users)
    return Interactions.of_some(nobody, whole, origin=train.where)


def _found(path: str | Path) -> list[tuple[str, str | Path]]:
    """Runs at a path by name; one that is not on this machine may be where Spark looks."""
    if not REMOTE.match(str(path)):
        try:
            return list(run_sources(path))
        except InputError as error:
            if error.code != "I101":
                raise
    return [(Path(str(path)).stem, path)]


def _prepared(job: Job, truth: SparkTable, negative: str) -> Job:
    """The job once its metrics have looked at what must be known of the whole truth."""
    facts = facts_of(truth, job.metrics.values(), negative)
    job = job.settled(facts)
    if any(isinstance(metric, CatalogueMetric) and metric.catalogue == "truth" for metric in job.metrics.values()):
        with told():
            ids = pl.DataFrame(truth.frame.select(ITEM).distinct().toArrow())[ITEM].sort()
        job = replace(job, context=replace(job.context, judged_items=ids))
    return job


@contextlib.contextmanager
def new_folder(spark: SparkSession, work: str | Path | None) -> Iterator[tuple[str, bool]]:
    """A new folder for values, and whether it is to be forgotten with them; gone if what is done with it fails."""
    if work is None and not is_local(spark):
        raise UsageError(
            "U229",
            "the values of users need a folder that all nodes of the cluster see",
            where=f"master {spark.conf.get('spark.master', '')}",
            hint="work='s3a://bucket/scratch', or hdfs:///tmp/scratch",
        )
    if work is None:
        parent = tempfile.mkdtemp(prefix="recassay-")
        try:
            yield f"{parent}/values", True
        except BaseException:
            shutil.rmtree(parent, ignore_errors=True)
            raise
    else:
        yield f"{placed(spark, work).rstrip('/')}/recassay-{uuid.uuid4().hex[:12]}", False


def facts_of(truth: SparkTable, metrics: Iterable[Metric], negative: str) -> TruthFacts:
    """What metrics must know of the whole truth: of each task's users, added up."""
    asked, where = tuple(metrics), truth.where  # the table itself does not travel

    def facts(pieces: Iterator[Piece]) -> Iterator[pl.DataFrame]:
        parts = (Truth.from_frame(piece[TRUTH], negative=negative, origin=where) for piece in pieces)  # type: ignore[arg-type]
        found = [facts_for(asked, part) for part in parts]
        if found:
            yield pl.DataFrame({FOUND: [pickle.dumps(reduce(add, found))]})

    with told():
        rows = by_user({TRUTH: truth}, facts, f"{FOUND} binary").collect()
    parts: list[TruthFacts] = [pickle.loads(bytes(row[0])) for row in rows]
    if not parts:
        raise InputError("I103", "the truth has no rows", where=truth.where, hint="check what wrote it")
    return reduce(add, parts)
