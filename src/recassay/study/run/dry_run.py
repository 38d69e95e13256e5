"""The dry run of a study: systems and metrics are tried on a small part of its data, so that failures show in seconds.

What fails is left out of the study.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.errors import InputError, RecassayError, UsageError
from recassay.study.plan.systems import System
from recassay.study.store.folder import StudyCell

FAILED, UNTRUSTED, TOO_FEW_CANDIDATES = "U135", "U236", "U120"
USERS, ITEMS = 300, 500  # of a small fold; where many items tie, a design takes time quadratic in them

Errors = dict[str, Exception]  # by system or metric
Run = Any  # a StudyRun of any kind


def dry_run(
    run: Run, logs: Mapping[str, Interactions], names: Collection[str]
) -> list[tuple[StudyCell, str, Exception]]:
    """Try systems and metrics on a small part of the data of a study; return what failed where, and why.

    A metric that failed is dropped from ``run``; the caller must leave out a system on the data where it failed.
    ``names`` are the systems and metrics that are new or changed, or failed in an earlier dry run. Only the systems
    among them are tried: the first system of the study if there is none, and all if a metric is among them. Raise the
    first error if no system works anywhere.
    """
    plan, failed, works = run.plan, list[tuple[StudyCell, str, Exception]](), False
    systems = tuple(system for system in plan.systems if system.name in names) or plan.systems[:1]
    if set(names) - {system.name for system in plan.systems}:
        systems = plan.systems
    places = [(name, log, split) for name, log in logs.items() for split in plan.splits_of(name)]
    for done, (name, log, split) in enumerate(places):
        run.report("dry run on a small part", done, len(places))
        fold = run.folds(name, log, split)[0]
        cell = StudyCell(name, str(split), fold.number, plan.study.seeds[0])
        bad_systems, bad_metrics = _failures(run, systems, cell, run.small(cell, fold))
        failed += [(cell, *one) for one in (bad_systems | bad_metrics).items()]
        run.drop_metrics(bad_metrics)
        works = works or len(bad_systems) < len(plan.systems)
        run.report("dry run on a small part", done + 1, len(places))
    for _, name, error in failed:
        if not works:
            raise error
        run.report(f"{name} failed in the dry run and is left out", 0, 1)
    return failed


def _failures(run: Run, systems: Sequence[System], cell: StudyCell, part: Any) -> tuple[Errors, Errors]:
    """Return ({system: error}, {metric: error}) of what fails on ``part``, a small part of a fold.

    Raise an error about the request or the data of a metric, such as missing item features: it is a mistake in the
    study file.
    """
    judge = run.plan.study.judge.model_copy(update={"short": "all"})  # the part has few candidates
    run = replace(run, plan=replace(run.plan, study=run.plan.study.model_copy(update={"judge": judge})))

    def errors_of(run: Run) -> Errors:
        answers, failed = dict[str, Any](), Errors()  # failed: systems that give no answer
        for system in systems:
            try:
                answers[system.name] = run.try_answer(cell, system, part)
            except Exception as error:
                if getattr(error, "code", None) == UNTRUSTED:
                    raise
                failed[system.name] = error
        failed |= _unscorable(run, cell, part, answers) if answers else {}
        return {system.name: failed[system.name] for system in systems if system.name in failed}

    failed, bad = _systems_or_metrics(run, errors_of, len(systems))
    for heading, error in bad.items():
        if isinstance(error, InputError | UsageError):
            raise run.plan.locate_metric(heading, error) from error
    if bad:
        failed = errors_of(run.with_metrics([heading for heading in run.plan.metrics if heading not in bad]))
    keys = {system.name: system.key for system in systems}
    size = f"{len(part.train):,} {'sequences' if hasattr(part.train, 'histories') else 'events'}"
    for name, error in failed.items():
        failed[name] = _failure(name, size, error, functools.partial(run.plan.document.locate, keys[name]))
    for heading, error in bad.items():
        locate = functools.partial(run.plan.locate_metric, heading)
        bad[heading] = _failure(heading, "a small part of the data", error, locate)
    return failed, bad


def _failure(name: str, size: str, error: Exception, locate: Callable[[RecassayError], RecassayError]) -> RecassayError:
    """Return the error of a system or metric with its line in the study file, as U135 if it comes from other code.

    ``size`` says how much data it failed on.
    """
    what = f"{name} failed on {size}: {type(error).__name__}: {error}"
    hint = "the traceback shows where; fix the code, or remove it from the study"
    failure = locate(error if isinstance(error, RecassayError) else UsageError(FAILED, what, hint=hint))
    failure.__cause__ = error  # its traceback shows where the code failed
    return failure


def leave_out(run: Run, cell: StudyCell, fold: Any, answers: dict[str, Any], *, one_of: int = 1) -> bool:
    """Record and leave out the metrics that fail for all systems, or else the systems that cannot be scored.

    These systems are removed from ``answers``, which maps each system to its result. Return whether anything was left
    out. ``one_of`` is the number of systems that ``answers`` will have in the end: while it has fewer, metrics that
    fail are kept, since the system may be to blame.
    """
    errors, metrics = _systems_or_metrics(run, lambda run: _unscorable(run, cell, fold, answers), len(answers))
    if metrics and len(answers) < one_of:
        return False
    run.drop_metrics(metrics)
    for name, error in (metrics or errors).items():
        run.record.note_failure(cell, name, error)
        answers.pop(name, None)
    return bool(metrics or errors)


def _systems_or_metrics(run: Run, errors_of: Callable[[Run], Errors], systems: int) -> tuple[Errors, Errors]:
    """Return ({system: error}, {metric: error}): where all systems fail, metrics may be to blame instead.

    ``errors_of(run)`` returns the errors of systems with the metrics of ``run``; ``systems`` is the number of systems.
    """
    errors, metrics = errors_of(run), Errors()
    if len(errors) < systems or not errors:
        return errors, metrics
    for heading in run.plan.metrics:
        alone = errors_of(run.with_metrics([heading]))
        if len(alone) == systems:
            metrics[heading] = next(iter(alone.values()))
    return ({}, metrics) if 0 < len(metrics) < len(run.plan.metrics) else (errors, {})


def _unscorable(run: Run, cell: StudyCell, fold: Any, answers: Mapping[str, Any]) -> Errors:
    """Return ``{system: error}`` of the systems whose lists, sequences or outcomes (``answers``) cannot be scored.

    Each system is scored alone. Raise an error about too few candidates, since no system is to blame for it. Raise an
    error that remains when all other systems are scored together.
    """

    def error_of(several: Mapping[str, Any]) -> Exception | None:
        try:
            run.judge(cell, fold, several, dry_run=True)
        except Exception as error:
            return error
        return None

    if error_of(answers) is None:
        return {}
    alone = {name: error_of({name: answer}) for name, answer in answers.items()}
    failed = {name: error for name, error in alone.items() if error is not None}
    few = next((error for error in failed.values() if getattr(error, "code", None) == TOO_FEW_CANDIDATES), None)
    rest = {name: answer for name, answer in answers.items() if name not in failed}
    together = few or (error_of(rest) if rest else None)
    if together is not None:
        raise together
    return failed


def small_fold(fold: Fold, users: int = USERS, items: int = ITEMS) -> Fold:
    """Return the fold reduced to its first test users and their most frequent items, which are numbered again from 0.

    Users with training events come first, and users without any among these items are left out. If no test user has
    any, other users' training events are kept. A fold with fewer users and items stays the same.
    """
    test_users, train_users = np.unique(fold.test.users), np.unique(fold.train.users)
    if test_users.size <= users and fold.train.n_items <= items:
        return fold
    known = np.isin(test_users, train_users)
    first = test_users[np.argsort(~known, kind="stable")[:users]]
    every = np.arange(fold.train.n_users)
    chosen = np.isin(every, first if known.any() else [*first, *train_users[:users]])
    parts = [part for part in (fold.train, fold.validation, fold.test) if part is not None]
    counts = sum(np.bincount(part.items[chosen[part.users]], minlength=part.n_items) for part in parts)
    frequent = np.isin(np.arange(fold.train.n_items), np.argsort(-counts, kind="stable")[:items])
    trained = np.isin(every, fold.train.users[chosen[fold.train.users] & frequent[fold.train.items]])
    if (trained & chosen)[fold.test.users[frequent[fold.test.items]]].any():
        chosen &= trained
    else:  # the users have no item in common, and all their items are few
        frequent[:] = True
    rows = [chosen[part.users] & frequent[part.items] for part in parts]
    whole = functools.reduce(Interactions.concat, [part.take(mask) for part, mask in zip(parts, rows, strict=True)])
    whole, ends = whole.compact(), np.cumsum([0, *(mask.sum() for mask in rows)]).tolist()
    train, *validation, test = (whole.take(np.arange(*span)) for span in itertools.pairwise(ends))
    profile = None if fold.profile is None else fold.profile[rows[0]]
    return replace(fold, train=train, test=test, validation=validation[0] if validation else None, profile=profile)
