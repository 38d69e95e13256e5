"""Accuracy against diversity for every re-ranker and weight, relative to the system that is re-ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from recassay.api.score import score
from recassay.comparison.trade_off import QUADRANTS, TradeOff, trade_off
from recassay.data.run import Run
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.experiments.base import Experiment, Trial
from recassay.experiments.rerankers import base_of, rerankers
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank import FittedReranker
from recassay.results.exhibit import Exhibit


@dataclass(frozen=True, repr=False)
class Costs(Experiment):
    """Accuracy against diversity for weights 1/``steps``, 2/``steps``, ..., 1 of every re-ranker among the systems.

    ``diversity`` are metrics separated by blanks. Every point lies in a quadrant relative to the system that is
    re-ranked: both gained, accuracy lost for diversity, or worse. The Pareto front and its hypervolume summarise them.
    """

    name: ClassVar[str] = "trade_off"

    accuracy: str = "precision@10"
    diversity: str = "ild@10 alpha_ndcg@10"
    steps: int = 10

    def validate(self) -> None:
        """Raise an error unless there is at least one weight and all metrics exist."""
        if self.steps < 1:
            raise self.refuse("steps", "it must be at least 1", "steps=10")
        parse_metrics([self.accuracy, self.diversity])

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return figures of accuracy against diversity for the re-rankers in ``trial`` at every weight.

        For each system that is re-ranked there are: the points, the share of weights that gain both or pay with one,
        and the hypervolume of the points.
        """
        bases: dict[str, dict[str, FittedReranker]] = {}
        for name, fitted in rerankers(trial, self).items():
            bases.setdefault(base_of(name, trial), {})[name] = fitted
        found = [self.seen_from(base, several, trial) for base, several in bases.items()]
        return tuple(exhibit for costs in found for exhibit in _exhibits(costs, several=len(found) > 1))

    def seen_from(self, base: str, rerankers: dict[str, FittedReranker], trial: Trial) -> TradeOff:
        """Return the trade-off of some re-rankers of the system ``base``, at every weight, relative to ``base``.

        ``rerankers`` are these re-rankers, by name.
        """
        question = ranking_task(trial.fold, trial.ask)

        def played(fitted: object, name: str) -> Run:
            return play_fitted(fitted, question, name, k=trial.ask.k, threads=trial.threads)

        placed = {
            f"{name} {weight:g}": (name, weight)
            for name in rerankers
            for weight in (step / self.steps for step in range(1, self.steps + 1))
        }
        runs = [trial.runs[base] if base in trial.runs else played(next(iter(rerankers.values())).fitted, base)]
        runs += [played(rerankers[name].with_weight(weight), run) for run, (name, weight) in placed.items()]
        scores = score(
            runs, trial.ask.truth(trial.fold), [self.accuracy, self.diversity], train=trial.fold.train,
            items=trial.fold.items, interval=None, threads=trial.threads,
        )  # fmt: skip
        accuracy, *diversity = parse_metrics([self.accuracy, self.diversity])
        return trade_off(scores, accuracy, diversity, baseline=base, weights=placed)


def _exhibits(costs: TradeOff, *, several: bool) -> Sequence[Exhibit]:
    """Return figures of a trade-off: points, the share of weights per quadrant, and hypervolumes.

    A quadrant says whether accuracy and diversity are gained or lost. With ``several`` trade-offs, the figures' names
    end in the baseline.
    """
    shares = costs.share_of_weights()
    met = [name for name in QUADRANTS if name != "as before" or shares[name].sum()]
    quadrants = shares.unpivot(
        on=met, index=["system", "diversity"], variable_name="quadrant", value_name="share of weights"
    )
    areas = costs.hypervolume().filter(pl.col("system") != costs.baseline)
    found = (
        *(costs.exhibit(metric) for metric in costs.diversity),
        Exhibit(
            "trade-off-quadrants", "Weights that improve both", "The share of weights whose point lies in each "
            f"quadrant, relative to {costs.baseline}, by {costs.accuracy} and a metric of diversity.", quadrants,
            "quadrant", "share of weights", "system", "diversity", kind="bar",
        ),
        Exhibit(
            "trade-off-hypervolume", "The whole curve in one number", f"The area that the points of a system and of "
            f"{costs.baseline} dominate, as a share of the box of all points. It depends on the other points.", areas,
            "diversity", "hypervolume", "system", kind="bar",
        ),
    )  # fmt: skip
    return [replace(one, name=f"{one.name}-{costs.baseline}") for one in found] if several else found
