"""Sudden Death among the systems: who is the first to show a user something relevant, and who beats whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.bias.base import Experiment, Trial
from recassay.data.exhibit import Exhibit
from recassay.engine.contest import sudden_death


@dataclass(frozen=True, repr=False)
class Contest(Experiment):
    """The share of users to whom a system is the first to show something relevant, at every cut-off from 1 to ``at``.

    Systems with the same earliest place all win the user, or with ``ties="split"`` equal parts of it. Beside it the
    duels at the deepest cut-off: how many users one system hits before another does.
    """

    name: ClassVar[str] = "sudden_death"

    at: int = 20
    ties: Literal["share", "split"] = "share"
    resamples: int = 1000
    seed: int = 0

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        how = {"ties": self.ties, "resamples": self.resamples, "seed": self.seed, "threads": trial.threads}
        contest = sudden_death(dict(trial.runs), trial.ask.truth(trial.fold), self.at, **how)  # type: ignore[arg-type]
        return (
            contest.curve(),
            Exhibit(
                "duels", "Duels", f"The share of {contest.n:,} users whom the system of a row hits within {self.at} "
                "places, and before the system of a column does. Unlike Sudden Death it does not hang on who else "
                "competes.", contest.duels(), "against", "system", kind="heat", value="wins",
            ),
        )  # fmt: skip
