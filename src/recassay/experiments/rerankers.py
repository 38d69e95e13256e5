"""Experiments on the re-rankers among the systems: accuracy against diversity, and the choice of a weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from recassay.api.weight import Weights, choose_weight, criterion
from recassay.comparison.trade_off import QUADRANTS, TradeOff, trade_off
from recassay.data.fold import Fold
from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial, played
from recassay.metrics.registry import parse_metrics
from recassay.models.base.capabilities import fitted_on_fold
from recassay.models.rerank import FittedReranker
from recassay.naming.grammar import suggest
from recassay.results.exhibit import Exhibit
from recassay.rng import derive_seed
from recassay.split.chance import RandomSplit


def rerankers(trial: Trial, experiment: Experiment) -> dict[str, FittedReranker]:
    """Return the fitted re-rankers among the systems of a trial, by name; raise U201 if there are none."""
    found = {name: one for name, one in trial.fitted.items() if isinstance(one, FittedReranker)}
    if not found:
        raise UsageError(
            "U201",
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
        self.require_at_least(steps=1)
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
        placed = {
            f"{name} {weight:g}": (name, weight)
            for name in rerankers
            for weight in (step / self.steps for step in range(1, self.steps + 1))
        }
        known = {base: trial.runs[base]} if base in trial.runs else {}
        fitted = {base: next(iter(rerankers.values())).fitted} if not known else {}
        fitted |= {run: rerankers[name].with_weight(weight) for run, (name, weight) in placed.items()}
        runs = known | played(fitted, trial.fold, trial.ask, trial.ask.k, trial.threads)
        accuracy, *diversity = metrics = list(parse_metrics([self.accuracy, self.diversity]))
        return trade_off(trial.score(metrics, runs), accuracy, diversity, baseline=base, weights=placed)


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


@dataclass(frozen=True, repr=False)
class Weight(Experiment):
    """Choice of a re-ranker's weight by a criterion on part of the training data; test data are not used.

    A share ``validation`` of the training events is held out, the base model of ``system`` is fitted on the rest, and
    its lists are re-ranked with weights 0, 1/``steps``, ..., 1. The choice is the weight with the best mean of ``best``
    among those that lose at most a share ``loss`` of ``keep``, if that is given. The system keeps its weight in the
    study; the caption names both.
    """

    name: ClassVar[str] = "choose_weight"

    system: str
    best: str
    keep: str | None = None
    loss: float = 0.0
    steps: int = 10
    validation: float = 0.2
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if ``best`` or ``keep`` names an unknown metric, or if another parameter is out of range.

        ``steps`` must be at least 1, and ``validation`` strictly between 0 and 1 (else U102).
        """
        for text in (self.best, *([] if self.keep is None else [self.keep])):
            criterion(text)
        self.require_at_least(steps=1)
        if not 0 < self.validation < 1:
            raise self.refuse("validation", "it must be a share between 0 and 1", "validation=0.2")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the metrics at every weight of the re-ranker, with the weight chosen on held-out data."""
        known = rerankers(trial, self)
        if self.system not in known:
            what = f"there is no re-ranker '{self.system}' among the systems"
            raise UsageError("U108", what, where=str(self), hint=suggest(self.system, known))
        model = trial.models[self.system]
        held = held_out(trial.fold, self.validation, self.seed)
        base = fitted_on_fold(model.base_model(), held)
        deep = max(trial.ask.k, model.candidates)
        (run,) = played({str(model): base}, held, trial.ask, deep, trial.threads).values()
        chosen = choose_weight(
            run, replace(model, of=None), trial.ask.truth(held), self.best, keep=self.keep, loss=self.loss,
            grid=[step / self.steps for step in range(self.steps + 1)], items=held.items, train=held.train,
            threads=trial.threads,
        )  # fmt: skip
        return (self._exhibit(chosen, model.weight),)

    def _exhibit(self, chosen: Weights, weight: float) -> Exhibit:
        metrics = chosen.table.columns[1 : chosen.table.columns.index("moved")]
        table = chosen.table.unpivot(
            on=metrics, index=["weight", "within", "chosen"], variable_name="metric", value_name="mean"
        ).with_columns(system=pl.lit(self.system), mark=pl.when("chosen").then(pl.lit("chosen")))
        return Exhibit(
            f"choose-weight-{self.system}", f"The weight of {self.system}", f"Chosen on {100 * self.validation:g} % of "
            f"the training data by {chosen.criterion}: {chosen.weight:g}. In this study {self.system} has {weight:g}.",
            table, "weight", "mean", "system", "metric", mark="mark",
        )  # fmt: skip


def held_out(fold: Fold, share: float, seed: int = 0) -> Fold:
    """Return a fold of the training part of ``fold``: a ``share`` of its events is for test, the others for training.

    The test events are drawn at random by ``seed``.
    """
    draws = derive_seed(seed, Weight.name)  # not those of the split: what is left has none below its share
    return replace(RandomSplit(test=share, seed=draws)(fold.train)[0], items=fold.items)
