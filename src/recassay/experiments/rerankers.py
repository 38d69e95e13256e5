"""The re-rankers among the systems of a trial, for experiments that vary their weights."""

from __future__ import annotations

from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial
from recassay.models.rerank import FittedReranker


def rerankers(trial: Trial, experiment: Experiment) -> dict[str, FittedReranker]:
    """Return the fitted re-rankers among the systems of a trial, by name; raise U208 if there are none."""
    found = {name: one for name, one in trial.fitted.items() if isinstance(one, FittedReranker)}
    if not found:
        raise UsageError(
            "U208",
            f"{experiment} studies re-rankers, but no system is one",
            where=", ".join(trial.models),
            hint="add MMR(of='NAME', weight=0.3), xQuAD or SPAD of a system, or leave the experiment out",
        )
    return found


def base_of(name: str, trial: Trial) -> str:
    """Return the name of the system whose lists the re-ranker ``name`` re-ranks.

    If that system is not part of the trial, return the text of its model.
    """
    text = str(trial.models[name].of)
    return next((system for system, model in trial.models.items() if str(model) == text), text)
