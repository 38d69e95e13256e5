"""Every system under every metric, and which metric is at home for whose objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from recassay.bias.base import Experiment, Trial
from recassay.data.exhibit import Exhibit
from recassay.engine.contest import sudden_death
from recassay.engine.home_and_away import home_and_away
from recassay.engine.score import score
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank import Reranker


@dataclass(frozen=True, repr=False)
class Homes(Experiment):
    """The rank of every system under every metric and in Sudden Death, and whose home each metric is.

    ``metrics`` are names with blanks between, ``at`` is the cut-off of Sudden Death. A metric of diversity is at home
    for the re-rankers that optimise what it measures; metrics of accuracy and Sudden Death are at home for nobody.
    """

    name: ClassVar[str] = "home_and_away"

    metrics: str = "precision@10 mrr@10 hit@10 ild@10 alpha_ndcg@10 alpha_ndcg(aspects='subprofiles')@10"
    at: int = 10

    def validate(self) -> None:
        """Metrics that there are."""
        parse_metrics(self.metrics)

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        runs, truth = dict(trial.runs), trial.ask.truth(trial.fold)
        scores = score(
            runs, truth, self.metrics, train=trial.fold.train, items=trial.fold.items, interval=None,
            threads=trial.threads,
        )  # fmt: skip
        contest = sudden_death(runs, truth, self.at, interval=None, threads=trial.threads)
        objectives = {name: str(trial.models[name]) for name in runs if isinstance(trial.models[name], Reranker)}
        made = home_and_away(scores, contest.scores(), objectives=objectives)
        shown, told = made.exhibit(), [f"{one.code}: {one.detail}." for one in made.findings]
        return (
            replace(shown, caption=" ".join([shown.caption, *told])),
            Exhibit(
                "mean-ranks", "At home and away", "Mean rank of every system under metrics at home for it, at home for "
                "others, and at home for nobody.", made.summary().unpivot(
                    index="system", variable_name="where", value_name="mean rank"
                ).with_columns(where=pl.col("where").str.replace_all("_", " ")), "where", "mean rank", "system",
                kind="bar",
            ),
        )  # fmt: skip
