"""Preparation for experiments: systems fitted on a fold, and their recommendations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recassay.data.fold import Fold
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.experiments.base import Trial
from recassay.models.base.capabilities import fitted_on_fold
from recassay.naming.system_names import system_names
from recassay.protocols.base import UserProtocol
from recassay.protocols.ranking import Ranking


def trial(
    models: Mapping[str, Any] | Iterable[Any],
    fold: Fold,
    ask: UserProtocol | None = None,
    *,
    threads: int | None = None,
) -> Trial:
    """Return a :class:`Trial`: models fitted on a fold, with their runs under the protocol ``ask``.

    >>> import recassay as ra
    >>> from recassay.data.synthetic.tastes import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> ready = trial([ra.models.Popular(), ra.models.Random()], fold, ra.protocols.ranking(bins=4))
    >>> exhibit = ra.experiments.percentiles(bins=4, metric="precision@5")(ready)[0]
    >>> exhibit.table.filter(system="Popular")["mean"].round(3).to_list()
    [0.113, 0.065, 0.056, 0.067]
    """
    ask = ask or Ranking()
    if not isinstance(models, Mapping):
        models = list(models)
        models = dict(zip(system_names(models), models, strict=True))
    named = dict(models)
    fitted = {name: fitted_on_fold(model, fold) for name, model in named.items()}
    question = ranking_task(fold, ask)
    runs = {name: play_fitted(one, question, name, k=ask.k, threads=threads) for name, one in fitted.items()}
    return Trial(fold, ask, named, fitted, runs, threads)
