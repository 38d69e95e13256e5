"""Scoring where truth or runs are tables of Spark."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recassay.backends.base import is_spark_frame, one_of_each_type
from recassay.backends.spark.scoring import TRAIN, TRUTH, ScoringTask, empty_truth, run_scoring
from recassay.backends.spark.session import REMOTE, is_local, session_of, spark_path, spark_session, translate_errors
from recassay.backends.spark.tables import SparkTable, UserChunk, spark_table
from recassay.backends.spark.tallies import summed
from recassay.data.features import validated_distances
from recassay.data.fold import nobody_is_known
from recassay.data.interactions import Interactions, ItemCounts
from recassay.data.io import run_sources
from recassay.data.io.columns import ITEM, TIMESTAMP, USER
from recassay.data.read import Columns, read_training, read_with_shared_names
from recassay.data.truth import Truth, TruthStatistics
from recassay.engine.finish import assemble
from recassay.engine.lists.job import Job
from recassay.engine.lists.score import ScoreInputs, ScoreRequest
from recassay.engine.lists.sources import TableOrigin
from recassay.errors import InputError, UsageError
from recassay.metrics.base import CatalogueMetric, Metric, truth_statistics_for
from recassay.metrics.context import Context
from recassay.results.scores import POPULATION, Scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str, int, int], None]  # stage, done, of
EVERY = 0.5  # seconds between two reports


def score_tables(request: ScoreRequest) -> Scores:
    """Score runs and truth that are Spark tables, by the tasks of a cluster, and return the scores.

    Tasks write values of users to a folder within ``request.execution.work``, which all nodes see; this process then
    copies them to temporary files of its own.
    """
    inputs, reading, execution = request.inputs, request.reading, request.execution
    if request.until is not None or execution.memory is not None:
        raise UsageError(
            "U107", "Spark scores all users and manages its own memory", hint="leave out within and memory"
        )
    job = replace(request.job, first_hits_from=request.first_hits_from)
    spark = _session(inputs)
    truth = read_side_table(spark, inputs.truth, TRUTH, reading.columns, reading.truth_columns)
    runs = _runs(spark, request)
    if job.progress is not None:
        job.progress("starting Spark", 1, 1)
    others = {TRUTH: truth} | _log(spark, request)
    population: dict[str, Any] = {}
    if job.conventions.users == "known":
        truth, population[POPULATION] = _of_known_users(truth, others.get(TRAIN))
        others[TRUTH] = truth
    with report_stages(spark, job.progress, "reading truth and log"):
        job = _with_truth_statistics(replace(job, context=_context(request, others)), truth, reading.negative)
    origins = {name: TableOrigin(one.where, one.remarks) for name, one in (others | runs).items()}
    in_task = replace(job, threads=1, progress=None)
    task = ScoringTask(in_task, tuple(runs), origins, reading.nan, request.keeps_scores, reading.negative)
    with new_folder(spark, execution.work) as folder, report_stages(spark, job.progress, "judging"):
        tallies = run_scoring(task, others, runs, folder)
    judged = {name: job.combine(name, tally) for name, tally in tallies.items()}
    scores = assemble(job, judged, next(iter(tallies.values())).units, request.uncertainty, request.profile)
    return replace(scores, settings={**scores.settings, **population, "engine": "spark"})


def read_side_table(spark: SparkSession, source: Any, role: str, columns: Columns, own: Columns = None) -> SparkTable:
    """Return ``source``, the truth, training log or the like, as a Spark table; ``role`` says which of them it is.

    ``own`` are column names for this table alone. Without them ``columns``, the names given for the runs, apply if the
    table has such columns, else the default names.
    """
    if isinstance(source, SparkTable):
        return source
    return read_with_shared_names(lambda names: spark_table(spark, source, role, columns=names), columns, own)


def _session(inputs: ScoreInputs) -> SparkSession:
    """Return the Spark session of the first Spark table among the inputs, or else the active one."""
    given = [inputs.truth, *one_of_each_type(inputs.runs)]
    frames = [one.frame if isinstance(one, SparkTable) else one for one in given]
    return next((session_of(frame) for frame in frames if is_spark_frame(frame)), None) or spark_session()


def _runs(spark: SparkSession, request: ScoreRequest) -> dict[str, SparkTable]:
    """Return the tables of all runs by name."""
    reading, ordered = request.reading, request.job.conventions.order == "row"
    return {
        name: one
        if isinstance(one, SparkTable)
        else spark_table(spark, one, "run", columns=reading.columns_of(name), rows=True, ordered=ordered)
        for name, one in sources_of(request.inputs.runs).items()
    }


def sources_of(runs: Any) -> dict[str, Any]:
    """Return the runs by name, given as a table, a dict of tables, or paths; local paths may be globs and folders.

    A run that was played has the name of its system. Raise U109 if two have the same name.
    """
    if isinstance(runs, Mapping) and runs:
        return {str(name): one for name, one in runs.items()}
    if is_spark_frame(runs):
        return {"run": runs}
    several = runs if isinstance(runs, list | tuple) else [runs]
    if not several or not all(isinstance(one, SparkTable | str | Path) for one in several):
        raise UsageError(
            "U223",
            f"runs for Spark must be Spark tables or paths, not a {type(runs).__name__}",
            hint="{'mine': spark.read.parquet(path)}",
        )
    found: dict[str, Any] = {}
    for one in several:
        for name, source in [(getattr(one, "name", "run"), one)] if isinstance(one, SparkTable) else _runs_at(one):
            if name in found:
                raise UsageError(
                    "U109",
                    f"two runs have the name '{name}'",
                    where="" if isinstance(one, SparkTable) else f"{found[name]} and {source}",
                    hint="give them as a dict of name to run",
                )
            found[name] = source
    return found


def _log(spark: SparkSession, request: ScoreRequest) -> dict[str, SparkTable]:
    """Return ``{TRAIN: training log as a Spark table}``; each task then gets the training rows of its users.

    The dict is empty unless the log is given as a Spark table or a path.
    """
    given = request.inputs.train
    if given is None or not (is_spark_frame(given) or isinstance(given, SparkTable | str | Path)):
        return {}
    log = read_side_table(spark, given, "log", request.reading.columns, request.reading.train_columns)
    return {TRAIN: SparkTable(log.frame.drop(TIMESTAMP), log.where)}  # no metric of a run reads times


def _of_known_users(truth: SparkTable, train: SparkTable | None) -> tuple[SparkTable, dict[str, int]]:
    """Return the truth of the users with training events, and numbers of users: ``users`` have events, ``of`` is all.

    Raise U105 for a training log that is not on Spark, I406 if no user has a training event.
    """
    if train is None:
        raise UsageError(
            "U105",
            "on Spark, users='known' needs the training log as a table of Spark or a path",
            hint="spark.createDataFrame(...), or a Parquet file",
        )
    kept = truth.frame.join(train.frame.select(USER).distinct(), USER, "left_semi")
    with translate_errors():
        users, of = (frame.select(USER).distinct().count() for frame in (kept, truth.frame))
    if not users:
        raise nobody_is_known(of, truth.where)
    return replace(truth, frame=kept), {"users": users, "of": of}


def _context(request: ScoreRequest, others: Mapping[str, SparkTable]) -> Context:
    """Return what metrics need besides truth and runs: item features, training log and item distances.

    ``others`` are Spark tables by name; the training log is among them if it is one.
    """
    inputs, context = request.inputs, request.job.context
    if inputs.train is None:
        return context
    there = TRAIN in others
    names = request.reading.train_columns or request.reading.columns
    log = log_statistics(others[TRAIN]) if there else read_training(inputs.train, columns=names)
    distances = None if inputs.distances is None else validated_distances(inputs.distances, log.n_items)
    return replace(context, train=log, distances=distances)


def log_statistics(train: SparkTable) -> Interactions:
    """Return a log without rows that holds the number of users and events of each item, counted on Spark."""
    from pyspark.sql import functions as F  # noqa: N812 (its usual name)

    with translate_errors():
        counted = train.frame.groupBy(ITEM).agg(F.count_distinct(USER).alias("users"), F.count("*").alias("events"))
        items = pl.DataFrame(counted.toArrow()).sort(ITEM)
        users = train.frame.select(USER).distinct().count()
    whole = ItemCounts(items[ITEM], items["users"].to_numpy(), items["events"].to_numpy(), users)
    return Interactions.from_frame(train.empty(), whole=whole, origin=train.where, remarks=train.remarks)


def _runs_at(path: str | Path) -> list[tuple[str, str | Path]]:
    """Return (name, path) of each run at a path; the names are those of the files, without suffix.

    A path that is not on this machine is returned as it is, for Spark to read.
    """
    if not REMOTE.match(str(path)):
        try:
            return list(run_sources(path))
        except InputError as error:
            if error.code != "I101":
                raise
    return [(Path(str(path)).stem, path)]


def _with_truth_statistics(job: Job, truth: SparkTable, negative: str) -> Job:
    """Return the scoring job with the metric parameters filled in that depend on the whole truth.

    An example is the largest gain. ``negative`` says what is done with negative gains of the truth, such as ``error``.
    """
    metrics = tuple(job.metrics.values())
    job = job.resolved(LateStatistics(lambda: truth_statistics(truth, metrics, negative)))
    if any(isinstance(metric, CatalogueMetric) and metric.catalogue == "truth" for metric in job.metrics.values()):
        with translate_errors():
            ids = pl.DataFrame(truth.frame.select(ITEM).distinct().toArrow())[ITEM].sort()
        job = replace(job, context=replace(job.context, judged_items=ids))
    return job


@contextlib.contextmanager
def new_folder(spark: SparkSession, work: str | Path | None) -> Iterator[str]:
    """Yield a new folder for what tasks write; without ``work`` it is a temporary one, which is removed."""
    if work is None and not is_local(spark):
        raise UsageError(
            "U227",
            "the values of users need a folder that all nodes of the cluster see",
            where=f"master {spark.conf.get('spark.master', '')}",
            hint="work='s3a://bucket/scratch', or hdfs:///tmp/scratch",
        )
    if work is not None:
        yield f"{spark_path(spark, work).rstrip('/')}/recassay-{uuid.uuid4().hex[:12]}"
        return
    with tempfile.TemporaryDirectory(prefix="recassay-", ignore_cleanup_errors=True) as parent:
        yield f"{parent}/values"


class LateStatistics(TruthStatistics):
    """Statistics of the whole truth, counted when a metric first reads one: most metrics read none, which saves a pass.

    ``count`` is called then, and returns the statistics.
    """

    def __init__(self, count: Callable[[], TruthStatistics]) -> None:
        vars(self)["_count"] = count

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        vars(self).update(vars(self._count()))
        return vars(self)[name]


def truth_statistics(truth: SparkTable, metrics: Iterable[Metric], negative: str) -> TruthStatistics:
    """Return the statistics of all judgements that ``metrics`` need: number of users, highest gain, and the like.

    They are counted in the tasks of Spark and added up over all users. Raise I102 if the truth is empty. ``negative``
    says what is done with negative gains, such as ``error``.
    """
    chosen, where = tuple(metrics), truth.where  # tasks must not carry the table itself

    def statistics(chunk: UserChunk) -> TruthStatistics:
        part = Truth.from_frame(chunk[TRUTH], negative=negative, origin=where)  # type: ignore[arg-type]
        return truth_statistics_for(chosen, part)

    found: TruthStatistics | None = summed({TRUTH: truth}, statistics)
    if found is None:
        raise empty_truth(truth.where)
    return found


@contextlib.contextmanager
def report_stages(spark: SparkSession, report: Report | None, stage: str) -> Iterator[None]:
    """Report every half second within this context how many Spark tasks are done, under the name ``stage``.

    If ``report`` is None, nothing is reported and Spark is not queried. Nothing is reported while no task has begun.
    """
    if report is None:
        yield
        return
    tracker, over = spark.sparkContext.statusTracker(), threading.Event()
    counts: dict[int, tuple[int, int]] = {}

    def send() -> None:
        for number in tracker.getActiveStageIds():
            info = tracker.getStageInfo(number)
            if info is not None:
                counts[number] = (info.numCompletedTasks, info.numTasks)
        done, of = (sum(one[side] for one in counts.values()) for side in (0, 1))
        if of:
            report(stage, done, of + 1)  # later stages are not known yet, so the total stays one ahead

    def watch() -> None:
        send()
        while not over.wait(EVERY):
            send()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        send()
    report(stage, 1, 1)
