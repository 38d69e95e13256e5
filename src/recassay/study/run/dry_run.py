"""The dry run of a study on a small part of a fold, so that mistakes show in seconds and not after hours."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

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

USERS, ITEMS = 300, 500  # of a dry run; where many items tie, a design takes time quadratic in them
JUDGED, FEW_JUDGED = 50, 20  # users who get lists: in the first dry run of a study, and on its other data and splits


def dry_run(
    plan: Plan,
    systems: Iterable[System],
    cell: StudyCell,
    split: Split,
    fold: Fold,
    *,
    judged: int = JUDGED,
    threads: int | None = None,
) -> None:
    """Fit systems on a small part of a fold, and score them under every design and metric; raise the first error.

    The error names its place in the study file. ``cell`` has the seed, and ``judged`` is the number of users who get
    lists, or all users of the part if nothing is relevant to these.
    """
    part = small_fold(fold)
    some = replace(part, test=part.test.take(part.test.users <= np.unique(part.test.users)[:judged].max(initial=0)))
    task = ranking_task(some, plan.protocol)
    if task.relevant.places.size == 0:
        some, task = part, ranking_task(part, plan.protocol)
    if task.relevant.places.size == 0:
        raise UsageError(
            "U135",
            f"no test rating of the {task.users.size:,} users of the dry run is relevant",
            where=f"{plan.protocol}, {fold.how.get('split')}",
            hint="lower relevant_from, or look at the ratings: recassay stats LOG",
        )
    runs = {system.name: _run_small(plan, system.at(cell), part, task, threads) for system in systems}
    found, _ = judge_fold(plan, split, some, runs, dry_run=True, short="all", threads=threads)
    for scored in found.values():
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


def small_fold(fold: Fold, users: int = USERS, items: int = ITEMS) -> Fold:
    """Return the fold reduced to its first test users and their most frequent items, with new codes.

    Users without training events among these items are left out. A fold with fewer users and items stays the same.
    """
    test_users = np.unique(fold.test.users)
    if test_users.size <= users and fold.train.n_items <= items:
        return fold
    chosen = np.isin(np.arange(fold.train.n_users), test_users[:users])
    parts = [part for part in (fold.train, fold.validation, fold.test) if part is not None]
    counts = sum(np.bincount(part.items[chosen[part.users]], minlength=part.n_items) for part in parts)
    frequent = np.zeros(fold.train.n_items, np.bool_)
    frequent[np.argsort(-counts, kind="stable")[:items]] = True
    rows = [chosen[part.users] & frequent[part.items] for part in parts]
    trained = np.isin(np.arange(fold.train.n_users), fold.train.users[rows[0]])
    if trained[fold.test.users[rows[-1]]].any():  # else the users have no item in common, and all items are few
        chosen &= trained
        rows = [mask & chosen[part.users] for part, mask in zip(parts, rows, strict=True)]
    else:
        rows = [chosen[part.users] for part in parts]
    whole = functools.reduce(Interactions.concat, [part.take(mask) for part, mask in zip(parts, rows, strict=True)])
    ends = np.cumsum([mask.sum() for mask in rows]).tolist()
    whole = whole.compact()
    chunks = [whole.take(np.arange(begin, end)) for begin, end in zip([0, *ends], ends, strict=False)]
    return replace(
        fold,
        train=chunks[0],
        test=chunks[-1],
        validation=None if fold.validation is None else chunks[1],
        profile=None if fold.profile is None else fold.profile[rows[0]],
    )
