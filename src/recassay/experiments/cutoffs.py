"""Metrics at every cut-off: the order of systems may depend on the cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from recassay.api.score import score
from recassay.experiments.base import Experiment, Trial
from recassay.metrics.registry import parse_metric
from recassay.naming.grammar import Expression, parse, split
from recassay.results.exhibit import Exhibit


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
        if self.at < 1:
            raise self.refuse("at", "it must be at least 1", "at=20")
        for metric in split(self.metrics):
            if parse(metric).k is not None:
                raise self.refuse("metrics", f"{metric} already has a cut-off", "metrics='precision mrr hit'")
            parse_metric(heading_at(metric, self.at))

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the mean of each system in ``trial`` at every cut-off, one panel per metric."""
        headings = {heading_at(metric, k): (metric, k) for metric in split(self.metrics) for k in range(1, self.at + 1)}
        scores = score(
            dict(trial.runs), trial.ask.truth(trial.fold), list(headings), train=trial.fold.train,
            items=trial.fold.items, interval="percentile", resamples=self.resamples, seed=self.seed,
            threads=trial.threads,
        )  # fmt: skip
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
