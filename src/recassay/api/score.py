"""``score``: evaluates ranked lists against a truth, on the back end that fits the inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from recassay.api.choice import engine_of
from recassay.data.read import Columns, RunSource, TableSource
from recassay.engine.lists.score import ScoreInputs, ScoreRequest, score_in_memory, with_user_groups
from recassay.engine.lists.until import Until
from recassay.engine.options import (
    ConventionOptions,
    Execution,
    GroupOptions,
    ReadOptions,
    one_of,
    population_or_table,
)
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.scores import Scores
from recassay.stats.intervals import Uncertainty
from recassay.threads import StageProgress


@checks_types
def score(
    runs: RunSource,
    truth: TableSource,
    metrics: Metrics,
    *,
    train: TableSource = None,
    items: TableSource = None,
    distances: ArrayLike | None = None,
    users: TableSource = None,
    by: str | Sequence[str] | None = None,
    by_item: str | Sequence[str] | None = None,
    smallest_group: int = 10,
    columns: Columns = None,
    truth_columns: Columns = None,
    train_columns: Columns = None,
    users_columns: Columns = None,
    run_columns: Mapping[str, Columns] | None = None,
    format: str | None = None,
    nan: choices.Nan = "error",
    profile: str | None = None,
    relevant_from: float = 1.0,
    missing: choices.Missing | None = None,
    no_relevant: choices.NoRelevant | None = None,
    order: choices.ListOrder | None = None,
    ties: choices.TieOrder | None = None,
    precision: choices.Precision | None = None,
    duplicates: choices.Duplicates | None = None,
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    within: float | None = None,
    strata: int = 1,
    memory: str | int | None = None,
    engine: choices.Engine | None = None,
    work: str | Path | None = None,
    negative: choices.Negative = "error",
    first_hits: bool = False,
    threads: int | None = None,
    progress: StageProgress | None = None,
    reading: ReadOptions | None = None,
    conventions: ConventionOptions | None = None,
    uncertainty: Uncertainty | None = None,
    execution: Execution | None = None,
    groups: GroupOptions | None = None,
) -> Scores:
    """Return the scores of runs against a truth: values per user, means with intervals and counts, and findings.

    ``runs``, ``truth``, ``train`` and ``items`` are objects of this library or anything that its readers accept: paths,
    data frames, dicts. Runs are read and scored one after another. A fold as ``truth`` gives its test part, and its
    training part and items where none are given; ratings of a test part are gains. ``columns`` names columns of the
    runs, and of the other tables where they have them; ``truth_columns`` names those of the truth, ``train_columns``
    those of the training log, ``users_columns`` those of ``users``, and ``run_columns`` those of single runs by name,
    if they differ. ``format`` and ``nan`` apply to the runs; ``negative`` says how negative gains of the truth are
    read. ``distances`` is a matrix with a row and a column for each item of ``train``, ascending by id, for metrics
    with ``distance='given'``.

    ``users="known"`` scores only the users of the truth that have a training event; ``"all"`` scores everybody. Any
    other value is a table of users, see ``by``. ``scores.settings["population"]`` then has the numbers of both.

    ``relevant_from``, ``missing`` and ``no_relevant`` are defaults of every metric that does not state its own;
    ``missing="error"`` refuses a run that lacks a user. ``order``, ``ties``, ``precision`` and ``duplicates`` say how
    lists are interpreted, see :class:`~recassay.metrics.align.Conventions`. ``profile`` names a library. Its
    conventions replace the defaults, so that the numbers are those that this library would print.

    ``interval``, ``level``, ``resamples`` and ``seed`` describe the intervals of the means; ``interval=None`` leaves
    them out.

    With ``within`` users are drawn at random until every mean is accurate to ± ``within``; with several ``strata`` they
    are drawn in groups by activity. The intervals are valid although drawing stops when they are narrow, and the scores
    are those of the users drawn.

    With ``memory`` (``"2GB"``) run files are scored in chunks, within about that much memory, and give the same bits.
    ``truth`` and ``train`` are read in chunks too where they are paths; ``items`` are in memory whole.

    With ``engine="spark"``, or where truth or runs are Spark tables, Spark tasks do the work (see
    :mod:`recassay.backends.spark`). They write the values of users to Parquet files, in a folder within ``work`` that
    all nodes can read and write; on one machine the default, a temporary folder, is enough.

    ``by`` names columns of ``users``, a table with a row per user: ``scores.groups`` then has the means of each group
    of users, and the gap between the best and the worst one with its test. Without ``users`` the truth or the training
    log may have the column. ``by_item`` names columns of ``items``: metrics of relevance are then also computed for the
    relevant items of each group alone. Groups of fewer than ``smallest_group`` users are not reported.

    With ``first_hits`` the scores keep the rank of every user's first relevant item, so that
    :func:`~recassay.sudden_death` can be called on them. Spark does not keep it.

    ``reading``, ``conventions``, ``uncertainty``, ``execution`` and ``groups`` hold these keywords, for callers that
    pass them on. Such a value and a keyword that belongs to it cannot be given together.

    >>> truth = {"ann": ["x", "y"], "bob": ["z"]}
    >>> scores = score({"mine": {"ann": ["y", "q"], "bob": ["q", "z"]}}, truth, "hit@1 recall@2", interval=None)
    >>> scores.values("mine", "recall@2").tolist(), scores.row("mine", "hit@1").mean
    ([0.5, 1.0], 0.5)
    >>> import recassay as ra
    >>> log = ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "z", "x"]})
    >>> fold = ra.split.last()(log)[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
    >>> score(run, fold, "hit@1", interval=None).row("Popular", "hit@1").mean
    1.0
    """
    execution = one_of("execution", execution, Execution(engine, memory, work, threads, progress))
    tables = ReadOptions(columns, truth_columns, format, nan, negative, train_columns, run_columns or {}, users_columns)
    reading = one_of("reading", reading, tables)
    population, users = population_or_table(users)
    stated = ConventionOptions(
        profile, relevant_from, missing, no_relevant, order, ties, precision, duplicates, population
    )
    uncertainty = one_of("uncertainty", uncertainty, Uncertainty(interval, level, resamples, seed))
    request = ScoreRequest.of(
        ScoreInputs(runs, truth, train, items, distances, users),
        metrics,
        reading=reading,
        conventions=one_of("conventions", conventions, stated),
        uncertainty=uncertainty,
        execution=execution,
        until=None if within is None else Until(within, strata, uncertainty.level, uncertainty.seed),
        first_hits=first_hits,
        groups=one_of("groups", groups, GroupOptions(by or (), by_item or (), smallest_group)),
    )
    engine_name = engine_of(truth, runs, execution=execution)
    if request.groups.requested:
        _refuse_groups(request, engine_name)
    if engine_name == "local":
        scores = score_in_memory(request)
    elif engine_name == "out of core":
        from recassay.backends.out_of_core import score_files  # late: few calls need it

        scores = score_files(request)
    else:
        from recassay.backends.spark.score import score_tables  # late: who has no Spark tables needs none of it

        scores = score_tables(request)
    return with_user_groups(scores, request) if request.groups.requested else scores


def _refuse_groups(request: ScoreRequest, engine: str) -> None:
    """Raise U215 for groups with ``within``, a growing sample of users, or groups of items outside of memory."""
    if request.until is not None:
        raise UsageError(
            "U215",
            "groups are not computed for a sample of users that grows until its means are accurate (within): intervals "
            "and tests of groups need a number of users that does not depend on their values",
            hint="score all users, or leave the groups out",
        )
    where = {"spark": "on Spark", "out of core": "with a memory budget"}.get(engine, "")
    if where and request.groups.by_item:
        raise UsageError(
            "U215",
            f"groups of items are not computed {where}: all lists are scored once for each group, from memory",
            hint="score in memory, or leave them out; groups of users work there",
        )
