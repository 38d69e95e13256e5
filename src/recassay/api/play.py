"""``play``: lets a system answer the queries of a protocol, on the back end that holds the fold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from recassay.backends.base import Remote, engine_of
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_model, require_noun, wrong_noun
from recassay.data.read import TableSource
from recassay.data.run import Run
from recassay.engine.options import Execution
from recassay.engine.ranks.play import PlayRequest, play_fold
from recassay.engine.streams.play import BLOCK
from recassay.engine.streams.result import Stream
from recassay.engine.streams.run import CHECKPOINT_SECONDS, Checkpoint, play_stream
from recassay.errors import UsageError
from recassay.metrics.registry import Metrics
from recassay.models.base.capabilities import ModelSource
from recassay.models.base.registry import parse as parse_model
from recassay.naming.arguments import checks_types
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.protocols.prequential import Prequential
from recassay.threads import Progress

if TYPE_CHECKING:
    from recassay.backends.spark.folds import SparkFold
    from recassay.backends.spark.play import SparkRun


@overload
def play(
    model: ModelSource,
    fold: Fold,
    protocol: UserProtocol,
    *,
    name: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run: ...


@overload
def play(
    model: ModelSource,
    fold: SparkFold,
    protocol: UserProtocol,
    *,
    name: str | None = None,
    work: str | Path | None = None,
) -> SparkRun: ...


@overload
def play(
    model: ModelSource,
    fold: Fold | Interactions,
    protocol: Prequential,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    metrics: Metrics | None = None,
    items: TableSource = None,
    lists: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    trust: bool = False,
    block: int = BLOCK,
) -> Stream: ...


@checks_types
def play(
    model: ModelSource,
    fold: Fold | SparkFold | Interactions,
    protocol: BaseProtocol,
    *,
    name: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    work: str | Path | None = None,
    metrics: Metrics | None = None,
    items: TableSource = None,
    lists: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    trust: bool = False,
    block: int = BLOCK,
) -> Run | Remote | Stream:
    """Return the recommendations of a system: lists, and the ranks of relevant items (standings).

    :func:`~recassay.judge` reads the standings.

    ``model`` is an unfitted model with ``fit(log)``, its name (``"ALS(factors=64)"``), a model fitted on
    ``fold.train``, or a run of lists. The run is called ``name``, or by the class of the model and its parameters.
    Standings come from scores of the whole catalogue where the system gives them, else from its lists as far as they
    reach.

    With ``protocols.prequential`` the ``fold`` may be any stream of events, and the result has a row for each scored
    event. The following apply to streams only: ``metrics``, ``items`` and ``lists``, see
    :func:`~recassay.engine.streams.run.play_stream`; ``checkpoint``, a file that is written every
    ``checkpoint_seconds`` and from which a stopped run resumes; ``trust``, which allows reading a checkpoint that is a
    pickle; and ``block``, the number of events that are processed together.

    A fold of Spark is played by Spark tasks, with models that learn nothing from a log: factors, and scores of users.
    The results stay in Parquet files, in a folder within ``work`` that all nodes can read and write; on one machine the
    default, a temporary folder, is enough.

    >>> import numpy as np
    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> from recassay.models.baselines import Popular
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": [*"xyxzy"]}))
    >>> fold = Fold(log.take(np.array([0, 2, 4])), log.take(np.array([1, 3])), "global", {})
    >>> from recassay.protocols.ranking import Ranking
    >>> run = play(Popular(), fold, Ranking(bins=0))
    >>> run.name, run.frame().rows(), run.standings.above["AI"].tolist()
    ('Popular', [(1, 'y', 1, 1.0), (1, 'z', 2, 0.0), (2, 'y', 1, 1.0), (2, 'z', 2, 0.0)], [0, 1])
    """
    model = parse_model(model) if isinstance(model, str) else model
    require_model(model)
    if isinstance(protocol, Prequential):
        return play_stream(
            model,
            fold,
            protocol,
            name=name,
            metrics=metrics,
            items=items,
            lists=lists,
            checkpoint=Checkpoint(None if checkpoint is None else Path(checkpoint), checkpoint_seconds, trust),
            progress=progress,
            block=block,
        )
    for option, given in (
        ("metrics", metrics is not None),
        ("items", items is not None),
        ("lists", lists),
        ("checkpoint", checkpoint is not None),
        ("checkpoint_seconds", checkpoint_seconds != CHECKPOINT_SECONDS),
        ("trust", trust),
        ("block", block != BLOCK),
    ):
        if given:
            what = f"{option}= is for streams only, and {protocol} is not a protocol of streams"
            raise UsageError("U107", what, hint="prequential(...), or leave it out")
    if not isinstance(protocol, BaseProtocol):
        raise wrong_noun(protocol, "protocol")
    require_noun(fold, "fold")
    if not isinstance(protocol, UserProtocol):
        what, hint = (
            f"ra.play does not support the protocol {protocol}",
            "use ranking(...), next_item(...) or prequential(...)",
        )
        raise UsageError("U107", what, hint=hint)
    request = PlayRequest(model, fold, protocol, name, Execution(None, None, work, threads, progress))
    if engine_of(fold) == "spark":
        from recassay.backends.spark.play import play_on_spark  # late: who has no Spark tables needs none of it

        return play_on_spark(request)
    return play_fold(request)
