"""Exact sums over target sets, from which the means of a design follow. Sums of chunks of users add up exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.designs.grammar import Design
from recassay.designs.moments import CreditMoments
from recassay.designs.sets import TargetSets
from recassay.stats.exact_sums import ExactSum

Float = NDArray[np.float64]
Key = TypeVar("Key")
Value = TypeVar("Value")
Number = TypeVar("Number", int, ExactSum)


@dataclass(frozen=True, eq=False)
class MetricTotals:
    """Weighted sums of one metric over the target sets in which it is defined.

    ``weights`` is the sum of the weights; ``values``, ``random`` (values if items are in random order) and ``best``
    (largest possible values) are weighted sums. ``variance`` is weighted by squared weights. ``undefined`` is the
    number of groups in which the metric is undefined. ``by_bin`` has (weighted sum of values, sum of weights) for each
    popularity bin.
    """

    weights: ExactSum
    values: ExactSum
    variance: ExactSum  # weighted by squared weights
    random: ExactSum
    best: ExactSum
    undefined: int  # number of target-set groups in which the metric is undefined
    by_bin: Mapping[int, tuple[ExactSum, ExactSum]]

    @classmethod
    def of(cls, groups: TargetSets, moments: CreditMoments) -> MetricTotals:
        """Return the weighted sums of a metric over all groups of relevant items in ``groups``.

        The relevant items of a group are ranked against the same candidates (a target set). ``moments`` has, for each
        group, the metric's mean, variance, value in random order and best value; NaN where it is undefined.
        """
        defined = ~np.isnan(moments.mean)
        weight, bins = groups.weight[defined], groups.bin[defined]
        weighted = weight * moments.mean[defined]
        return cls(
            ExactSum.of(weight),
            ExactSum.of(weighted),
            ExactSum.of(weight**2 * moments.variance[defined]),
            ExactSum.of(weight * moments.random[defined]),
            ExactSum.of(weight * moments.best[defined]),
            int((~defined).sum()),
            {int(b): (ExactSum.of(weighted[bins == b]), ExactSum.of(weight[bins == b])) for b in np.unique(bins)},
        )

    def __add__(self, other: MetricTotals) -> MetricTotals:
        return MetricTotals(
            self.weights + other.weights,
            self.values + other.values,
            self.variance + other.variance,
            self.random + other.random,
            self.best + other.best,
            self.undefined + other.undefined,
            merge_mappings(self.by_bin, other.by_bin, _add_pairs),
        )


@dataclass(frozen=True, eq=False)
class DesignTotals:
    """Sums over the target sets of a design.

    ``sets`` is the number of sets, and ``short`` the number of those with fewer candidates than the design draws.
    ``owners`` is the number of users with a relevant item, and ``zeros`` the number of users without one who count 0.

    A group is a set of relevant items ranked among the same candidates. ``weights`` is the sum of the weights of the
    groups, and ``shares`` the weighted sum of the shares of relevant items. ``sized`` is the weighted number of sets
    and ``inverse`` the weighted sum of 1 / size; both include sets without a relevant item. ``bins`` has, for each bin,
    the number of sets and the sum of 1 / size. ``metrics`` has the sums of each metric by name.
    """

    sets: int
    owners: int
    zeros: int
    short: int
    weights: ExactSum
    shares: ExactSum
    sized: ExactSum
    inverse: ExactSum
    bins: Mapping[int, tuple[int, ExactSum]]
    metrics: Mapping[str, MetricTotals]

    @classmethod
    def of(
        cls,
        design: Design,
        groups: TargetSets,
        moments: Mapping[str, CreditMoments],
        zeros: int,
        bare: NDArray[np.int64],
    ) -> DesignTotals:
        """Return the sums of a design for a chunk of users: counts of target sets, and sums of each metric's moments.

        A target set holds the candidates that relevant items are ranked in, and a group the relevant items ranked in
        the same candidates. ``groups`` has the groups of these users, and ``moments`` the moments (mean, variance, ...)
        of each metric, with an entry per group. ``zeros`` is the number of users without a relevant item who count 0,
        and ``bare`` are the sizes of their target sets.
        """
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
            weights=ExactSum.of(groups.weight),
            shares=ExactSum.of(groups.weight * (relevant / np.maximum(sizes, 1))),
            sized=ExactSum.of(groups.weight) + ExactSum.of([bare.size]),
            inverse=ExactSum.of(groups.weight / sizes) + ExactSum.of(1 / bare),
            bins={b: (int(many[own].sum()), ExactSum.of((many / sizes)[own])) for b, own in of_bin.items()},
            metrics={heading: MetricTotals.of(groups, one) for heading, one in moments.items()},
        )

    def __add__(self, other: DesignTotals) -> DesignTotals:
        return DesignTotals(
            self.sets + other.sets,
            self.owners + other.owners,
            self.zeros + other.zeros,
            self.short + other.short,
            self.weights + other.weights,
            self.shares + other.shares,
            self.sized + other.sized,
            self.inverse + other.inverse,
            merge_mappings(self.bins, other.bins, _add_pairs),
            {heading: sums + other.metrics[heading] for heading, sums in self.metrics.items()},
        )

    @property
    def users(self) -> int:
        """Return the number of users whose values are in the means."""
        return self.owners + self.zeros

    @property
    def rho(self) -> float:
        """Return the mean share of relevant items in a target set.

        For users without a relevant item who count 0, the share is 0.
        """
        return self.shares / (self.weights + ExactSum.of([self.zeros]))

    @property
    def t(self) -> float:
        """Return the harmonic mean of the sizes of the target sets, those without a relevant item included."""
        return self.sized / self.inverse

    def mean(self, heading: str, field: Literal["values", "random", "best"]) -> float:
        """Return a metric's mean over all users.

        ``field`` says what is averaged: the values, the values of a random order, or the largest possible values.
        """
        sums = self.metrics[heading]
        found: float = getattr(sums, field) / (sums.weights + ExactSum.of([self.zeros]))
        return found

    def variance(self, heading: str) -> float:
        """Return the variance of a metric's mean over random draws and random orders of ties."""
        sums = self.metrics[heading]
        total = float(sums.weights + ExactSum.of([self.zeros]))
        return float(sums.variance) / total**2 if total else float("nan")

    def by_bin(self, heading: str) -> dict[int, float]:
        """Return the mean of a metric in each popularity bin."""
        return {b: value / weight for b, (value, weight) in sorted(self.metrics[heading].by_bin.items())}

    def bin_table(self) -> pl.DataFrame:
        """Return a table with a row per popularity bin: the number of its target sets, and their mean of 1 / size."""
        rows = sorted(self.bins.items())
        return pl.DataFrame(
            {
                "bin": [b for b, _ in rows],
                "sets": [sets for _, (sets, _) in rows],
                "1/t": [float(inverse) / sets for _, (sets, inverse) in rows],
            }
        )


def merge_mappings(
    left: Mapping[Key, Value], right: Mapping[Key, Value], add: Callable[[Value, Value], Value]
) -> dict[Key, Value]:
    """Return the union of two mappings, with the values of common keys added."""
    both = {key: add(value, right[key]) for key, value in left.items() if key in right}
    return {**left, **right, **both}


def _add_pairs(left: tuple[Number, ExactSum], right: tuple[Number, ExactSum]) -> tuple[Number, ExactSum]:
    """Return (left[0] + right[0], left[1] + right[1])."""
    return left[0] + right[0], left[1] + right[1]
