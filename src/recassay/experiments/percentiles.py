"""A metric within bins of item popularity: where a system finds relevant items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.designs import expect, parse
from recassay.engine.ranks.play import ranking_task
from recassay.experiments.base import Experiment, Trial
from recassay.experiments.trial import trial as fit_trial
from recassay.metrics.registry import parse_metric
from recassay.results.exhibit import Exhibit


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
