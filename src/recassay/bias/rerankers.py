"""The re-rankers of a trial, for experiments that give them other weights."""

from __future__ import annotations

from recassay.bias.base import Experiment, Trial
from recassay.errors import UsageError
from recassay.models.rerank import FittedReranker


def rerankers(trial: Trial, experiment: Experiment) -> dict[str, FittedReranker]:
    """Those of the systems that put the lists of another one into a new order."""
    found = {name: one for name, one in trial.fitted.items() if isinstance(one, FittedReranker)}
    if not found:
        raise UsageError(
            "U208",
            f"{experiment} looks at re-rankers, and no system is one",
            where=", ".join(trial.models),
            hint="add MMR(of='NAME', weight=0.3), xQuAD or SPAD of a system, or leave the experiment out",
        )
    return found


def base_of(name: str, trial: Trial) -> str:
    """The system whose lists a re-ranker takes, by its name in the trial, or its text if it is none of the systems."""
    text = str(trial.models[name].of)
    return next((system for system, model in trial.models.items() if str(model) == text), text)
