"""Fewer test ratings, and larger target sets: how much of a number is how much is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from recassay.bias.base import Experiment, Trial, fits
from recassay.data.exhibit import Exhibit
from recassay.designs import parse
from recassay.designs.lemma import lemma
from recassay.engine.judge import judge
from recassay.engine.play import answer, question_of
from recassay.split.thinning import thin


@dataclass(frozen=True, repr=False)
class Sparsity(Experiment):
    """Test ratings are taken away, more and more, while training and scores stay: AR precision falls in proportion.

    A share of 0, 1/``steps``, ... of the test ratings goes; what a smaller share takes, a larger one takes too. Under
    ``AR`` the mean is over all users and falls along a straight line to 0; under ``1R`` it is over the ratings that are
    left, and stays. The order of systems should not change. Candidates are the test items that are left; with
    ``freeze=True`` all items, whatever is left.
    """

    name: ClassVar[str] = "sparsity"

    steps: int = 10
    metric: str = "precision@10"
    n: int = 99
    freeze: bool = False
    seed: int = 0

    def validate(self) -> None:
        """At least two shares, and something to draw."""
        if self.steps < 2:
            raise self.refuse("steps", "one point makes no line", "steps=10")
        if self.n < 1:
            raise self.refuse("n", "a set needs another item", "n=99")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        base = "AI" if self.freeze else "TI"
        designs = [f"{base}-AR-AN", f"{base}-1R-NN({self.n})"]
        tables = []
        for step in range(self.steps):
            removed = step / self.steps
            left = thin(trial.fold, removed, seed=self.seed) if step else trial.fold
            question = question_of(left, trial.ask)
            runs = [answer(one, question, name, k=1, threads=trial.threads) for name, one in trial.fitted.items()]
            assay = judge(runs, designs, self.metric, short="all", variance=False, interval=None, threads=trial.threads)
            table = assay.summary().select("system", "design", "mean", "random", "rho", "short")
            tables.append(table.with_columns(removed=pl.lit(removed), left=pl.lit(1 - removed)))
        table = pl.concat(tables)
        lines = fits(table, "left", "mean", ["design", "system"])
        return (
            Exhibit(
                "sparsity", "Fewer test ratings", f"{self.metric} when a share of the test ratings is taken away. "
                "Under AR it falls in proportion to what is left, so numbers from logs of different density cannot be "
                "compared; under 1R it stays.", table, "removed", "mean", "system", "design",
            ),
            Exhibit(
                "sparsity-fit", "How straight the lines are", "Slope, intercept and R² of the mean against the share "
                "that is left: AR goes through the origin.", lines, "system", "slope", "design", kind="bar",
            ),
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class TargetSize(Experiment):
    """One relevant item against more and more others: 1R precision is about proportional to 1/t.

    Sizes t go from ``smallest`` to ``largest`` in equal steps, in closed form from one pass. The bounds are those that
    AR precision on the same sets allows; the more items, the narrower.
    """

    name: ClassVar[str] = "target_size"

    smallest: int = 100
    largest: int = 1000
    sizes: int = 10
    k: int = 10
    base: str = "TI"

    def validate(self) -> None:
        """Sizes rise."""
        if not 2 <= self.smallest < self.largest or self.sizes < 2:
            raise self.refuse("largest", "sizes do not rise", "smallest=100, largest=1000, sizes=10")
        parse(f"{self.base}-1R-AN")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Does it."""
        rows = []
        for t in np.unique(np.linspace(self.smallest, self.largest, self.sizes).round().astype(int)).tolist():
            design = parse(f"{self.base}-1R-NN({t - 1})")
            for name, standings in trial.standings().items():
                found = lemma(standings, design, self.k, short="all", threads=trial.threads)
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
