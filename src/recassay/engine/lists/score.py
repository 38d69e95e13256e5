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
from recassay.engine.finish import assemble
from recassay.engine.lists.groups import ItemGroups, user_groups
from recassay.engine.lists.job import Job
from recassay.engine.lists.score_joins import TRUTH
from recassay.engine.lists.until import Until, score_until
from recassay.engine.options import ConventionOptions, Execution, GroupOptions, ReadOptions
from recassay.errors import UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.grammar import Value
from recassay.profiles import PROFILES
from recassay.results.scores import POPULATION, UNIT, DeferredSettings, Scores
from recassay.stats.intervals import Uncertainty
from recassay.threads import first_ahead

NO_GROUPS, AS_NAMED = GroupOptions(), ReadOptions()
MOST_AHEAD = 1 << 29  # bytes of a truth and a run that are read at the same time; it needs the memory of both
MOST_DEFERRED = 20_000_000  # judged items of a truth that scores may keep until its fingerprint is computed


@dataclass(frozen=True, eq=False)
class ScoreInputs:
    """The tables that a call of ``score`` gets, not read yet: in memory, as paths, or as tables of a cluster."""

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
    Means are also reported for groups of users, by the columns ``by``, and of items, by the columns ``by_item``;
    ``groups`` says how. ``until`` is the precision at which a sample of users is large enough (None: all users).
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
    library = PROFILES.find(profile) if profile else None
    stated = {name: value for name, value in asdict(conventions).items() if value is not None}
    defaults: dict[str, Value] = {"relevant_from": float(relevant_from)}
    defaults |= {name: stated.pop(name) for name in ("missing", "no_relevant") if name in stated}
    if defaults.get("missing") == "error":
        stated["missing"] = defaults.pop("missing")
    elif "missing" in defaults:
        stated["missing"] = "allow"  # the metrics themselves count the user as 0, or leave the user out
    named = library.translate(metrics, defaults) if library else parse_metrics(metrics, defaults)
    return Job(
        named,
        Conventions(**{**(library.conventions if library else {}), **stated, "users": users}),
        Context(None, None if inputs.items is None else reading.read("items", read_items, inputs.items)),
        library.excludes if library else (),
        execution.threads,
        execution.progress,
    )


def score_in_memory(request: ScoreRequest) -> Scores:
    """Return the scores for a request whose truth and training log fit into memory.

    Runs are read one after another. If the first run and the truth are files of moderate size, both are read at the
    same time, because each read has steps that use only one processor.
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
        truth, distances = reading.read("truth", read_truth, inputs.truth, negative=reading.negative), None
        log = None if inputs.train is None else reading.read("train", read_training, inputs.train)
        about: dict[str, Any] = {}  # the settings that the tables add
        if inputs.distances is not None and log is not None:
            distances = validated_distances(inputs.distances, log.n_items)
        if log is not None and conventions.users == "known":
            truth, about[POPULATION] = of_known_users(truth, log)
        if truth.unit != "user":
            about[UNIT] = truth.unit
        context = replace(request.job.context, train=log, distances=distances)
        job = replace(request.job, context=context, first_hits_from=request.first_hits_from)
        job = job.resolved(truth_statistics_for(job.metrics.values(), truth))
        if request.until is not None:
            named = dict(_unique_names(runs))
            scores = score_until(job, truth, named, request.until, request.uncertainty, request.profile)
            return replace(scores, settings={**scores.settings, **about})
        judged, groups = {}, [ItemGroups.of(job, truth, _item_memberships(request, by)) for by in request.by_item]
        for name, run in _unique_names(runs):
            judged[name] = job.judge(run, truth)
            for one in groups:
                one.judge(name, run)
    scores = assemble(job, judged, truth.queries, request.uncertainty, request.profile)
    # The fingerprint of the truth takes a tenth of the time of scoring dicts, and only scores that are stored or joined
    # need it. Until it is computed, the scores keep the truth in memory, so it is deferred for small truths only.
    settings: Mapping[str, Any] = {**scores.settings, **about}
    if truth.items.size > MOST_DEFERRED:
        settings = {**settings, TRUTH: truth.about}
    else:
        settings = DeferredSettings(settings, TRUTH, lambda: truth.about)
    scores = replace(scores, settings=settings)
    means = tuple(one.scores(scores, request.uncertainty, request.groups) for one in groups)
    return replace(scores, groups=means)


def with_user_groups(scores: Scores, request: ScoreRequest) -> Scores:
    """Return the scores with the means of the groups of users that a request asks for."""
    metrics, threads = request.job.unit_metrics, request.execution.threads
    memberships = (user_memberships(request.inputs, request.reading, by) for by in request.by)
    groups = (user_groups(scores, one, metrics, request.uncertainty, request.groups, threads) for one in memberships)
    return replace(scores, groups=(*groups, *scores.groups))


def _item_memberships(request: ScoreRequest, by: str) -> Memberships:
    """Return the groups of items by the column ``by`` of the table of items; raise U105 without such a table."""
    if request.inputs.items is None:
        raise UsageError("U105", f"groups by '{by}' need the table of items", hint="give it with --items FILE")
    return request.reading.read("items", read_memberships, request.inputs.items, by, "items")


def user_memberships(inputs: ScoreInputs, reading: ReadOptions, by: str) -> Memberships:
    """Return the groups of users by the column ``by`` of the table of users, the truth or the training log.

    The truth and the training log are used only if they have the column. Raise U105 if no table has it.
    """
    if inputs.users is not None:
        return reading.read("users", read_memberships, inputs.users, by, "users")
    source = next((table for table in (inputs.truth, inputs.train) if has_column(table, by, "users")), None)
    if source is None:
        what = f"groups by '{by}' need a table of users with this column"
        raise UsageError("U105", what, hint="give it with --users FILE; it has a row per user")
    return read_with_shared_names(lambda names: read_memberships(source, by, "users", columns=names), reading.columns)


def _unique_names(runs: Iterable[Run]) -> Iterator[tuple[str, Run]]:
    """Yield runs with their names; raise U109 where two runs have the same name."""
    seen = set()
    for run in runs:
        if run.name in seen:
            raise UsageError("U109", f"two runs have the name '{run.name}'", hint="give them as a dict of name to run")
        seen.add(run.name)
        yield run.name, run
