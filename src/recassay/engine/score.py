"""``score``: from what a person hands in to what it was worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from recassay.comparison.intervals import Uncertainty
from recassay.data.distances import given_distances
from recassay.data.read import Columns, beside, each_run, read_items, read_training, read_truth
from recassay.data.run import Run
from recassay.data.scores import Scores
from recassay.data.truth import Truth
from recassay.engine.local import Job, Report
from recassay.engine.out_of_core import Files, Reading, bytes_of, score_files
from recassay.engine.spark.score import Tables, on_spark, score_tables
from recassay.engine.summary import assemble
from recassay.engine.until import Until, score_until
from recassay.errors import UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import facts_for
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.profiles import Profile
from recassay.profiles import find as find_profile
from recassay.spec import Value, check_word, suggest

ENGINES = ("local", "spark")


def score(
    runs: Any,
    truth: Any,
    metrics: Metrics,
    *,
    train: Any = None,
    items: Any = None,
    distances: Any = None,
    columns: Columns = None,
    truth_columns: Columns = None,
    format: str | None = None,
    nan: str = "error",
    profile: str | None = None,
    relevant_from: float = 1.0,
    missing: str | None = None,
    no_relevant: str | None = None,
    order: str | None = None,
    ties: str | None = None,
    precision: str | None = None,
    duplicates: str | None = None,
    interval: str | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    until: float | None = None,
    strata: int = 1,
    memory: str | int | None = None,
    engine: str | None = None,
    work: str | Path | None = None,
    negative: str = "error",
    threads: int | None = None,
    progress: Report | None = None,
) -> Scores:
    """Judge runs against the truth: values per user, means with intervals and counts, and findings.

    ``runs``, ``truth``, ``train`` and ``items`` are nouns or anything the readers take (paths, frames, dicts).
    ``columns`` are those of the runs, and of the others if they have them; ``truth_columns`` those of the truth, if
    they differ. ``format`` and ``nan`` are of the runs, ``negative`` is how the truth is read. Runs are read and judged
    one after the other.
    ``distances`` is a table with a row and a column for each item of ``train``, ascending by id, for metrics with
    ``distance='given'``.

    ``relevant_from``, ``missing`` and ``no_relevant`` are defaults of every metric that does not state its own;
    ``missing="error"`` refuses a run that lacks a user. ``order``, ``ties``, ``precision`` and ``duplicates`` say how
    lists are read, see :class:`~recassay.metrics.align.Conventions`. ``profile`` names a library whose conventions fill
    all that is left open here, so that the numbers are those it would print.

    With ``until`` random users are judged, in ``strata`` by activity if there are several, until every mean is known
    give or take that much. The intervals are then those that hold however often one looks, and the scores are of the
    users that were drawn.

    With ``memory`` (``"2GB"``) run files are judged in pieces, within about that much memory, to the same bits; so are
    ``truth`` and ``train`` read where they are paths. ``items`` are in memory whole.

    With ``engine="spark"``, or where truth and runs are tables of Spark, its tasks judge them: see
    :mod:`recassay.engine.spark`. Values of users then stay in Parquet files, in a folder within ``work`` that all nodes
    see; on one machine a temporary folder will do.

    >>> truth = {"ann": ["x", "y"], "bob": ["z"]}
    >>> scores = score({"mine": {"ann": ["y", "q"], "bob": ["q", "z"]}}, truth, "hit@1 recall@2", interval=None)
    >>> scores.values("mine", "recall@2").tolist(), scores.row("mine", "hit@1").mean
    ([0.5, 1.0], 0.5)
    """
    if threads is not None and threads < 1:
        raise UsageError("U102", f"there are no {threads} threads", hint="1 or more, or None for all processors")
    like = find_profile(profile) if profile else None
    choices = {"order": order, "ties": ties, "precision": precision, "duplicates": duplicates, "missing": missing}
    conventions = _conventions(choices, like)
    defaults: dict[str, Value] = {"relevant_from": float(relevant_from)}
    defaults |= {"missing": missing} if missing not in (None, "error") else {}
    defaults |= {"no_relevant": no_relevant} if no_relevant is not None else {}
    named = like.translate(metrics, defaults) if like else parse_metrics(metrics, defaults)
    excludes = like.excludes if like else ()
    keep = (
        conventions.reads_scores
        or any(metric.uses_scores for metric in named.values())
        or any(one.when == "scores of 0 or less" for one in excludes)
    )
    uncertainty = Uncertainty(interval, level, resamples, seed)
    features = None if items is None else beside(lambda names: read_items(items, columns=names), columns)
    engine = engine or ("spark" if on_spark(truth, runs) else "local")
    check_word("engine", engine, ENGINES)
    if engine == "spark":
        if until is not None or memory is not None:
            raise UsageError("U107", "Spark judges everyone, in the memory it has", hint="leave out until and memory")
        job = Job(Truth.of_nobody(), named, conventions, Context(None, features), excludes, threads, progress)
        tables = Tables(truth, runs, train, distances, columns, truth_columns, nan, negative, keep)
        return score_tables(job, tables, uncertainty, profile, work=work)
    if memory is not None:
        if until is not None:
            raise UsageError("U107", "a budget of memory is for judging everyone", hint="leave out until, or memory")
        job = Job(Truth.of_nobody(), named, conventions, Context(None, features), excludes, threads, progress)
        reading = Reading(bytes_of(memory), columns, truth_columns, format, nan, negative, keep)
        return score_files(job, Files(runs, truth, train, distances), reading, uncertainty, profile)
    answers = beside(lambda names: read_truth(truth, columns=names, negative=negative), columns, truth_columns)
    log = None if train is None else beside(lambda names: read_training(train, columns=names), columns)
    table = None if distances is None or log is None else given_distances(distances, log.n_items)
    job = Job(answers, named, conventions, Context(log, features, table), excludes, threads, progress)
    job = job.settled(facts_for(named.values(), answers))
    by = "row" if conventions.order == "row" else None
    asked_for = each_run(
        runs, columns=columns, format=format, nan=nan, keep_scores=keep, keep_rows=conventions.reads_rows, order=by
    )
    if until is not None:
        return score_until(job, dict(_by_name(asked_for)), Until(until, strata, level, seed), profile)
    judged = {name: job.judge(run) for name, run in _by_name(asked_for)}
    return assemble(job, judged, uncertainty, profile)


def _by_name(runs: Iterable[Run]) -> Iterator[tuple[str, Run]]:
    seen = set()
    for run in runs:
        if run.name in seen:
            raise UsageError("U109", f"two runs have the name '{run.name}'", hint="give them as a dict of name to run")
        seen.add(run.name)
        yield run.name, run


def _conventions(choices: Mapping[str, str | None], like: Profile | None) -> Conventions:
    """Conventions as stated, then those of the profile, then ours."""
    stated = {name: choice for name, choice in choices.items() if choice is not None}
    if stated.get("missing") in ("zero", "skip"):
        stated["missing"] = "allow"
    merged = {**(like.conventions if like else {}), **stated}
    for name, kind in get_type_hints(Conventions).items():
        known = ("zero", "skip", "error") if name == "missing" else get_args(kind)
        if merged.get(name, known[0]) not in (*known, "allow"):
            hint = suggest(merged[name], known)
            raise UsageError("U107", f"{name}={merged[name]!r} is not known", where=f"--{name}", hint=hint)
    return Conventions(**merged)  # type: ignore[arg-type]
