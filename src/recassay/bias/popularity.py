"""What popularity alone is worth: logs in which it is all there is to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from recassay.bias.base import Experiment, Trial
from recassay.data.exhibit import Exhibit
from recassay.data.power_law import fit_power_law, power_law
from recassay.engine.judge import judge
from recassay.engine.play import answer, question_of
from recassay.split.chance import Random


@dataclass(frozen=True, repr=False)
class Popularity(Experiment):
    """Systems on generated logs whose popularity curve gets steeper and steeper, and in which nothing else is to learn.

    Logs follow a shifted power law with exponents alpha from 0 to ``steepest`` in ``steps``, c1 and c2 as fitted to the
    log at hand, of the size given (0: that of the log). Judged is 1R precision against ``n`` test items. At alpha = 0
    nobody is better than chance, and a system that follows training counts is worse: what is over-represented in
    training is under-represented in test.
    """

    name: ClassVar[str] = "popularity"

    steepest: float = 2.0
    steps: int = 11
    users: int = 0
    items: int = 0
    ratings: int = 0
    n: int = 99
    k: int = 10
    test: float = 0.2
    seed: int = 0

    def validate(self) -> None:
        """alpha rises, in steps."""
        if self.steepest <= 0:
            raise self.refuse("steepest", "alpha does not rise", "steepest=2.0")
        if self.steps < 2:
            raise self.refuse("steps", "one point makes no curve", "steps=11")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        train, test = trial.fold.train, trial.fold.test
        users, items = self.users or train.n_users, self.items or train.n_items
        ratings = self.ratings or len(train) + len(test)
        c1, c2, _ = fit_power_law(train, steepest=self.steepest)
        per_item = ratings / items  # c1 is a number of ratings: it grows with the log
        c1 = min(c1 * per_item * np.count_nonzero(train.item_events) / len(train), 0.9 * per_item)
        heading, tables = f"precision@{self.k}", []
        for alpha in np.linspace(0, self.steepest, self.steps).round(6).tolist():
            log = power_law(users=users, items=items, ratings=ratings, alpha=alpha, c1=c1, c2=c2, seed=self.seed)
            fold = Random(test=self.test, seed=self.seed)(log)[0]
            question = question_of(fold, trial.ask)
            runs = [
                answer(model.fit(fold.train), question, name, k=1, threads=trial.threads)
                for name, model in trial.models.items()
            ]
            assay = judge(
                runs, f"TI-1R-NN({self.n})", heading, short="all", variance=False, interval=None, threads=trial.threads
            )
            table = assay.summary().select("system", "mean", "random")
            tables.append(table.with_columns(alpha=pl.lit(alpha)))
        return (
            Exhibit(
                "popularity", "Steeper popularity", f"1R {heading} against {self.n} test items on generated logs in "
                "which only popularity can be learnt. What a popularity ranking gains here is no taste.",
                pl.concat(tables), "alpha", "mean", "system",
            ),
        )  # fmt: skip
