"""Experiments on the ranked lists of the systems: at every cut-off, and under other rules than the mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import polars as pl

from recassay.engine.decisions.home_and_away import has_home, home_and_away
from recassay.engine.decisions.interleaving import interleave
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.experiments.base import Experiment, Trial
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.models.rerank import Reranker
from recassay.naming.grammar import Expression, parse, split
from recassay.results.exhibit import Exhibit
from recassay.stats.intervals import Uncertainty


@dataclass(frozen=True, repr=False)
class Cutoffs(Experiment):
    """Metrics of the ranked lists at every cut-off from 1 to ``at``; ``metrics`` are names with blanks between."""

    name: ClassVar[str] = "cutoffs"

    metrics: str = "precision mrr hit"
    at: int = 20
    resamples: int = 1000
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 unless ``at`` is positive and all metrics can have a cut-off."""
        self.require_at_least(at=1)
        for metric in split(self.metrics):
            if parse(metric).k is not None:
                raise self.refuse("metrics", f"{metric} already has a cut-off", "metrics='precision mrr hit'")
            parse_metric(heading_at(metric, self.at))

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the mean of each system in ``trial`` at every cut-off, one panel per metric."""
        headings = {heading_at(metric, k): (metric, k) for metric in split(self.metrics) for k in range(1, self.at + 1)}
        scores = trial.score(
            list(headings), interval=Uncertainty("percentile", resamples=self.resamples, seed=self.seed)
        )
        rows = [
            {"at": k, "mean": row.mean, "low": row.low, "high": row.high, "system": row.system, "metric": metric}
            for row in scores.rows
            for metric, k in [headings[row.metric]]
        ]
        table = pl.DataFrame(rows, infer_schema_length=None)
        names = dict.fromkeys(parse(metric).name for metric in split(self.metrics))
        return (
            Exhibit(
                "-".join(["cutoffs", *names]), f"At every cut-off: {', '.join(names)}", "Means of the ranked lists at "
                f"cut-offs up to {self.at}. Where lines cross, the better system depends on the cut-off.", table,
                "at", "mean", "system", "metric", low="low", high="high",
            ),
        )  # fmt: skip


def heading_at(metric: str, k: int) -> str:
    """Return the name of a metric at the cut-off ``k``, as used in results.

    >>> heading_at("alpha_ndcg(alpha=0.9)", 5)
    'alpha_ndcg(alpha=0.9)@5'
    """
    expression = parse(metric)
    return str(Expression(expression.name, expression.parameters, k))


@dataclass(frozen=True, repr=False)
class Contest(Experiment):
    """The share of users to whom a system is the first to recommend a relevant item, at every cut-off from 1 to ``at``.

    Systems that rank a relevant item equally high all win the user, or equal parts of the user with ``ties="split"``.
    ``competitors`` are the names of the systems that compete, by default all; shares depend on them. A second exhibit
    has pairwise results at the deepest cut-off: the share of users for whom one system has a hit before the other.
    """

    name: ClassVar[str] = "sudden_death"

    at: int = 20
    ties: Literal["share", "split"] = "share"
    resamples: int = 1000
    seed: int = 0
    competitors: str = ""

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return the share of users that each system in ``trial`` wins at every cut-off, and a table of all pairs."""
        contest = sudden_death(
            dict(trial.runs), trial.truth, self.at, competitors=self.competitors.split() or None, ties=self.ties,
            resamples=self.resamples, seed=self.seed, threads=trial.threads,
        )  # fmt: skip
        return (
            contest.curve(),
            Exhibit(
                "duels", "Duels", f"The share of {contest.n:,} users for whom the system of the row has a hit "
                f"within the first {self.at} ranks, and before the system of the column. Unlike Sudden Death it does "
                "not depend on the other competitors.", contest.duels(), "against", "system", kind="heat", value="wins",
            ),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class InterleavedPairs(Experiment):
    """Which of two systems a simulated reader prefers in lists of ``at`` places that both systems fill in turn.

    Every pair of systems is mixed by team-draft interleaving; clicks on relevant items follow the ``cascade`` model or
    the ``position`` model with ``persistence``. The result is exact up to 20 places; more places need a number of
    ``draws`` per user. :func:`~recassay.interleave` has the definitions. This is the online kin of Sudden Death,
    which the paper of Sudden Death compares with the framework of Hayes and Cunningham (2002); that framework defines
    no metric, so the rule here is that of web search.
    """

    name: ClassVar[str] = "interleaving"

    at: int = 10
    click: Literal["cascade", "position"] = "cascade"
    persistence: float = 0.8
    draws: int | None = None
    resamples: int = 1000
    seed: int = 0

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a chart of the pairs of systems in ``trial``: how much the system of a row is preferred."""
        found = interleave(
            dict(trial.runs), trial.truth, self.at, click=self.click, persistence=self.persistence, draws=self.draws,
            resamples=self.resamples, seed=self.seed,
        )  # fmt: skip
        return (found.exhibit(),)


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
        contest = sudden_death(dict(trial.runs), trial.truth, self.at, interval=None, threads=trial.threads)
        named = {name: str(trial.models[name]) for name in trial.runs if isinstance(trial.models[name], Reranker)}
        objectives = {name: text for name, text in named.items() if has_home(text)}
        made = home_and_away(trial.score(self.metrics), contest.scores(), objectives=objectives)
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
