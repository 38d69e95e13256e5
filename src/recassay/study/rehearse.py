"""A trial of everything on a small part of a fold, so that a mistake shows in seconds and not after hours."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.engine.play import answer, question_of
from recassay.engine.question import Question
from recassay.errors import RecassayError, UsageError
from recassay.split.base import Split
from recassay.study.judging import compared, judge_fold
from recassay.study.plan import Plan, System

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
        fitted = system.model.fit(part.train) if hasattr(system.model, "fit") else system.model
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
    train, test = kept[fold.train.users], kept[fold.test.users]
    both = _joined(fold.train.take(train), fold.test.take(test))
    rows = np.arange(len(both))
    first = rows < np.count_nonzero(train)
    return dataclasses.replace(
        fold,
        train=both.take(first),
        test=both.take(~first),
        validation=None,
        profile=None if fold.profile is None else fold.profile[train],
    )


def _joined(train: Interactions, test: Interactions) -> Interactions:
    """One log of the rows of two that share their codes, without users and items that have no rows."""

    def chained(name: str) -> NDArray[np.float64] | None:
        parts = getattr(train, name), getattr(test, name)
        return None if parts[0] is None or parts[1] is None else np.concatenate(parts)

    times = train.timestamps
    whole = dataclasses.replace(
        train,
        users=np.concatenate([train.users, test.users]),
        items=np.concatenate([train.items, test.items]),
        timestamps=None if times is None or test.timestamps is None else pl.concat([times, test.timestamps]),
        ratings=chained("ratings"),
    )
    return whole.compact()
