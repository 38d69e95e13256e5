"""The published approximations of random precision beside the exact values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from recassay.bias.base import Experiment, Trial
from recassay.data.exhibit import Exhibit
from recassay.data.fold import Fold
from recassay.designs import expect, parse
from recassay.metrics.registry import parse_metric


@dataclass(frozen=True, repr=False)
class Formulas(Experiment):
    """What chance scores: sigma |PR| / (t |U|) for AR and 1/t for 1R (equations 4 and 5), and exactly.

    The formulas average over splits and take the harmonic mean t of the sizes of target sets; the exact values are
    those of the split at hand.
    """

    name: ClassVar[str] = "formulas"

    k: int = 10

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        standings = next(iter(trial.standings().values()))
        relevant, share = _relevant(trial.fold, trial.ask.relevant_from)
        heading, rows = f"precision@{self.k}", []
        only_candidates = trial.fold.how.get("name") == "uniform_items"  # other items would be sure misses
        for base in ("TI",) if only_candidates else ("AI", "TI"):
            for kind in ("AR", "1R"):
                design = parse(f"{base}-{kind}-AN")
                found = expect(standings, design, {heading: parse_metric(heading)}, variance=False)
                formula = share * relevant / (found.t * standings.users) if kind == "AR" else 1 / found.t
                measured = {
                    system: expect(one, design, {heading: parse_metric(heading)}, variance=False).outcomes[heading].mean
                    for system, one in trial.standings().items()
                }
                values = {"formula": formula, "exact": found.outcomes[heading].random, **measured}
                same = {"design": str(design), "t": found.t}
                rows += [{**same, "what": what, "value": value} for what, value in values.items()]
        return (
            Exhibit(
                "formulas", "What chance scores", "Equations 4 and 5 of the study of target sets beside the exact mean "
                f"{heading} of a random order, and of the systems.", pl.DataFrame(rows), "design", "value", "what",
                kind="bar",
            ),
        )  # fmt: skip


def _relevant(fold: Fold, threshold: float | None) -> tuple[int, float]:
    """Relevant ratings of the whole log, and the share of ratings that is in test."""
    liked = [int(np.count_nonzero(part.liked(threshold))) for part in (fold.train, fold.test)]
    return sum(liked), len(fold.test) / (len(fold.train) + len(fold.test))
