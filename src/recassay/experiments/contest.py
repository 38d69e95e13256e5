"""Sudden Death between the systems: the share of users each wins, and pairwise results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.engine.decisions.sudden_death import sudden_death
from recassay.experiments.base import Experiment, Trial
from recassay.results.exhibit import Exhibit


@dataclass(frozen=True, repr=False)
class Contest(Experiment):
    """The share of users to whom a system is the first to recommend a relevant item, at every cut-off from 1 to ``at``.

    Systems that rank a relevant item equally high all win the user, or equal parts of the user with ``ties="split"``.
    ``competitors`` are the names of the systems that compete, by default all; shares depend on them. A second exhibit
    has pairwise results at the deepest cut-off: the share of users for whom one system has a hit before the other.
    """

    name: ClassVar[str] = "sudden_death"

    at: int = 20
    ties: Literal["share", "split"] = "share"
    resamples: int = 1000
    seed: int = 0
    competitors: str = ""

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return the share of users that each system in ``trial`` wins at every cut-off, and a table of all pairs."""
        how = {
            "competitors": self.competitors.split() or None,
            "ties": self.ties,
            "resamples": self.resamples,
            "seed": self.seed,
            "threads": trial.threads,
        }
        contest = sudden_death(dict(trial.runs), trial.ask.truth(trial.fold), self.at, **how)  # type: ignore[arg-type]
        return (
            contest.curve(),
            Exhibit(
                "duels", "Duels", f"The share of {contest.n:,} users for whom the system of the row has a hit "
                f"within the first {self.at} ranks, and before the system of the column. Unlike Sudden Death it does "
                "not depend on the other competitors.", contest.duels(), "against", "system", kind="heat", value="wins",
            ),
        )  # fmt: skip
