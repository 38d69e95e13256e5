"""The driver: fit, let the system answer what a protocol asks, and keep where every relevant item stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from recassay.data.fold import Fold
from recassay.data.run import Run
from recassay.engine.question import Question
from recassay.engine.spark.folds import SparkFold
from recassay.engine.standings import stand, stand_lists
from recassay.engine.stream.result import Stream
from recassay.engine.stream.run import play_stream
from recassay.errors import UsageError
from recassay.models.base import recommend
from recassay.models.training import fit
from recassay.protocols.base import Asking, Protocol, Survey
from recassay.protocols.prequential import Prequential
from recassay.threads import Progress

if TYPE_CHECKING:
    from recassay.engine.spark.play import SparkRun


@dataclass(frozen=True, eq=False)
class Source:
    """Where a run came from: a fitted system can be asked again, for sampled candidates."""

    question: Question
    fitted: Any


@overload
def play(
    model: Any,
    fold: Fold,
    protocol: Protocol,
    *,
    name: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run: ...


@overload
def play(
    model: Any, fold: SparkFold, protocol: Protocol, *, name: str | None = None, work: str | Path | None = None
) -> SparkRun: ...


@overload
def play(model: Any, fold: Any, protocol: Prequential, *, name: str | None = None, **of_streams: Any) -> Stream: ...


def play(
    model: Any,
    fold: Any,
    protocol: Asking,
    *,
    name: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    work: str | Path | None = None,
    **of_streams: Any,
) -> Run | SparkRun | Stream:
    """The answers of a system to a protocol: lists, and standings for :func:`~recassay.judge`.

    ``model`` is a description with ``fit(log)``, something fitted on ``fold.train``, or a run of lists. Standings come
    from scores of the whole catalogue where the system gives them, else from its lists as far as they reach.

    With ``protocols.prequential`` the ``fold`` may be any stream of events, what is played comes back event by event,
    and there are the options of :func:`~recassay.engine.stream.run.play_stream`: metrics, lists, checkpoint.

    A ``fold`` of Spark is played by its tasks, with models that learn nothing from a log: factors, and scores of users.
    What they find stays in Parquet files, in a folder within ``work`` that all nodes see; on one machine a temporary
    folder will do.

    >>> import numpy as np
    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> from recassay.models.popular import Popular
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": [*"xyxzy"]}))
    >>> fold = Fold(log.take(np.array([0, 2, 4])), log.take(np.array([1, 3])), "global", {})
    >>> from recassay.protocols.ranking import Ranking
    >>> run = play(Popular(), fold, Ranking(bins=0))
    >>> run.name, run.frame().rows(), run.standings.above["AI"].tolist()
    ('Popular', [(1, 'y', 1, 1.0), (1, 'z', 2, 0.0), (2, 'y', 1, 1.0), (2, 'z', 2, 0.0)], [0, 1])
    """
    if isinstance(protocol, Prequential):
        return play_stream(model, fold, protocol, name=name, progress=progress, **of_streams)
    if of_streams:
        what = f"{next(iter(of_streams))}= is for streams, and {protocol} is no protocol of one"
        raise UsageError("U107", what, hint="prequential(...), or leave it out")
    if not isinstance(protocol, Survey):
        what, hint = f"there is no driver for {protocol}", "ranking(...), next_item(...) or prequential(...)"
        raise UsageError("U107", what, hint=hint)
    if isinstance(fold, SparkFold):
        from recassay.engine.spark.play import play_on_spark

        return play_on_spark(model, fold, protocol, name=name, work=work)
    name = name or (model.name if isinstance(model, Run) else str(model))
    fitted = fit(model, fold) if hasattr(model, "fit") else model
    return answer(fitted, question_of(fold, protocol), name, k=protocol.k, threads=threads, progress=progress)


def question_of(fold: Fold, protocol: Survey) -> Question:
    """What a protocol asks about a fold; made once for all systems."""
    return Question.of(
        protocol.asked(fold),
        relevant_from=protocol.relevant_from,
        bins=(protocol.bins,) if protocol.bins else (),
        mask_seen=not protocol.keep_seen,
        revealed=protocol.revealed(fold),
        popularity=protocol.popularity,
    )


def answer(
    fitted: Any,
    question: Question,
    name: str,
    *,
    k: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """A fitted system's lists and standings, from one pass over its scores if it has any."""
    if isinstance(fitted, Run):
        run = replace(fitted, name=name)
        return replace(run, standings=stand_lists(question, run, threads=threads))
    if question.past is not question.train and hasattr(fitted, "told"):  # of sequences, or what re-ranks one
        fitted = fitted.told(question.past)
    source = Source(question, fitted)
    if hasattr(fitted, "scores") or hasattr(fitted, "item_factors"):
        standings, listed = stand(question, fitted, name, k=k, threads=threads, progress=progress)
        assert listed is not None  # k is at least 1
        return replace(listed, standings=standings, source=source)
    run = recommend(fitted, question.queries, k, name)
    return replace(run, standings=stand_lists(question, run, threads=threads), source=source)
