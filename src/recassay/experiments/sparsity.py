"""The effect of fewer test ratings and of larger target sets on precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from recassay.api.judge import judge
from recassay.data.run import Run
from recassay.designs import parse
from recassay.designs.expect import Users
from recassay.designs.precision_bounds import precision_bounds
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.experiments.base import Experiment, Trial, fits
from recassay.metrics.base import Metric
from recassay.metrics.ranking.precision import Precision
from recassay.metrics.registry import parse_metrics
from recassay.results.exhibit import Exhibit
from recassay.split.subsampling import subsample


@dataclass(frozen=True, repr=False)
class Sparsity(Experiment):
    """Metrics while more and more test ratings are removed and the systems stay: AR precision falls in proportion.

    A share of 0, 1/``steps``, ... of the test ratings is removed; larger shares remove supersets of smaller ones. Under
    ``1R`` (one relevant item per target set) the mean is over the remaining ratings. Under ``AR`` (all relevant items
    of a user in one target set) it is over ``users``: "all", so that users count 0 once their last relevant rating is
    removed, or "with_relevant", which leaves these out. Over all users every metric falls to 0; recall that stays shows
    only over those with a relevant item. The order of systems should not change.

    Candidates are the remaining test items; with ``freeze=True`` always all items. ``metric`` is one or more, as in
    ``metric="precision@10, recall@10"``. For precision, a third exhibit has 1R precision between its bounds (the
    lemma).
    """

    name: ClassVar[str] = "sparsity"

    steps: int = 10
    metric: str = "precision@10"
    n: int = 99
    freeze: bool = False
    seed: int = 0
    users: Users = "all"

    def validate(self) -> None:
        """Raise U102 if ``steps`` is below 2, ``n`` below 1 or ``metric`` empty."""
        if self.steps < 2:
            raise self.refuse("steps", "a line needs at least 2 points", "steps=10")
        if self.n < 1:
            raise self.refuse("n", "it must be at least 1", "n=99")
        if not parse_metrics(self.metric):
            raise self.refuse("metric", "it names no metric", "metric='precision@10'")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return figures of the metrics of each system in ``trial`` by the share of test ratings removed, with fits."""
        base = "AI" if self.freeze else "TI"
        designs = [f"{base}-AR-AN", f"{base}-1R-NN({self.n})"]
        tables, bounds = [], []
        metrics = parse_metrics(self.metric)
        cuts = {heading: one.k for heading, one in metrics.items() if isinstance(one, Precision) and one.k is not None}
        for step in range(self.steps):
            removed = step / self.steps
            left = subsample(trial.fold, removed, seed=self.seed) if step else trial.fold
            question = ranking_task(left, trial.ask)
            runs = [play_fitted(one, question, name, k=1, threads=trial.threads) for name, one in trial.fitted.items()]
            assay = judge(
                runs, designs, self.metric, users=self.users, short="all", variance=False, interval=None,
                threads=trial.threads,
            )  # fmt: skip
            table = assay.summary().select("metric", "system", "design", "mean", "random", "rho", "short")
            tables.append(table.with_columns(removed=pl.lit(removed), left=pl.lit(1 - removed)))
            bounds += [
                {
                    "removed": removed,
                    "metric": heading,
                    "system": run.name,
                    **_bounds(run, designs[1], k, trial.threads),
                }
                for heading, k in cuts.items()
                for run in runs
            ]
        facet = "design" if len(metrics) == 1 else "metric and design"
        table = pl.concat(tables)
        if facet not in table.columns:
            table = table.with_columns(pl.concat_str("metric", "design", separator=", ").alias(facet))
        lines = fits(table, "left", "mean", list(dict.fromkeys(["metric", "design", facet, "system"])))
        suffix = "" if self.users == "all" else "-with-relevant"
        return (
            Exhibit(
                f"sparsity{suffix}", "Fewer test ratings", self._caption(metrics), table, "removed", "mean", "system",
                facet, own_scales=len(metrics) > 1,
            ),
            Exhibit(
                f"sparsity-fit{suffix}", "How straight the lines are", "Slope, intercept and R² of the mean against "
                "the share that is left. A metric that falls in proportion has an intercept of 0.", lines, "system",
                "slope", facet, kind="bar", own_scales=len(metrics) > 1,
            ),
            *([_bounds_exhibit(bounds, designs[1], f"sparsity-bounds{suffix}")] if bounds else []),
        )  # fmt: skip

    def _caption(self, metrics: Mapping[str, Metric]) -> str:
        """Return what the figure shows: the users of the means, and what is known of precision and of other metrics."""
        everyone = self.users == "all"
        who = "all users; users count 0 once they have no relevant item" if everyone else "users with a relevant item"
        about = [
            f"{', '.join(metrics)} when a share of the test ratings is removed. Under AR the mean is over {who}, "
            "under 1R over the remaining relevant ratings."
        ]
        precision = [heading for heading, metric in metrics.items() if isinstance(metric, Precision)]
        others = [heading for heading in metrics if heading not in precision]
        if everyone and precision:
            about.append(
                f"AR {', '.join(precision)} falls in proportion to the rest, so numbers from logs of different density "
                "cannot be compared; under 1R it stays."
            )
        if everyone and others:
            about.append(
                f"AR {', '.join(others)} falls with the number of users who have a relevant item, too; "
                "users='with_relevant' leaves the others out."
            )
        return " ".join(about)


