"""Scoring of runs by the tasks of Spark: each task scores its own users, with the code of the local back end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from recassay.backends.spark.session import translate_errors
from recassay.backends.spark.tables import SparkTable, UserChunk
from recassay.backends.spark.tallies import packed_tallies, tallies_of
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.lists.job import Job
from recassay.engine.lists.sources import TableOrigin
from recassay.engine.tally import UserTally
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.ties import OF_ROWS

TRUTH, TRAIN = "truth", "train"


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

    def __call__(self, piece: UserChunk) -> dict[str, UserTally]:
        """Return the tally of each system for a chunk of users."""
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
        log = Interactions.from_frame(piece[TRAIN], whole=context.train.whole, origin=self.origins[TRAIN].where)
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


def run_scoring(
    task: ScoringTask, side_tables: Mapping[str, SparkTable], runs: Mapping[str, SparkTable], folder: str
) -> dict[str, UserTally]:
    """Score all runs and return the tally of all users by system, with its values in temporary files of this machine.

    ``side_tables`` are the truth, and perhaps the training log. Tasks write to ``folder``.
    """
    conventions, truth = task.job.conventions, side_tables[TRUTH]
    lists = {name: with_order(run, conventions) for name, run in runs.items()}
    task = replace(task, placed=frozenset(name for name, run in lists.items() if run.has_rows))
    with translate_errors():
        # Whether scores look like ranks (R004) depends on the order of rows.
        watched = {name: run for name, run in runs.items() if not lists[name].has_rows and has_whole_scores(run)}
        lists |= watched
        tables = {**side_tables, **{run_table(name): run for name, run in lists.items()}}
        order = AS_READ if conventions.reads_rows or conventions.order == "row" or watched else ORDER
        tallies = tallies_of(packed_tallies(tables, task, order), folder)
    if not tallies or not tallies[task.systems[0]].units.len():
        raise empty_truth(truth.where)
    return tallies


def empty_truth(where: str) -> InputError:
    """Return I102 for a truth without rows; ``where`` names it."""
    return InputError("I102", "the truth has no rows", where=where, hint="check the program that wrote it")


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
    """Return a run with the columns that order its lists; raise U223 if nothing orders them.

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
        "U223",
        f"{lacks}, but the rows of a Spark table have no order",
        where=run.where,
        hint="give the path of its Parquet files, whose rows have an order, or a rank for every row",
    )


def run_table(system: str) -> str:
    """Return the name of the table of a run among those of a task."""
    return f"run {system}"
