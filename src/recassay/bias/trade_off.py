"""What diversity costs: every re-ranker with every weight, seen from the system whose lists it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from recassay.bias.base import Experiment, Trial
from recassay.bias.rerankers import base_of, rerankers
from recassay.comparison.trade_off import QUADRANTS, TradeOff, trade_off
from recassay.data.exhibit import Exhibit
from recassay.data.run import Run
from recassay.engine.play import answer, question_of
from recassay.engine.score import score
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank import FittedReranker


@dataclass(frozen=True, repr=False)
class Costs(Experiment):
    """Accuracy against diversity for weights 1/``steps``, 2/``steps``, ..., 1 of every re-ranker among the systems.

    ``diversity`` are metrics with blanks between. Every point lies in a quadrant seen from the system whose lists are
    re-ranked: both gained, accuracy paid for diversity, or worse. The Pareto front and its hypervolume sum it up.
    """

    name: ClassVar[str] = "trade_off"

    accuracy: str = "precision@10"
    diversity: str = "ild@10 alpha_ndcg@10"
    steps: int = 10

    def validate(self) -> None:
        """At least one weight, and metrics that there are."""
        if self.steps < 1:
            raise self.refuse("steps", "there is no weight", "steps=10")
        parse_metrics([self.accuracy, self.diversity])

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        bases: dict[str, dict[str, FittedReranker]] = {}
        for name, fitted in rerankers(trial, self).items():
            bases.setdefault(base_of(name, trial), {})[name] = fitted
        found = [self._seen_from(base, several, trial) for base, several in bases.items()]
        return tuple(exhibit for costs in found for exhibit in _exhibits(costs, several=len(found) > 1))

    def _seen_from(self, base: str, rerankers: dict[str, FittedReranker], trial: Trial) -> TradeOff:
        """The re-rankers of one system, with every weight."""
        question = question_of(trial.fold, trial.ask)

        def played(fitted: object, name: str) -> Run:
            return answer(fitted, question, name, k=trial.ask.k, threads=trial.threads)

        placed = {
            f"{name} {weight:g}": (name, weight)
            for name in rerankers
            for weight in (step / self.steps for step in range(1, self.steps + 1))
        }
        runs = [trial.runs[base] if base in trial.runs else played(next(iter(rerankers.values())).fitted, base)]
        runs += [played(rerankers[name].weighing(weight), run) for run, (name, weight) in placed.items()]
        scores = score(
            runs, trial.ask.truth(trial.fold), [self.accuracy, self.diversity], train=trial.fold.train,
            items=trial.fold.items, interval=None, threads=trial.threads,
        )  # fmt: skip
        accuracy, *diversity = parse_metrics([self.accuracy, self.diversity])
        return trade_off(scores, accuracy, diversity, baseline=base, weights=placed)


def _exhibits(costs: TradeOff, *, several: bool) -> Sequence[Exhibit]:
    """The points, the share of weights in each quadrant, and the hypervolumes; named by their baseline if need be."""
    shares = costs.share_of_weights()
    met = [name for name in QUADRANTS if name != "as before" or shares[name].sum()]
    quadrants = shares.unpivot(
        on=met, index=["system", "diversity"], variable_name="quadrant", value_name="share of weights"
    )
    areas = costs.hypervolume().filter(pl.col("system") != costs.baseline)
    found = (
        *(costs.exhibit(metric) for metric in costs.diversity),
        Exhibit(
            "trade-off-quadrants", "Weights that gain both", f"The share of weights whose point lies in each quadrant, "
            f"seen from {costs.baseline}, by {costs.accuracy} and a metric of diversity.", quadrants, "quadrant",
            "share of weights", "system", "diversity", kind="bar",
        ),
        Exhibit(
            "trade-off-hypervolume", "The whole curve in one number", f"The area that the points of a system and of "
            f"{costs.baseline} dominate, as a share of the box of all points. It depends on the other points.", areas,
            "diversity", "hypervolume", "system", kind="bar",
        ),
    )  # fmt: skip
    return [replace(one, name=f"{one.name}-{costs.baseline}") for one in found] if several else found
