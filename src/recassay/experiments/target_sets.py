"""Experiments on target sets: fewer test ratings, larger sets, bins of popularity, and sampled candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.api.judge import judge
from recassay.data.fold import Fold
from recassay.data.standings import Standings
from recassay.designs import expect, parse
from recassay.designs.expect import Users
from recassay.designs.precision_bounds import precision_bounds
from recassay.engine.ranks.play import ranking_task
from recassay.experiments.base import Experiment, Trial, fits, played
from recassay.experiments.base import trial as fit_trial
from recassay.metrics.base import Metric
from recassay.metrics.ranking.precision import Precision
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.results.exhibit import Exhibit
from recassay.sampled.curve import sampling_curve
from recassay.sampled.scheme import WAYS
from recassay.split.chance import subsample


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
        self.require_at_least(steps=2, n=1)
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
            runs = played(trial.fitted, left, trial.ask, threads=trial.threads)
            judged = judge(
                runs, designs, self.metric, users=self.users, short="all", variance=False, interval=None,
                threads=trial.threads,
            )  # fmt: skip
            table = judged.summary().select("metric", "system", "design", "mean", "random", "rho", "short")
            tables.append(table.with_columns(removed=pl.lit(removed), left=pl.lit(1 - removed)))
            bounds += [
                {"removed": removed, "metric": heading, "system": name, **_bounds(run.standings, designs[1], k, trial)}
                for heading, k in cuts.items()
                for name, run in runs.items()
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
            *(
                Exhibit(
                    f"sparsity-bounds{suffix}", "Fewer test ratings, with bounds", f"Precision under {designs[1]} when "
                    "a share of the test ratings is removed, between the bounds that AR precision on the same sets "
                    "allows. They meet where no user has more than one relevant item.", pl.DataFrame(bounds), "removed",
                    "mean", "system", "metric", low="low", high="high",
                )
                for _ in bounds[:1]
            ),
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


def _bounds(standings: Standings | None, design: str, k: int, trial: Trial) -> dict[str, float]:
    """Return 1R precision at ``k`` as ``{"mean": ..., "low": ..., "high": ...}``: its value and two bounds.

    In 1R each relevant item is ranked on its own. The bounds follow from AR precision, where all relevant items of a
    user are ranked together.
    """
    assert standings is not None, "a run that was played has standings"
    found = precision_bounds(standings, parse(design), k, short="all", threads=trial.threads)
    return {"mean": found.value, "low": found.lower, "high": found.upper}


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
        sizes = np.unique(np.linspace(self.smallest, self.largest, self.sizes).round().astype(int)).tolist()
        table = pl.DataFrame(
            [
                {"t": t, "inverse": 1 / t, "system": name,
                 **_bounds(standings, f"{self.base}-1R-NN({t - 1})", self.k, trial)}
                for t in sizes
                for name, standings in trial.standings().items()
            ]
        )  # fmt: skip
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


@dataclass(frozen=True, repr=False)
class Percentiles(Experiment):
    """A metric within bins of equally popular items, most popular first.

    Each relevant item is ranked against candidates of its own bin only, ``n`` of them (None: all). A system that knows
    nothing but popularity is close to chance in every bin.

    ``train="per_bin"`` fits every model anew in each bin, on the training ratings of its items only, as later work
    describes the design; by default models are fitted once, on the whole training part.
    """

    name: ClassVar[str] = "percentiles"

    metric: str = "precision@10"
    bins: int = 10
    n: int | None = None
    train: Literal["global", "per_bin"] = "global"

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the mean of each system in ``trial`` in every bin of item popularity."""
        tables = self._per_bin(trial) if self.train == "per_bin" else self._within_bins(trial)
        return (
            Exhibit(
                "percentiles", "By popularity", f"{self.metric} among items of similar popularity; bin 1 holds the "
                "most popular items. 1/t is the value of a random order at one rank.", pl.concat(tables), "percentile",
                "mean", "system",
            ),
        )  # fmt: skip

    def _within_bins(self, trial: Trial) -> list[pl.DataFrame]:
        """Return a table per system, with a row per bin of items by popularity.

        ``percentile`` numbers the bins from 1. ``mean`` is the mean of the metric over the target sets of the bin (the
        candidates among which a relevant item is ranked), ``sets`` their number, ``1/t`` the mean of 1 / their size.

        Systems are those fitted on the whole training part.
        """
        inside = f"bins={self.bins}" + ("" if self.n is None else f", n={self.n}")
        design, metric = parse(f"P1R({inside})"), {self.metric: parse_metric(self.metric)}
        tables = []
        for name, standings in trial.standings().items():
            judged = expect(standings, design, metric, short="all", variance=False, threads=trial.threads)
            assert judged.bins is not None  # the design has bins
            means = judged.outcomes[self.metric].by_bin
            table = judged.bins.with_columns(
                system=pl.lit(name), percentile=pl.col("bin") + 1,
                mean=pl.col("bin").replace_strict(means, default=None, return_dtype=pl.Float64),
            )  # fmt: skip
            tables.append(table.select("percentile", "system", "mean", "1/t", "sets"))
        return tables

    def _per_bin(self, trial: Trial) -> list[pl.DataFrame]:
        """Return a list of one table, with a row per bin of items by popularity and system: mean, 1/t, target sets.

        In each bin the systems are fitted on the ratings of the bin's items. Bins without test ratings are left out.
        """
        design = parse("TI-1R-AN" if self.n is None else f"TI-1R-NN({self.n})")
        metric, found = {self.metric: parse_metric(self.metric)}, []
        ask: Any = trial.ask
        in_bins = ranking_task(trial.fold, replace(ask, bins=self.bins)).bin_of_items(self.bins)
        for number in range(self.bins):
            part = _of_items(trial.fold, in_bins == number)
            if not len(part.test):  # a bin of equal mass may be empty
                continue
            ready = fit_trial(trial.models, part, replace(ask, bins=0), threads=trial.threads)
            for name, standings in ready.standings().items():
                judged = expect(standings, design, metric, short="all", variance=False, threads=trial.threads)
                if judged.sets:
                    mean = judged.outcomes[self.metric].mean
                    row = {"percentile": number + 1, "system": name, "mean": mean, "1/t": 1 / judged.t}
                    found.append(row | {"sets": judged.sets})
        return [pl.DataFrame(found)]


