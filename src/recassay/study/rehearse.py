"""A trial of everything on a small part of a fold, so that a mistake shows in seconds and not after hours."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.engine.play import answer, question_of
from recassay.engine.question import Question
from recassay.errors import RecassayError, UsageError
from recassay.models.training import fit
from recassay.split.base import Split
from recassay.study.judging import compared, judge_fold
from recassay.study.plan import Plan
from recassay.study.systems import System

USERS = 1_000


def rehearse(plan: Plan, split: Split, fold: Fold, *, threads: int | None = None) -> None:
    """Fit every model, let it answer, and judge what it says under every design and metric; raises what goes wrong."""
    part = small_part(fold)
    question = question_of(part, plan.protocol)
    if question.relevant.places.size == 0:
        raise UsageError(
            "U135",
            f"no test rating of the {question.users.size:,} users looked at is relevant",
            where=f"{plan.protocol}, {fold.how.get('split')}",
            hint="lower relevant_from, or look at the ratings: recassay stats LOG",
        )
    runs = {system.name: _tried(plan, system, part, question, threads) for system in plan.systems}
    judged, _ = judge_fold(plan, split, part, runs, trial=True, short="all", threads=threads)
    for verdict in judged.values():
        compared(plan, verdict.scores, threads=threads)


def _tried(plan: Plan, system: System, part: Fold, question: Question, threads: int | None) -> Run:
    try:
        fitted = fit(system.model, part, most=1) if hasattr(system.model, "fit") else system.model
        return answer(fitted, question, system.name, k=plan.protocol.k, threads=threads)
    except RecassayError as error:
        raise plan.document.at(system.key, error) from error
    except Exception as error:
        raise UsageError(
            "U135",
            f"{system.name} failed on {len(part.train):,} events: {type(error).__name__}: {error}",
            where=plan.document.where(system.key),
            hint="the lines above, in the traceback, say where; repair the model, or leave it out",
        ) from error


def small_part(fold: Fold) -> Fold:
    """The rows of the first users that are asked, with codes of their own; all of a fold that is small."""
    asked = np.unique(fold.test.users)
    if asked.size <= USERS:
        return fold
    kept = np.zeros(fold.train.n_users, np.bool_)
    kept[asked[:USERS]] = True
    parts = [part.take(kept[part.users]) for part in (fold.train, fold.validation, fold.test) if part is not None]
    whole = functools.reduce(Interactions.followed_by, parts).compact()
    ends = np.cumsum([len(part) for part in parts]).tolist()
    pieces = [whole.take(np.arange(begin, end)) for begin, end in zip([0, *ends], ends, strict=False)]
    return dataclasses.replace(
        fold,
        train=pieces[0],
        test=pieces[-1],
        validation=None if fold.validation is None else pieces[1],
        profile=None if fold.profile is None else fold.profile[kept[fold.train.users]],
    )
