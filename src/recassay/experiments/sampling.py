"""Metrics of the systems on sampled candidates, for every sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.experiments.base import Experiment, Trial
from recassay.results.exhibit import Exhibit
from recassay.sampled.curve import sampling_curve
from recassay.sampled.scheme import WAYS


@dataclass(frozen=True, repr=False)
class Sampling(Experiment):
    """A metric of every system against samples of 1 to all candidates, drawn uniformly and by popularity.

    ``sizes`` are numbers separated by blanks (None: 1, 2, 5, 10, ... up to the smallest number of candidates); the full
    ranking is always included. ``replace`` says whether an item may be drawn twice: by default no for uniform draws and
    yes by popularity; ``both`` does both.
    """

    name: ClassVar[str] = "sampling_curve"

    metric: str = "hit@10"
    sizes: str | None = None
    by: Literal["uniform", "popularity", "both"] = "both"
    replace: bool | Literal["both"] | None = None
    resamples: int = 1000
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 unless all sizes are whole numbers."""
        if self.sizes is not None and not all(one.isdigit() for one in self.sizes.split()):
            raise self.refuse("sizes", "they must be whole numbers", "sizes='10 100 1000'")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return charts of a metric of each system in ``trial``, over the number of sampled candidates."""
        curve = sampling_curve(
            trial.standings(),
            None if self.sizes is None else [int(one) for one in self.sizes.split()],
            WAYS if self.by == "both" else self.by,
            self.metric,
            replace=(False, True) if self.replace == "both" else self.replace,
            resamples=self.resamples,
            seed=self.seed,
            threads=trial.threads,
        )
        return curve.exhibits()