def _of_items(fold: Fold, wanted: NDArray[np.bool_]) -> Fold:
    """Return the fold with only the rows of the items in the mask ``wanted``, and without a validation part.

    The mask is over item codes, which keep their meaning.
    """
    train, test = (part.take(wanted[part.items]) for part in (fold.train, fold.test))
    return replace(fold, train=train, test=test, validation=None)


@dataclass(frozen=True, repr=False)
class Sampling(Experiment):
    """A metric of every system against samples of 1 to all candidates, drawn uniformly and by popularity.

    ``sizes`` are numbers separated by blanks (None: 1, 2, 5, 10, ... up to the smallest number of candidates); the full
    ranking is always included. ``replace`` says whether an item may be drawn twice: by default no for uniform draws and
    yes by popularity; ``both`` does both.
    """

    name: ClassVar[str] = "sampling_curve"

    metric: str = "hit@10"
    sizes: str | None = None
    by: Literal["uniform", "popularity", "both"] = "both"
    replace: bool | Literal["both"] | None = None
    resamples: int = 1000
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 unless all sizes are whole numbers."""
        if self.sizes is not None and not all(one.isdigit() for one in self.sizes.split()):
            raise self.refuse("sizes", "they must be whole numbers", "sizes='10 100 1000'")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return charts of a metric of each system in ``trial``, over the number of sampled candidates."""
        curve = sampling_curve(
            trial.standings(),
            None if self.sizes is None else [int(one) for one in self.sizes.split()],
            WAYS if self.by == "both" else self.by,
            self.metric,
            replace=(False, True) if self.replace == "both" else self.replace,
            resamples=self.resamples,
            seed=self.seed,
            threads=trial.threads,
        )
        return curve.exhibits()
