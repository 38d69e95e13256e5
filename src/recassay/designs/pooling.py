"""From target sets to one mean, by sums that are exact: those of some users and of others add up to those of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.exact import Exact
from recassay.designs.grammar import Design
from recassay.designs.moments import Moments
from recassay.designs.sets import Sets

Float = NDArray[np.float64]
Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class Sums:
    """One metric over target sets: weights, and what they weigh, where it is defined; ``by_bin`` value and weight."""

    weights: Exact
    values: Exact
    variance: Exact  # of squared weights
    random: Exact
    best: Exact
    undefined: int
    by_bin: Mapping[int, tuple[Exact, Exact]]

    @classmethod
    def of(cls, groups: Sets, moments: Moments) -> Sums:
        """Of some target sets."""
        defined = ~np.isnan(moments.mean)
        weight, bins = groups.weight[defined], groups.bin[defined]
        worth = weight * moments.mean[defined]
        return cls(
            Exact.of(weight),
            Exact.of(worth),
            Exact.of(weight**2 * moments.variance[defined]),
            Exact.of(weight * moments.random[defined]),
            Exact.of(weight * moments.best[defined]),
            int((~defined).sum()),
            {int(b): (Exact.of(worth[bins == b]), Exact.of(weight[bins == b])) for b in np.unique(bins)},
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.weights + other.weights,
            self.values + other.values,
            self.variance + other.variance,
            self.random + other.random,
            self.best + other.best,
            self.undefined + other.undefined,
            merged(self.by_bin, other.by_bin, lambda one, more: (one[0] + more[0], one[1] + more[1])),
        )


@dataclass(frozen=True, eq=False)
class Pooled:
    """What the target sets of a design add up to: ``owners`` are users who have one, ``zeros`` users who count 0.

    ``shares`` are those of relevant items in sets, ``sized`` the number of sets and ``inverse`` one over their sizes,
    also of sets without a relevant item, all weighted; ``bins`` has the number of sets of each bin, and one over their
    sizes. ``metrics`` are by heading.
    """

    sets: int
    owners: int
    zeros: int
    short: int
    weights: Exact
    shares: Exact
    sized: Exact
    inverse: Exact
    bins: Mapping[int, tuple[int, Exact]]
    metrics: Mapping[str, Sums]

    @classmethod
    def of(
        cls, design: Design, groups: Sets, moments: Mapping[str, Moments], zeros: int, bare: NDArray[np.int64]
    ) -> Pooled:
        """Of some users' target sets; ``bare`` are sizes of sets without a relevant item, of users who count 0."""
        apart = design.relevant == "1R"
        relevant = np.ones_like(groups.relevant) if apart else groups.relevant
        sizes = relevant + groups.drawn
        many = groups.relevant if apart else np.ones_like(groups.relevant)
        of_bin = {int(b): groups.bin == b for b in np.unique(groups.bin)} if design.bins else {}
        return cls(
            sets=int(many.sum()),
            owners=int(np.unique(groups.owner).size),
            zeros=zeros,
            short=groups.short,
            weights=Exact.of(groups.weight),
            shares=Exact.of(groups.weight * (relevant / np.maximum(sizes, 1))),
            sized=Exact.of(groups.weight) + Exact.of([bare.size]),
            inverse=Exact.of(groups.weight / sizes) + Exact.of(1 / bare),
            bins={b: (int(many[own].sum()), Exact.of((many / sizes)[own])) for b, own in of_bin.items()},
            metrics={heading: Sums.of(groups, one) for heading, one in moments.items()},
        )

    def __add__(self, other: Pooled) -> Pooled:
        return Pooled(
            self.sets + other.sets,
            self.owners + other.owners,
            self.zeros + other.zeros,
            self.short + other.short,
            self.weights + other.weights,
            self.shares + other.shares,
            self.sized + other.sized,
            self.inverse + other.inverse,
            merged(self.bins, other.bins, lambda one, more: (one[0] + more[0], one[1] + more[1])),
            {heading: sums + other.metrics[heading] for heading, sums in self.metrics.items()},
        )

    @property
    def users(self) -> int:
        """Those whom the mean is over."""
        return self.owners + self.zeros

    @property
    def rho(self) -> float:
        """The mean share of relevant items in a set; users who count 0 have none."""
        return self.shares / (self.weights + Exact.of([self.zeros]))

    @property
    def t(self) -> float:
        """The harmonic mean of the sizes of sets."""
        return self.sized / self.inverse

    def mean_of(self, heading: str, what: str) -> float:
        """The mean of ``values``, of ``random`` orders or of the ``best``, over all users."""
        sums = self.metrics[heading]
        found: float = getattr(sums, what) / (sums.weights + Exact.of([self.zeros]))
        return found

    def variance(self, heading: str) -> float:
        """Of the mean over draws and orders of ties."""
        sums = self.metrics[heading]
        total = float(sums.weights + Exact.of([self.zeros]))
        return float(sums.variance) / total**2 if total else float("nan")

    def by_bin(self, heading: str) -> dict[int, float]:
        """The mean of each bin."""
        return {b: value / weight for b, (value, weight) in sorted(self.metrics[heading].by_bin.items())}

    def described(self) -> pl.DataFrame:
        """A row per bin that has a target set: how many sets, and 1/t."""
        rows = sorted(self.bins.items())
        return pl.DataFrame(
            {
                "bin": [b for b, _ in rows],
                "sets": [sets for _, (sets, _) in rows],
                "1/t": [float(inverse) / sets for _, (sets, inverse) in rows],
            }
        )


def merged(one: Mapping[Key, Any], other: Mapping[Key, Any], plus: Any) -> dict[Key, Any]:
    """What either has, added where both have it."""
    both = {key: plus(value, other[key]) for key, value in one.items() if key in other}
    return {**one, **other, **both}
