"""A metric within bins of item popularity: where a system finds relevant items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from recassay.designs import expect, parse
from recassay.experiments.base import Experiment, Trial
from recassay.metrics.registry import parse_metric
from recassay.results.exhibit import Exhibit


@dataclass(frozen=True, repr=False)
class Percentiles(Experiment):
    """A metric within bins of equally popular items, most popular first.

    Each relevant item is ranked against candidates of its own bin only, ``n`` of them (None: all). A system that knows
    nothing but popularity is close to chance in every bin.
    """

    name: ClassVar[str] = "percentiles"

    metric: str = "precision@10"
    bins: int = 10
    n: int | None = None

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Run the experiment and return its exhibits."""
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
        return (
            Exhibit(
                "percentiles", "By popularity", f"{self.metric} among items of similar popularity; bin 1 holds the "
                "most popular items. 1/t is the value of a random order at one rank.", pl.concat(tables), "percentile",
                "mean", "system",
            ),
        )  # fmt: skip
