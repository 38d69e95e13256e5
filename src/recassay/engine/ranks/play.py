"""Playing a model on a fold: fit it, query it as the protocol says, and keep the ranks of relevant items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from recassay.data.fold import Fold, Queries
from recassay.data.interactions import Interactions
from recassay.data.nouns import wrong_noun
from recassay.data.run import Run
from recassay.engine.driver import drive
from recassay.engine.options import Execution
from recassay.engine.ranks.standings import compute_standings, standings_of_lists
from recassay.engine.ranks.task import RankingTask
from recassay.models.base.capabilities import UsesLog, fitted_on_fold, gives_scores
from recassay.models.base.model import recommend
from recassay.naming.system_names import system_name
from recassay.protocols.base import UserProtocol
from recassay.threads import Progress


@dataclass(frozen=True, eq=False)
class RunSource:
    """The fitted system behind a run and its ranking task, which allow scoring candidates again.

    Evaluation on sampled candidates needs them.
    """

    task: RankingTask
    fitted: Any


@dataclass(frozen=True, eq=False)
class PlayRequest:
    """The arguments of a call of ``play``, for protocols with one query per user."""

    model: Any
    fold: Any
    protocol: UserProtocol
    name: str | None
    execution: Execution


def play_fold(request: PlayRequest) -> Run:
    """Return the top lists and the ranks of relevant items of a model on a fold; an unfitted model is fitted first."""
    model, protocol, execution = request.model, request.protocol, request.execution
    if not isinstance(request.fold, Fold):
        raise wrong_noun(request.fold, "fold")
    name = request.name or (model.name if isinstance(model, Run) else system_name(model))
    fitted = fitted_on_fold(model, request.fold)
    task = ranking_task(request.fold, protocol)
    return play_fitted(fitted, task, name, k=protocol.k, threads=execution.threads, progress=execution.progress)


def ranking_task(fold: Fold, protocol: UserProtocol) -> RankingTask:
    """Return the task of systems under a protocol on a fold: the users to query, and the items to rank.

    All systems can share it.
    """
    make = partial(
        RankingTask.of,
        protocol.target_fold(fold),
        relevant_from=protocol.relevant_from,
        bins=(protocol.bins,) if protocol.bins else (),
        revealed=protocol.revealed(fold),
        popularity=protocol.popularity,
        equal_mass=protocol.equal_mass,
        bins_from=protocol.bins_from,
    )
    steps = tuple(protocol.steps(fold))
    task = replace(make(mask_seen=protocol.keep_seen is not True), steps=steps)
    if protocol.keep_seen != "unsampled":
        return task
    return replace(task, seen_too=replace(make(mask_seen=False), steps=steps))


@dataclass(eq=False)
class FoldSystem:
    """A fitted system that plays the steps of a protocol on a fold: it answers queries by a run of top ``k`` lists.

    The run also has standings, the ranks of relevant items. ``task`` has the users to query and the items to rank.
    """

    fitted: Any
    task: RankingTask
    name: str
    k: int
    threads: int | None = None
    progress: Progress | None = None

    def learn(self, events: Interactions) -> None:
        """Let a model of sequences, or a re-ranker of one, read the events in histories; other models do not change."""
        if isinstance(self.fitted, UsesLog):
            self.fitted = self.fitted.with_log(self.task.past)

    def answer(self, queries: Queries) -> Run:
        """Return the lists of the queries, and the ranks of relevant items: from scores where the system gives them."""
        fitted, task, name, threads = self.fitted, self.task, self.name, self.threads
        if isinstance(fitted, Run):
            run = replace(fitted, name=name)
            return replace(run, standings=standings_of_lists(task, run, threads=threads))
        source = RunSource(task, fitted)
        if gives_scores(fitted):
            standings, listed = compute_standings(task, fitted, name, k=self.k, threads=threads, progress=self.progress)
            assert listed is not None  # k is at least 1
            return replace(listed, standings=standings, source=source)
        run = recommend(fitted, queries.ids, self.k, name)
        return replace(run, standings=standings_of_lists(task, run, threads=threads), source=source)


def play_fitted(
    fitted: Any,
    task: RankingTask,
    name: str,
    *,
    k: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Return the top ``k`` lists and the ranks of relevant items of a fitted system, as a run called ``name``.

    ``fitted`` can also be a run. ``task`` has the users to query and the items to rank.
    """
    if task.seen_too is not None:
        unseen = play_fitted(fitted, replace(task, seen_too=None), name, k=1, threads=threads)
        run = play_fitted(fitted, task.seen_too, name, k=k, threads=threads, progress=progress)
        assert unseen.standings is not None
        assert run.standings is not None
        return replace(run, standings=unseen.standings.with_seen(run.standings), source=unseen.source)
    (played,) = drive(FoldSystem(fitted, task, name, k, threads, progress), task.steps)
    answer: Run = played
    return answer