def _bounds(run: Run, design: str, k: int, threads: int | None) -> dict[str, float]:
    """Return 1R precision at ``k`` as ``{"mean": ..., "low": ..., "high": ...}``: its value and two bounds.

    In 1R each relevant item is ranked on its own. The bounds follow from AR precision, where all relevant items of a
    user are ranked together.
    """
    assert run.standings is not None, "a run that was played has standings"
    found = precision_bounds(run.standings, parse(design), k, short="all", threads=threads)
    return {"mean": found.value, "low": found.lower, "high": found.upper}


def _bounds_exhibit(rows: list[dict[str, Any]], design: str, name: str) -> Exhibit:
    return Exhibit(
        name, "Fewer test ratings, with bounds", f"Precision under {design} when a share of the test ratings is "
        "removed, between the bounds that AR precision on the same sets allows. They meet where no user has more than "
        "one relevant item.", pl.DataFrame(rows), "removed", "mean", "system", "metric", low="low", high="high",
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class TargetSize(Experiment):
    """1R precision (one relevant item per target set) as target sets grow: it is about proportional to 1/t.

    Sizes t go from ``smallest`` to ``largest`` in equal steps, in closed form from one pass. The bounds follow from AR
    precision, where the relevant items of a user share such a set; the bounds narrow with more items in a set.
    """

    name: ClassVar[str] = "target_size"

    smallest: int = 100
    largest: int = 1000
    sizes: int = 10
    k: int = 10
    base: str = "TI"

    def validate(self) -> None:
        """Raise U102 unless sizes increase in at least two steps."""
        if not 2 <= self.smallest < self.largest or self.sizes < 2:
            raise self.refuse(
                "largest", "sizes must increase, in at least 2 steps", "smallest=100, largest=1000, sizes=10"
            )
        parse(f"{self.base}-1R-AN")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return figures of the precision of each system in ``trial`` by the size of target sets, with fitted lines."""
        rows = []
        for t in np.unique(np.linspace(self.smallest, self.largest, self.sizes).round().astype(int)).tolist():
            design = parse(f"{self.base}-1R-NN({t - 1})")
            for name, standings in trial.standings().items():
                found = precision_bounds(standings, design, self.k, short="all", threads=trial.threads)
                bounds = {"mean": found.value, "low": found.lower, "high": found.upper}
                rows.append({"t": t, "inverse": 1 / t, "system": name, **bounds})
        table = pl.DataFrame(rows)
        lines = fits(table, "inverse", "mean", ["system"])
        return (
            Exhibit(
                "target-size", "Larger target sets", f"1R precision@{self.k} against the size of the target set, "
                "between the bounds that AR precision on the same sets allows.", table, "t", "mean", "system",
                low="low", high="high", log_x=True,
            ),
            Exhibit(
                "target-size-fit", "Against 1/t", "Slope, intercept and R² of 1R precision against 1/t.", lines,
                "system", "slope", kind="bar",
            ),
        )  # fmt: skip
