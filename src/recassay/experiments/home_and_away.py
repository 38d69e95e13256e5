"""Ranks of all systems under all metrics; a metric is "home" for a system that optimises what it measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from recassay.api.score import score
from recassay.engine.decisions.home_and_away import has_home, home_and_away
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.experiments.base import Experiment, Trial
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank import Reranker
from recassay.results.exhibit import Exhibit


@dataclass(frozen=True, repr=False)
class Homes(Experiment):
    """The rank of every system under every metric and in Sudden Death, with the systems that optimise each metric.

    ``metrics`` are names separated by blanks, ``at`` is the cut-off of Sudden Death. A diversity metric is the home
    metric of the re-rankers that optimise what it measures; accuracy metrics and Sudden Death are the home metric of no
    system.
    """

    name: ClassVar[str] = "home_and_away"

    metrics: str = "precision@10 mrr@10 hit@10 ild@10 alpha_ndcg@10 alpha_ndcg(aspects='subprofiles')@10"
    at: int = 10

    def validate(self) -> None:
        """Raise an error unless all metrics exist and ``at`` is valid."""
        parse_metrics(self.metrics)

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return the rank of each system in ``trial`` under every metric, and its mean rank at home and elsewhere.

        A metric is home for a system that optimises what it measures.
        """
        runs, truth = dict(trial.runs), trial.ask.truth(trial.fold)
        scores = score(
            runs, truth, self.metrics, train=trial.fold.train, items=trial.fold.items, interval=None,
            threads=trial.threads,
        )  # fmt: skip
        contest = sudden_death(runs, truth, self.at, interval=None, threads=trial.threads)
        named = {name: str(trial.models[name]) for name in runs if isinstance(trial.models[name], Reranker)}
        objectives = {name: text for name, text in named.items() if has_home(text)}
        made = home_and_away(scores, contest.scores(), objectives=objectives)
        shown, notes = made.exhibit(), [f"{one.code}: {one.detail}." for one in made.findings]
        return (
            replace(shown, caption=" ".join([shown.caption, *notes])),
            Exhibit(
                "mean-ranks", "At home and away", "Mean rank of every system under metrics at home for it, at home for "
                "others, and at home for nobody.", made.summary().unpivot(
                    index="system", variable_name="where", value_name="mean rank"
                ).with_columns(where=pl.col("where").str.replace_all("_", " ")), "where", "mean rank", "system",
                kind="bar",
            ),
        )  # fmt: skip
