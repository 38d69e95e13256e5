"""Choice of the weight of diversity, and of other parameters of a re-ranker, on validation data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from recassay.api.weight import Weights, choose_weight, criterion
from recassay.data.fold import Fold
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial
from recassay.experiments.rerankers import rerankers
from recassay.models.base.capabilities import fitted_on_fold
from recassay.models.rerank.base import Reranker
from recassay.naming.grammar import suggest
from recassay.protocols.base import UserProtocol
from recassay.results.exhibit import Exhibit
from recassay.rng import derive_seed
from recassay.split.chance import RandomSplit


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
        if self.steps < 1:
            raise self.refuse("steps", "it must be at least 1", "steps=10")
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
        chosen = choose_on_validation(
            model, held, trial.ask, self.best, keep=self.keep, loss=self.loss,
            grid={"weight": [step / self.steps for step in range(self.steps + 1)]}, threads=trial.threads,
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


def choose_on_validation(
    model: Reranker,
    held: Fold,
    ask: UserProtocol,
    best: str,
    *,
    keep: str | None,
    loss: float,
    grid: Mapping[str, Iterable[Any]],
    threads: int | None,
) -> Weights:
    """Return a re-ranker's parameters that are best on the test part of ``held``, a fold of training data.

    The model that it re-ranks is fitted on the training part of ``held``. ``grid`` has the values to try by parameter.
    Chosen are the values with the best mean of the metric ``best``, among those that lose at most a share ``loss`` of
    the mean that the metric ``keep`` has at weight 0.
    """
    base = fitted_on_fold(model.base_model(), held)
    candidates = [int(count) for count in grid.get("candidates", ())]
    deep = max(ask.k, model.candidates, *candidates)
    run = play_fitted(base, ranking_task(held, ask), str(model), k=deep, threads=threads)
    return choose_weight(
        run, replace(model, of=None), ask.truth(held), best, keep=keep, loss=loss, grid=grid, items=held.items,
        train=held.train, threads=threads,
    )  # fmt: skip
