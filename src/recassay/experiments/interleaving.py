"""Team-draft interleaving between the systems, offline, with a click model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.engine.decisions.interleaving import interleave
from recassay.experiments.base import Experiment, Trial
from recassay.results.exhibit import Exhibit


@dataclass(frozen=True, repr=False)
class InterleavedPairs(Experiment):
    """Which of two systems a simulated reader prefers in lists of ``at`` places that both systems fill in turn.

    Every pair of systems is mixed by team-draft interleaving; clicks on relevant items follow the ``cascade`` model or
    the ``position`` model with ``persistence``. The result is exact up to 20 places; more places need a number of
    ``draws`` per user. :func:`~recassay.interleave` has the definitions. This is the online kin of Sudden Death,
    which the paper of Sudden Death compares with the framework of Hayes and Cunningham (2002); that framework defines
    no metric, so the rule here is that of web search.
    """

    name: ClassVar[str] = "interleaving"

    at: int = 10
    click: Literal["cascade", "position"] = "cascade"
    persistence: float = 0.8
    draws: int | None = None
    resamples: int = 1000
    seed: int = 0

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a chart of the pairs of systems in ``trial``: how much the system of a row is preferred."""
        found = interleave(
            dict(trial.runs), trial.ask.truth(trial.fold), self.at, click=self.click, persistence=self.persistence,
            draws=self.draws, resamples=self.resamples, seed=self.seed,
        )  # fmt: skip
        return (found.exhibit(),)
