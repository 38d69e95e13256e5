"""``score``: evaluates ranked lists against a truth, on the back end that fits the inputs."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from recassay.backends.base import engine_of
from recassay.data.read import Columns, RunSource, TableSource
from recassay.engine.lists.score import ScoreInputs, ScoreRequest, score_in_memory, score_job, with_user_groups
from recassay.engine.lists.until import Until
from recassay.engine.options import (
    ConventionOptions,
    Execution,
    GroupOptions,
    ReadOptions,
    population_or_table,
)
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.scores import Scores
from recassay.stats.intervals import Uncertainty


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
    groups: GroupOptions | None = None,
    columns: Columns | ReadOptions = None,
    profile: str | None = None,
    relevant_from: float = 1.0,
    conventions: ConventionOptions | None = None,
    interval: choices.IntervalMethod | Uncertainty | None = "bootstrap",
    within: float | Until | None = None,
    first_hits: bool = False,
    execution: Execution | None = None,
) -> Scores:
    """Return the scores of runs against a truth: values per user, means with intervals and counts, and findings.

    ``runs``, ``truth``, ``train`` and ``items`` are objects of this library or anything that its readers accept: paths,
    data frames, dicts. Runs are read and scored one after another. A fold as ``truth`` gives its test part, and its
    training part and items where none are given; ratings of a test part are gains. ``columns`` names columns of the
    runs, and of the other tables where they have them. :class:`~recassay.options.ReadOptions` names those of each
    table, and says how files are read. ``distances`` is a matrix with a row and a column for each item of ``train``,
    ascending by id, for metrics with ``distance='given'``.

    ``users="known"`` scores only the users of the truth that have a training event; ``"all"`` scores everybody. Any
    other value is a table of users, see ``by``. ``scores.settings["population"]`` then has the numbers of both.

    An item is relevant from the gain ``relevant_from`` on, for every metric that does not state its own.
    ``conventions`` say how lists are interpreted (:class:`~recassay.options.ConventionOptions`: ties, repeated items,
    users without a list). ``profile`` names a library. Its conventions replace the defaults, so that the numbers are
    those that this library would print.

    ``interval`` is the method of the intervals of means, None for no intervals, or an
    :class:`~recassay.options.Uncertainty` with method, level, resamples and seed.

    With ``within`` users are drawn at random until every mean is accurate to ± ``within``;
    :class:`~recassay.options.Until` draws them in groups by activity. The intervals are valid although drawing stops
    when they are narrow, and the scores are those of the users drawn.

    ``execution`` says where and how work is done (:class:`~recassay.options.Execution`). With ``memory="2GB"`` run
    files are scored in chunks, within about that much memory, and give the same bits. ``truth`` and ``train`` are read
    in chunks too where they are paths; ``items`` are in memory whole. With ``engine="spark"``, or where truth or runs
    are Spark tables, Spark tasks do the work (see :mod:`recassay.backends.spark`).

    ``by`` names columns of ``users``, a table with a row per user: ``scores.groups`` then has the means of each group
    of users, and the gap between the best and the worst one with its test. Without ``users`` the truth or the training
    log may have the column. ``by_item`` names columns of ``items``: metrics of relevance are then also computed for the
    relevant items of each group alone. ``groups`` says which groups are too small to report, and how tests are
    corrected (:class:`~recassay.options.GroupOptions`).

    With ``first_hits`` the scores keep the rank of every user's first relevant item, so that
    :func:`~recassay.sudden_death` can be called on them.

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
    execution = execution or Execution()
    population, users = population_or_table(users)
    uncertainty = interval if isinstance(interval, Uncertainty) else Uncertainty(interval)
    inputs = ScoreInputs(runs, truth, train, items, distances, users)
    reading = columns if isinstance(columns, ReadOptions) else ReadOptions(columns)
    job = score_job(
        inputs,
        metrics,
        conventions=conventions or ConventionOptions(),
        execution=execution,
        profile=profile,
        relevant_from=relevant_from,
        users=population,
        reading=reading,
    )
    until = Until(within) if isinstance(within, float | int) else within
    kept = first_hits and until is None and job.conventions.ties != "expected"  # an expected rank is no place
    request = ScoreRequest(
        inputs,
        job,
        reading,
        uncertainty,
        execution,
        profile,
        until,
        float(relevant_from) if kept else None,
        several(by),
        several(by_item),
        groups or GroupOptions(),
    )
    engine_name = engine_of(truth, runs, execution=execution)
    if request.by or request.by_item:
        _refuse_groups(request, engine_name)
    if engine_name == "local":
        scores = score_in_memory(request)
    elif engine_name == "out of core":
        from recassay.backends.out_of_core import score_files  # late: few calls need it

        scores = score_files(request)
    else:
        from recassay.backends.spark.score import score_tables  # late: who has no Spark tables needs none of it

        scores = score_tables(request)
    return with_user_groups(scores, request) if request.by else scores


def several(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one text, several, or none as a tuple."""
    return (texts,) if isinstance(texts, str) else tuple(texts or ())


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
    if where and request.by_item:
        raise UsageError(
            "U215",
            f"groups of items are not computed {where}: all lists are scored once for each group, from memory",
            hint="score in memory, or leave them out; groups of users work there",
        )
