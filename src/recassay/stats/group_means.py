"""Differences between the means of groups of units, which may share units, and their tests.

Users of two countries are different users: the test is Welch's. The users who have relevant items of two genres may be
the same: their values are not independent, and the covariance of the two means is subtracted from the variance of the
difference.

Reference: Welch, The generalization of "Student's" problem when several different population variances are involved,
Biometrika 34 (1947).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float, Int64
from recassay.stats.differences import ROUNDING, largest_magnitude
from recassay.stats.intervals import column_influence, means, t_quantile
from recassay.stats.significance import SMALLEST_P, adjust, t_both_tails

Places = NDArray[np.intp]
Fold = tuple[Int64, Float, Float]  # positions of its units among all, their values, their weights


@dataclass(frozen=True, eq=False)
class GroupMean:
    """The mean of a group of units, and the influence of each unit on it: its change per share of weight moved there.

    ``places`` are the positions of the group's units among all units, ascending. ``error`` is the standard error of the
    mean; ``scale`` is the largest value, to which rounding errors are compared.
    """

    places: Places
    mean: float
    influence: Float
    error: float
    scale: float

    @classmethod
    def of(cls, places: Places, values: Float, weights: Float | None = None, power: float = 1.0) -> GroupMean:
        """Return the (weighted) mean of the values of a group, all of them defined.

        ``places`` are the positions of the group's units among all units, ascending. With a ``power`` p it is the power
        mean, the p-th root of the mean of p-th powers, of values of 0 or more.

        >>> one = GroupMean.of(np.arange(4), np.array([0.5, 0.62, 0.3, 0.81]))
        >>> round(one.mean, 4), round(one.error, 6)
        (0.5575, 0.106956)
        """
        raised = values if power == 1 else values**power
        mean = float(means(raised[:, None], None if weights is None else weights[:, None])[0])
        if values.size < 2 or not np.isfinite(raised).all():
            return cls(places, _root(mean, power), np.full(values.size, np.nan), float("nan"), float("nan"))
        influence = column_influence(raised, weights, mean)
        root, slope = _root(mean, power), 1.0
        if power != 1:  # the root of a mean m moves by m^(1 / power - 1) / power where m moves by 1
            slope = root / (power * mean) if mean > 0 else 0.0
        error = influence.standard_error * slope
        return cls(places, root, influence.influence * slope, error, largest_magnitude(values))

    @property
    def size(self) -> int:
        """Return the number of units."""
        return self.places.size


@dataclass(frozen=True)
class GroupDifference:
    """The difference of the means of two groups, its interval, and the p-value of the test that it is 0."""

    difference: float
    low: float
    high: float
    p: float


def difference(a: GroupMean, b: GroupMean, *, level: float = 0.95, disjoint: bool = False) -> GroupDifference:
    """Return a - b with its t interval and p-value; ``disjoint`` says that no unit is in both groups.

    The variance is se_a^2 + se_b^2 - 2 cov, with cov = sum L_i L'_i / sqrt(n_a (n_a - 1) n_b (n_b - 1)) over the units
    in both groups. L_i and L'_i are the influences of unit i on the two means: for plain means, its value minus the
    group's mean. Without units in both groups this is Welch's test, with Satterthwaite's degrees of freedom; with them,
    the smaller number of units less 1, as in a paired test. If no unit differs from its group's mean, up to rounding,
    the interval is the difference itself, and p the smallest float, or 1 without a difference.

    >>> a = GroupMean.of(np.arange(3), np.array([1.0, 2.0, 4.0]))
    >>> b = GroupMean.of(np.arange(3, 7), np.array([2.0, 3.0, 5.0, 6.0]))
    >>> welch = difference(a, b)
    >>> round(welch.difference, 6), round(welch.low, 6), round(welch.high, 6), round(welch.p, 6)
    (-1.666667, -4.957701, 1.624367, 0.247722)
    """
    gap = a.mean - b.mean
    covariance, shared = (0.0, 0) if disjoint else _covariance(a, b)
    variance, smallest = a.error**2 + b.error**2 - 2 * covariance, ROUNDING * max(a.scale, b.scale)
    if not np.isfinite(variance) or not np.isfinite(gap):
        return GroupDifference(gap, float("nan"), float("nan"), float("nan"))
    if variance <= smallest**2:  # no unit differs from the mean of its group
        gap = 0.0 if abs(gap) <= smallest else gap
        return GroupDifference(gap, gap, gap, SMALLEST_P if gap else 1.0)
    error, freedom = float(np.sqrt(variance)), float(min(a.size, b.size) - 1) if shared else _satterthwaite(a, b)
    reach, p = error * t_quantile((1 + level) / 2, freedom), float(t_both_tails(gap / error, freedom))
    return GroupDifference(gap, gap - reach, gap + reach, min(max(p, SMALLEST_P), 1.0))


def p_of_pairs(groups: Sequence[GroupMean], correction: str, *, disjoint: bool = False) -> dict[tuple[int, int], float]:
    """Return the p-value of the difference of each pair (i, j) of groups, i < j, corrected over all pairs.

    ``correction`` names the method, and ``disjoint`` says that no unit is in two groups.

    >>> values = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [5.0, 6.0, 5.0]])
    >>> found = p_of_pairs([GroupMean.of(np.arange(3) + 3 * i, row) for i, row in enumerate(values)], "holm")
    >>> {pair: round(p, 4) for pair, p in found.items()}
    {(0, 1): 0.5185, (0, 2): 0.0013, (1, 2): 0.0013}
    """
    pairs = list(itertools.combinations(range(len(groups)), 2))
    p = np.array([difference(groups[i], groups[j], disjoint=disjoint).p for i, j in pairs])
    return dict(zip(pairs, adjust(p, correction).tolist(), strict=True))


def _root(mean: float, power: float) -> float:
    return mean if power == 1 else mean ** (1 / power)


def _covariance(a: GroupMean, b: GroupMean) -> tuple[float, int]:
    """Return (covariance of the two means, number of units that are in both groups)."""
    few, many = (a, b) if a.size <= b.size else (b, a)
    at = np.minimum(np.searchsorted(many.places, few.places), many.size - 1)
    in_few = np.flatnonzero(many.places[at] == few.places)
    in_many = at[in_few]
    if not in_few.size or few.size < 2:
        return 0.0, int(in_few.size)
    products = float(np.sum(few.influence[in_few] * many.influence[in_many]))
    # the divisor of a group is n (n - 1), as in its standard error; n (n - 1) of both for two equal groups
    return products / float(np.sqrt(a.size * (a.size - 1) * (b.size * (b.size - 1.0)))), int(in_few.size)


def _satterthwaite(a: GroupMean, b: GroupMean) -> float:
    """Return the degrees of freedom of the difference of two independent means."""
    shares = [(one.error**2, one.size - 1) for one in (a, b)]
    total = sum(variance for variance, _ in shares)
    return float(total**2 / sum(variance**2 / freedom for variance, freedom in shares))


def pooled_values(folds: Iterable[Fold], size: int, power: float = 1.0) -> tuple[Float, Float]:
    """Return (values, weights) of ``size`` units: each unit's power mean over folds, and its sum of weights.

    A fold is (positions of its units, their values, their weights), and ``power`` 1 is the arithmetic mean. A unit may
    occur several times in a fold. A value of weight 0 is not used, and a unit without weight has the value NaN.

    >>> first = np.array([0, 1]), np.array([0.5, 1.0]), np.array([1.0, 1.0])
    >>> second = np.array([1, 2]), np.array([0.0, np.nan]), np.array([3.0, 0.0])
    >>> values, weights = pooled_values([first, second], 3)
    >>> values.tolist(), weights.tolist()
    ([0.5, 0.25, nan], [1.0, 4.0, 0.0])
    """
    places, values, counts = (np.concatenate(column) for column in zip(*folds, strict=True))
    total = np.bincount(places, np.where(counts > 0, values, 0.0) ** power * counts, size)
    weight: Float = np.bincount(places, counts, size).astype(np.float64)
    value = np.full(size, np.nan)
    np.divide(total, weight, out=value, where=weight > 0)
    return value if power == 1 else value ** (1 / power), weight


def defined_weights(values: Float, weights: Float | None) -> Float:
    """Return the weight of every value, 0 if the value is NaN; ``weights`` None means that all others are 1."""
    defined = ~np.isnan(values)
    return defined.astype(np.float64) if weights is None else np.where(defined, weights, 0.0)
