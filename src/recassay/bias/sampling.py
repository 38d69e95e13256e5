"""What sampled metrics make of the systems, at every size of the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.bias.base import Experiment, Trial
from recassay.data.exhibit import Exhibit
from recassay.sampled.curve import sampling_curve
from recassay.sampled.law import WAYS


@dataclass(frozen=True, repr=False)
class Sampling(Experiment):
    """Every system by a metric against 1 to all sampled candidates, uniform and by popularity.

    ``sizes`` are numbers with blanks between (None: steps of 1, 2, 5 as far as everybody has candidates), and the full
    ranking is always there. ``replace`` says whether an item may be drawn twice: left open, no for uniform draws and
    yes by popularity; ``both`` shows the two side by side.
    """

    name: ClassVar[str] = "sampling_curve"

    metric: str = "hit@10"
    sizes: str | None = None
    by: Literal["uniform", "popularity", "both"] = "both"
    replace: bool | Literal["both"] | None = None
    resamples: int = 1000
    seed: int = 0

    def validate(self) -> None:
        """Sizes are numbers."""
        if self.sizes is not None and not all(one.isdigit() for one in self.sizes.split()):
            raise self.refuse("sizes", "these are no numbers", "sizes='10 100 1000'")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
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
