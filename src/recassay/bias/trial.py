"""Systems made ready for experiments: fitted on a fold, and asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recassay.bias.base import Trial
from recassay.data.fold import Fold
from recassay.engine.play import answer, question_of
from recassay.models.training import fit
from recassay.protocols.base import Survey
from recassay.protocols.ranking import Ranking


def trial(
    models: Mapping[str, Any] | Iterable[Any], fold: Fold, ask: Survey | None = None, *, threads: int | None = None
) -> Trial:
    """Fit models on a fold and let them answer, ready for any experiment.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> ready = trial([ra.models.Popular(), ra.models.Random()], fold, ra.protocols.ranking(bins=4))
    >>> exhibit = ra.bias.percentiles(bins=4, metric="precision@5")(ready)[0]
    >>> exhibit.table.filter(system="Popular")["mean"].round(3).to_list()
    [0.113, 0.065, 0.056, 0.067]
    """
    ask = ask or Ranking()
    named = dict(models) if isinstance(models, Mapping) else {str(model): model for model in models}
    fitted = {name: fit(model, fold) if hasattr(model, "fit") else model for name, model in named.items()}
    question = question_of(fold, ask)
    runs = {name: answer(one, question, name, k=ask.k, threads=threads) for name, one in fitted.items()}
    return Trial(fold, ask, named, fitted, runs, threads)
