"""Experiments on target sets: fewer test ratings, larger sets, bins of popularity, and sampled candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.api.judge import judge
from recassay.data.fold import Fold
from recassay.data.standings import Standings
from recassay.designs import Design, expect, parse
from recassay.designs.expect import DesignResult, Users
from recassay.designs.moments import credit_sums
from recassay.designs.sets import target_sets
from recassay.engine.ranks.play import ranking_task
from recassay.errors import InternalError
from recassay.experiments.base import Experiment, Trial, fits, played
from recassay.experiments.base import trial as fit_trial
from recassay.metrics.base import Metric
from recassay.metrics.credit import credit_of
from recassay.metrics.ranking.precision import Precision
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.naming.named import AT_LEAST_2, COUNT
from recassay.results.exhibit import Exhibit
from recassay.sampled.curve import WAYS, sampling_curve
from recassay.split.chance import subsample

SLACK = 1e-12  # of rounding


@dataclass(frozen=True, repr=False)
class Sparsity(Experiment):
    """Metrics while more and more test ratings are removed and the systems stay: AR precision falls in proportion.

    A share of 0, 1/``steps``, ... of the test ratings is removed; larger shares remove supersets of smaller ones. Under
    ``1R`` (one relevant item per target set) the mean is over the remaining ratings. Under ``AR`` (all relevant items
    of a user in one target set) it is over ``users``: "all", so that users count 0 once their last relevant rating is
    removed, or "with_relevant", which leaves these out. Over all users every metric falls to 0; that recall stays the
    same shows only over users with a relevant item. The order of systems should not change.

    Candidates are the remaining test items; with ``freeze=True`` always all items. ``metric`` is one or more, as in
    ``metric="precision@10, recall@10"``. For precision, a third exhibit has 1R precision between its bounds (the
    lemma).
    """

    name: ClassVar[str] = "sparsity"

    steps: Annotated[int, AT_LEAST_2] = 10
    metric: str = "precision@10"
    n: Annotated[int, COUNT] = 99
    freeze: bool = False
    seed: int = 0
    users: Users = "all"

    def validate(self) -> None:
        """Raise an error if a metric is unknown."""
        parse_metrics(self.metric)

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
            means = judged.summary().select("metric", "system", "design", "mean", "random", "rho", "short")
            tables.append(means.with_columns(removed=pl.lit(removed), left=pl.lit(1 - removed)))
            bounds += [
                {
                    "removed": removed,
                    "metric": heading,
                    "system": name,
                    **precision_bounds(run.standings, parse(designs[1]), k, threads=trial.threads),
                }
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
        """Return the caption: which users the means are over, and how precision and other metrics should behave."""
        everyone = self.users == "all"
        precision = [heading for heading, metric in metrics.items() if isinstance(metric, Precision)]
        others = [heading for heading in metrics if heading not in precision]
        who = "all users; users count 0 once they have no relevant item" if everyone else "users with a relevant item"
        sentences = {
            f"{', '.join(metrics)} when a share of the test ratings is removed. Under AR the mean is over {who}, "
            "under 1R over the remaining relevant ratings.": True,
            f"AR {', '.join(precision)} falls in proportion to the rest, so numbers from logs of different density "
            "cannot be compared; under 1R it stays.": everyone and precision,
            f"AR {', '.join(others)} falls with the number of users who have a relevant item, too; "
            "users='with_relevant' leaves the others out.": everyone and others,
        }
        return " ".join(sentence for sentence, holds in sentences.items() if holds)


def precision_bounds(
    standings: Standings | None, design: Design, n: int, *, threads: int | None = None
) -> dict[str, float]:
    """Return the precision at n under a 1R design (``mean``), with bounds from the AR design (``low`` and ``high``).

    A 1R design ranks each relevant item on its own, the AR design all relevant items of a user together. PR_u are the
    relevant test items of user u, PR those of all users, P_u@n is the AR precision of the user, and 1RP@n the 1R
    precision. With the same non-relevant items in all sets of a user and m_u = n + |PR_u| - 1,

        sum_u P_u@n / |PR|  <=  1RP@n  <=  sum_u m_u P_u@m_u / (n |PR|)

    for every ranking, because leaving out the other relevant items moves a relevant item up by at most |PR_u| - 1 ranks
    (Bellogin, Castells and Cantador 2017). Raise X102 if the precision is outside, which would be a bug. Users with
    fewer candidates than the design draws get all of them.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
    >>> bounds = precision_bounds(run.standings, ra.designs.parse("TI-1R-NN(20)"), 10)
    >>> {name: round(value, 4) for name, value in bounds.items()}
    {'mean': 0.0626, 'low': 0.0527, 'high': 0.0681}
    """
    assert standings is not None, "a run that was played has standings"
    judged = expect(standings, design, {"p": Precision(k=n)}, short="all", variance=False, threads=threads)
    together = replace(design, relevant="AR", resample="per_user")
    groups = target_sets(standings, together, "all")
    deepest = n + int(groups.relevant.max(initial=1)) - 1
    table, share = credit_of(Precision(k=deepest)).table(deepest)[None, :], np.ones((groups.order.size, 1))
    low, high = (  # sums of expected hits down to rank n, and down to rank m_u
        credit_sums(together, groups, False, share, table, last.astype(np.int64), False, threads)[0].sum()
        for last in (np.full(groups.owner.size, n), n + groups.relevant - 1)
    )
    pairs, mean = int(groups.relevant.sum()), judged.outcomes["p"].mean
    bounds = {"mean": mean, "low": float(low) / n / pairs, "high": float(high) / n / pairs}
    if not bounds["low"] - SLACK <= mean <= bounds["high"] + SLACK:
        raise InternalError(
            "X102",
            f"precision with one relevant item is {mean!r}, outside [{bounds['low']!r}, {bounds['high']!r}]",
            hint="please report this with the data",
        )
    return bounds


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
                 **precision_bounds(standings, parse(f"{self.base}-1R-NN({t - 1})"), self.k, threads=trial.threads)}
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

    ``train="per_bin"`` fits every model again in each bin, on the training ratings of its items only, as later work
    describes the design; by default models are fitted once, on the whole training part.
    """

    name: ClassVar[str] = "percentiles"

    metric: str = "precision@10"
    bins: int = 10
    n: int | None = None
    train: Literal["global", "per_bin"] = "global"

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the mean of each system in ``trial`` in every bin of item popularity."""
        rows = self._per_bin(trial) if self.train == "per_bin" else self._within_bins(trial)
        return (
            Exhibit(
                "percentiles", "By popularity", f"{self.metric} among items of similar popularity; bin 1 holds the "
                "most popular items. 1/t is the value of a random order at one rank.", pl.DataFrame(list(rows)),
                "percentile", "mean", "system",
            ),
        )  # fmt: skip

    def _within_bins(self, trial: Trial) -> Iterator[dict[str, Any]]:
        """Yield a row per system and bin of items by popularity, for systems fitted on the whole training part.

        ``percentile`` numbers the bins from 1. ``mean`` is the mean of the metric over the target sets of the bin (the
        candidates among which a relevant item is ranked), ``sets`` their number, ``1/t`` the mean of 1 / their size.
        """
        inside = f"bins={self.bins}" + ("" if self.n is None else f", n={self.n}")
        for name, judged in self._expected(trial, f"P1R({inside})"):
            assert judged.bins is not None  # the design has bins
            means = judged.outcomes[self.metric].by_bin
            for row in judged.bins.iter_rows(named=True):
                found = {"percentile": row["bin"] + 1, "system": name, "mean": means.get(row["bin"])}
                yield found | {"1/t": row["1/t"], "sets": row["sets"]}

    def _per_bin(self, trial: Trial) -> Iterator[dict[str, Any]]:
        """Yield the rows of :meth:`_within_bins` for systems fitted, in each bin, on the ratings of the bin's items.

        Bins without test ratings are left out.
        """
        design = "TI-1R-AN" if self.n is None else f"TI-1R-NN({self.n})"
        ask: Any = trial.ask
        in_bins = ranking_task(trial.fold, replace(ask, bins=self.bins)).bin_of_items(self.bins)
        for number in range(self.bins):
            part = _fold_of_items(trial.fold, in_bins == number)
            if not len(part.test):  # a bin of equal mass may be empty
                continue
            ready = fit_trial(trial.models, part, replace(ask, bins=0), threads=trial.threads)
            for name, judged in self._expected(ready, design):
                if judged.sets:
                    row = {"percentile": number + 1, "system": name, "mean": judged.outcomes[self.metric].mean}
                    yield row | {"1/t": 1 / judged.t, "sets": judged.sets}

    def _expected(self, trial: Trial, design: str) -> Iterator[tuple[str, DesignResult]]:
        """Yield (system, expected metrics) for each system in ``trial``, under a design (which items are ranked)."""
        metric = {self.metric: parse_metric(self.metric)}
        for name, one in trial.standings().items():
            yield name, expect(one, parse(design), metric, short="all", variance=False, threads=trial.threads)


def _fold_of_items(fold: Fold, wanted: NDArray[np.bool_]) -> Fold:
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
