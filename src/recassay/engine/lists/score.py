"""Scoring of ranked lists: the checked arguments of ``score``, and the scores where everything fits into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

from recassay.columnar.numbering import sharing_orders
from recassay.data.features import validated_distances
from recassay.data.fold import Fold, of_known_users
from recassay.data.memberships import Memberships
from recassay.data.read import (
    each_run,
    has_column,
    read_items,
    read_memberships,
    read_training,
    read_truth,
    read_with_shared_names,
    total_size,
)
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.finish import assemble
from recassay.engine.lists.groups import ItemGroups, user_groups
from recassay.engine.lists.job import Job
from recassay.engine.lists.score_joins import TRUTH
from recassay.engine.lists.until import Until, score_until
from recassay.engine.options import ConventionOptions, Execution, GroupOptions, ReadOptions
from recassay.errors import UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import Metric, truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.grammar import Value
from recassay.profiles import Profile
from recassay.profiles import find as find_profile
from recassay.results.scores import POPULATION, DeferredSettings, Scores
from recassay.stats.intervals import Uncertainty
from recassay.threads import first_ahead

NO_GROUPS, AS_NAMED = GroupOptions(), ReadOptions()
MOST_AHEAD = 1 << 29  # bytes of a truth and a run that are read at the same time; it needs the memory of both
MOST_DEFERRED = 20_000_000  # judged items of a truth that scores may keep until its fingerprint is computed


@dataclass(frozen=True, eq=False)
class ScoreInputs:
    """The tables of a call of ``score``, as they were given: in memory, as paths, or as tables of a cluster."""

    runs: Any
    truth: Any
    train: Any = None
    items: Any = None
    distances: Any = None
    users: Any = None

    def __post_init__(self) -> None:
        """If the truth is a fold, replace it by its test part; use its training part and items if none are given."""
        for name, part in (("train", "train"), ("items", "items"), ("truth", "test")):
            fold = self.truth if getattr(self, name) is None else getattr(self, name)
            if isinstance(fold, Fold):
                object.__setattr__(self, name, getattr(fold, part))


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """The checked arguments of a call of ``score``: options are parsed, but only the item features have been read.

    ``job`` has the metrics, the conventions and the item features; a back end adds the training log. On this machine,
    the rank of each user's first item with at least the gain ``first_hits_from`` is kept, unless that is None.
    """

    inputs: ScoreInputs
    job: Job
    reading: ReadOptions
    uncertainty: Uncertainty
    execution: Execution
    profile: str | None = None
    until: Until | None = None
    first_hits_from: float | None = None
    by: Sequence[str] = ()
    by_item: Sequence[str] = ()
    groups: GroupOptions = NO_GROUPS

    @property
    def keeps_scores(self) -> bool:
        """Return whether the scores in run files are still needed once the lists have been ordered."""
        return (
            self.job.conventions.reads_scores
            or any(metric.uses_scores for metric in self.job.metrics.values())
            or any(excluded.when == "scores of 0 or less" for excluded in self.job.excludes)
        )


def score_job(
    inputs: ScoreInputs,
    metrics: Metrics,
    *,
    conventions: ConventionOptions,
    execution: Execution,
    profile: str | None = None,
    relevant_from: float = 1.0,
    users: choices.Population = "all",
    reading: ReadOptions = AS_NAMED,
) -> Job:
    """Return the job of a call of ``score``: parse metrics, settle conventions, read the features of items."""
    if users == "known" and inputs.train is None:
        raise UsageError(
            "U105",
            "users='known' are the users with training events, and there is no training log",
            hint="give it with --train LOG",
        )
    library = find_profile(profile) if profile else None
    named = _metrics(metrics, relevant_from, conventions, library)
    items = None
    if inputs.items is not None:
        items = read_with_shared_names(
            lambda names: read_items(inputs.items, columns=names), reading.columns, reading.items_columns,
            option="--items-columns",
        )  # fmt: skip
    return Job(
        named,
        replace(_conventions(conventions, library), users=users),
        Context(None, items),
        library.excludes if library else (),
        execution.threads,
        execution.progress,
    )


def score_in_memory(request: ScoreRequest) -> Scores:
    """Return the scores for a request whose truth and training log fit into memory.

    Runs are read one after another; the first of them meanwhile the truth is read, if both are files of moderate size:
    each has steps that keep one processor busy.
    """
    inputs, reading, conventions = request.inputs, request.reading, request.job.conventions
    runs = each_run(
        inputs.runs,
        reading.run_columns,
        columns=reading.columns,
        format=reading.format,
        nan=reading.nan,
        keep_scores=request.keeps_scores,
        keep_rows=conventions.reads_rows,
        order="row" if conventions.order == "row" else None,
    )
    together = total_size(inputs.truth, inputs.runs)
    ahead = together is not None and together <= MOST_AHEAD
    with sharing_orders(), first_ahead(runs) if ahead else nullcontext(runs) as runs:
        return _scored(request, _unique_names(runs))


def _scored(request: ScoreRequest, runs: Iterator[tuple[str, Run]]) -> Scores:
    inputs, reading = request.inputs, request.reading
    truth = read_with_shared_names(
        lambda names: read_truth(inputs.truth, columns=names, negative=reading.negative),
        reading.columns,
        reading.truth_columns,
    )
    log = distances = None
    population: dict[str, Any] = {}
    if inputs.train is not None:
        log = read_with_shared_names(
            lambda names: read_training(inputs.train, columns=names), reading.columns, reading.train_columns,
            option="--train-columns",
        )  # fmt: skip
    if inputs.distances is not None and log is not None:
        distances = validated_distances(inputs.distances, log.n_items)
    if log is not None and request.job.conventions.users == "known":
        truth, population[POPULATION] = of_known_users(truth, log)
    context = replace(request.job.context, train=log, distances=distances)
    job = replace(request.job, context=context, first_hits_from=request.first_hits_from)
    job = job.resolved(truth_statistics_for(job.metrics.values(), truth))
    if request.until is not None:
        scores = score_until(job, truth, dict(runs), request.until, request.uncertainty, request.profile)
        return replace(scores, settings={**scores.settings, **population})
    of_items, judged = item_groups(request, job, truth), {}
    for name, run in runs:
        judged[name] = job.judge(run, truth)
        for groups in of_items:
            groups.judge(name, run)
    scores = assemble(job, judged, truth.queries, request.uncertainty, request.profile)
    scores = replace(scores, settings=_with_truth({**scores.settings, **population}, truth))
    of_item_groups = [groups.scores(scores, request.uncertainty, request.groups) for groups in of_items]
    return replace(scores, groups=tuple(of_item_groups))


def _with_truth(settings: Mapping[str, Any], truth: Truth) -> Mapping[str, Any]:
    """Return settings that also identify the truth.

    The fingerprint takes a tenth of the time of scoring dicts, and only scores that are stored or joined need it. Until
    it is computed, the scores keep the truth in memory, so it is deferred for small truths only.
    """
    if truth.items.size > MOST_DEFERRED:
        return {**settings, TRUTH: truth.about}
    return DeferredSettings(settings, TRUTH, lambda: truth.about)


def item_groups(request: ScoreRequest, job: Job, truth: Truth) -> list[ItemGroups]:
    """Return the groups of items that a request asks for, ready to judge runs; an empty list if it asks for none.

    Raise U105 if the request has no table of items to group by.
    """
    items = request.inputs.items
    if request.by_item and items is None:
        what = f"groups by '{request.by_item[0]}' need the table of items"
        raise UsageError("U105", what, hint="give it with --items FILE")
    return [ItemGroups.of(job, truth, _item_memberships(request, by)) for by in request.by_item]


def with_user_groups(scores: Scores, request: ScoreRequest) -> Scores:
    """Return the scores with the means of the groups of users that a request asks for."""
    metrics, threads = request.job.unit_metrics, request.execution.threads
    groups = []
    for by in request.by:
        memberships = user_memberships(request.inputs, request.reading, by)
        groups.append(user_groups(scores, memberships, metrics, request.uncertainty, request.groups, threads))
    return replace(scores, groups=(*groups, *scores.groups))


def _item_memberships(request: ScoreRequest, by: str) -> Memberships:
    reading, items = request.reading, request.inputs.items
    return read_with_shared_names(
        lambda names: read_memberships(items, by, "items", columns=names), reading.columns, reading.items_columns,
        option="--items-columns",
    )  # fmt: skip


def user_memberships(inputs: ScoreInputs, reading: ReadOptions, by: str) -> Memberships:
    """Return the groups of users that the column ``by`` makes, of the table of users, the truth or the training log."""
    source = _users_with(inputs, by)
    own, option = (reading.users_columns, "--users-columns") if source is inputs.users else (None, "--columns")
    return read_with_shared_names(
        lambda names: read_memberships(source, by, "users", columns=names), reading.columns, own, option=option
    )


def _users_with(inputs: ScoreInputs, by: str) -> Any:
    """Return the table that has the column ``by`` for users: the table of users, else the truth or the training log.

    The truth and the training log are taken only if they have the column. Raise U105 if no table is found.
    """
    if inputs.users is not None:
        return inputs.users
    for source in (inputs.truth, inputs.train):
        if has_column(source, by, "users"):
            return source
    what = f"groups by '{by}' need a table of users with this column"
    raise UsageError("U105", what, hint="give it with --users FILE; it has a row per user")


def _unique_names(runs: Iterable[Run]) -> Iterator[tuple[str, Run]]:
    """Yield runs with their names; raise U109 where two runs have the same name."""
    seen = set()
    for run in runs:
        if run.name in seen:
            raise UsageError("U109", f"two runs have the name '{run.name}'", hint="give them as a dict of name to run")
        seen.add(run.name)
        yield run.name, run


def _metrics(
    metrics: Metrics, relevant_from: float, options: ConventionOptions, profile: Profile | None
) -> dict[str, Metric]:
    """Return the metrics by column heading; ``relevant_from`` and ``options`` are for names that leave them out.

    A ``profile`` translates names to the metrics of its library.
    """
    defaults: dict[str, Value] = {"relevant_from": float(relevant_from)}
    if options.missing not in (None, "error"):
        defaults["missing"] = options.missing
    if options.no_relevant is not None:
        defaults["no_relevant"] = options.no_relevant
    return profile.translate(metrics, defaults) if profile else parse_metrics(metrics, defaults)


def _conventions(options: ConventionOptions, profile: Profile | None) -> Conventions:
    """Return the conventions to use: the given ones, then those of the profile, then the defaults."""
    known = asdict(Conventions())
    stated = {name: value for name, value in asdict(options).items() if name in known and value is not None}
    if stated.get("missing") in ("zero", "skip"):
        stated["missing"] = "allow"  # the metrics themselves count the user as 0, or leave the user out
    return Conventions(**{**(profile.conventions if profile else {}), **stated})
