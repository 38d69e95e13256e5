"""The small part of a fold on which a study of ranked lists is tried first."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.engine.ranks.task import RankingTask
from recassay.errors import UsageError
from recassay.models.base.capabilities import fitted_on_fold
from recassay.protocols.base import UserProtocol
from recassay.split.base import Split
from recassay.study.plan.plan import Plan
from recassay.study.plan.run_files import RunFile
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import Rehearsal
from recassay.study.run.judging import compare_systems, judge_fold
from recassay.study.store.folder import StudyCell

USERS, ITEMS = 300, 500  # of a dry run; where many items tie, a design takes time quadratic in them
JUDGED, FEW_JUDGED = 50, 20  # users who get lists: in the first dry run of a study, and on its other data and splits


def rehearsal_of_lists(plan: Plan, cell: StudyCell, split: Split, fold: Fold, *, threads: int | None) -> Rehearsal[Run]:
    """Return functions, not yet called, that fit systems and score their lists on a small part of a fold."""
    first = next(iter(plan.data))
    is_first = (cell.dataset, cell.split) == (first, str(plan.splits_of(first)[0]))
    part = small_fold(fold)
    some, task = _judged_part(part, plan.protocol, JUDGED if is_first else FEW_JUDGED)

    def answer(system: System) -> Run:
        model = system.at(cell).model
        read = model.read(system.name) if isinstance(model, RunFile) else model
        return play_fitted(
            fitted_on_fold(read, part, max_epochs=1), task, system.name, k=plan.protocol.k, threads=threads
        )

    def judge(runs: dict[str, Run]) -> None:
        found, _ = judge_fold(plan, split, some, runs, dry_run=True, short="all", threads=threads)
        for scored in found.values():
            compare_systems(plan, scored.scores, threads=threads)

    return Rehearsal(f"{len(part.train):,} events", answer, judge)


def _judged_part(part: Fold, protocol: UserProtocol, judged: int) -> tuple[Fold, RankingTask]:
    """Return a small fold with the test events of its first ``judged`` users, and its ranking task.

    All test events are kept if nothing is relevant to these users. Raise U135 if nothing is relevant to any user.
    """
    some = replace(part, test=part.test.take(part.test.users <= np.unique(part.test.users)[:judged].max(initial=0)))
    for fold in (some, part):
        task = ranking_task(fold, protocol)
        if task.relevant.places.size:
            return fold, task
    raise UsageError(
        "U135",
        f"no test rating of the {task.users.size:,} users of the dry run is relevant",
        where=f"{protocol}, {part.how.get('split')}",
        hint="lower relevant_from, or look at the ratings: recassay stats LOG",
    )


def small_fold(fold: Fold, users: int = USERS, items: int = ITEMS) -> Fold:
    """Return the fold reduced to its first test users and their most frequent items, with new codes.

    Users with training events come first, and users without any among these items are left out. If no test user has
    any, other users' training events are kept. A fold with fewer users and items stays the same.
    """
    test_users = np.unique(fold.test.users)
    if test_users.size <= users and fold.train.n_items <= items:
        return fold
    train_users = np.unique(fold.train.users)
    known = np.isin(test_users, train_users)
    first = test_users[np.argsort(~known, kind="stable")[:users]]
    chosen = np.isin(np.arange(fold.train.n_users), first if known.any() else [*first, *train_users[:users]])
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
