"""The dry run of a study on a small part of a fold, so that mistakes show in seconds and not after hours."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.errors import RecassayError, UsageError
from recassay.evaluate.ranks.play import play_fitted, ranking_task
from recassay.evaluate.ranks.task import RankingTask
from recassay.models.base.capabilities import fitted_on_fold
from recassay.split.base import Split
from recassay.study.plan.plan import Plan
from recassay.study.plan.run_files import RunFile
from recassay.study.plan.systems import System
from recassay.study.run.judging import compare_systems, judge_fold
from recassay.study.store.folder import StudyCell

USERS = 300  # test users of the first dry run of a study
FEW_USERS = 100  # and of those on its other data sets and splits


def dry_run(
    plan: Plan,
    systems: Iterable[System],
    cell: StudyCell,
    split: Split,
    fold: Fold,
    *,
    users: int = USERS,
    threads: int | None = None,
) -> None:
    """Fit systems on a small part of a fold, and score them under every design and metric; raise the first error.

    The error names its place in the study file. ``cell`` has the seed, and ``users`` is the number of test users to
    keep.
    """
    part = small_fold(fold, users)
    task = ranking_task(part, plan.protocol)
    if task.relevant.places.size == 0:
        raise UsageError(
            "U135",
            f"no test rating of the {task.users.size:,} users of the dry run is relevant",
            where=f"{plan.protocol}, {fold.how.get('split')}",
            hint="lower relevant_from, or look at the ratings: recassay stats LOG",
        )
    runs = {system.name: _run_small(plan, system.at(cell), part, task, threads) for system in systems}
    judged, _ = judge_fold(plan, split, part, runs, dry_run=True, short="all", threads=threads)
    for scored in judged.values():
        compare_systems(plan, scored.scores, threads=threads)


def _run_small(plan: Plan, system: System, part: Fold, task: RankingTask, threads: int | None) -> Run:
    try:
        model = system.model.read(system.name) if isinstance(system.model, RunFile) else system.model
        fitted = fitted_on_fold(model, part, max_epochs=1)
        return play_fitted(fitted, task, system.name, k=plan.protocol.k, threads=threads)
    except RecassayError as error:
        raise plan.document.locate(system.key, error) from error
    except Exception as error:
        raise UsageError(
            "U135",
            f"{system.name} failed on {len(part.train):,} events: {type(error).__name__}: {error}",
            where=plan.document.where(system.key),
            hint="the traceback above shows where; fix the model, or remove it",
        ) from error


def small_fold(fold: Fold, users: int = USERS) -> Fold:
    """Return the fold reduced to its first test users, with new codes; one with fewer users stays the same."""
    test_users = np.unique(fold.test.users)
    if test_users.size <= users:
        return fold
    kept = np.zeros(fold.train.n_users, np.bool_)
    kept[test_users[:users]] = True
    parts = [part.take(kept[part.users]) for part in (fold.train, fold.validation, fold.test) if part is not None]
    whole = functools.reduce(Interactions.concat, parts).compact()
    ends = np.cumsum([len(part) for part in parts]).tolist()
    chunks = [whole.take(np.arange(begin, end)) for begin, end in zip([0, *ends], ends, strict=False)]
    return dataclasses.replace(
        fold,
        train=chunks[0],
        test=chunks[-1],
        validation=None if fold.validation is None else chunks[1],
        profile=None if fold.profile is None else fold.profile[kept[fold.train.users]],
    )
