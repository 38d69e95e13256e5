"""Paired differences, stored as columns and pairs of columns: all pairs of 10 systems are 45 differences of 10 columns.

A resampled sum of a - b is the resampled sum of a minus that of b, so columns are resampled, not pairs of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float
from recassay.stats.ranks import signed_ranks

Pairs = NDArray[np.intp]

ROUNDING = 1e-12  # relative to the largest input value: differences closer to each other than this are equal


def standard_deviation(values: Float, scale: float) -> float:
    """Return the standard deviation (n - 1) of values; 0 if they differ by no more than a rounding error.

    The values are differences of numbers up to ``scale``, which sets the size of a rounding error: 0.3 - 0.2 and
    0.2 - 0.1 count as equal.

    >>> d = np.array([0.3, 0.2]) - np.array([0.2, 0.1])
    >>> bool(d[0] == d[1]), standard_deviation(d, 0.3), standard_deviation(np.array([0.0, 1.0]), 1.0) ** 2
    (False, 0.0, 0.5000000000000001)
    """
    return 0.0 if values.max() - values.min() <= ROUNDING * scale else float(values.std(ddof=1))


def largest_magnitude(*columns: Float) -> float:
    """Return the largest finite absolute value in the columns; 0 if there is none.

    >>> largest_magnitude(np.array([0.5, -2.0]), np.array([np.inf, 1.0]))
    2.0
    """
    return max(float(np.abs(column).max(initial=0.0, where=np.isfinite(column))) for column in columns)


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of columns: difference j is column pairs[j, 0] minus column pairs[j, 1] of columns (n, k).

    Without pairs, difference j is column j itself. ``largest`` (k,) gives the largest value each column was computed
    from; by default it is the largest value in the column.

    >>> d = Differences(np.array([[3.0, 1.0, 0.0]]), np.array([[0, 1], [0, 2]]))
    >>> d.matrix.tolist()
    [[2.0, 3.0]]
    >>> d.resampled(lambda columns: columns.T * 10)(1).tolist()
    [30.0]
    """

    columns: Float
    pairs: Pairs | None = None
    largest: Float | None = None

    @property
    def n(self) -> int:
        """Return the number of units."""
        return int(self.columns.shape[0])

    @cached_property
    def matrix(self) -> Float:
        """Return the differences (n, m), stored column by column.

        So the sum of a column does not depend on other columns.
        """
        if self.pairs is None:
            return np.asfortranarray(self.columns)
        with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
            return np.asfortranarray(self.columns[:, self.pairs[:, 0]] - self.columns[:, self.pairs[:, 1]])

    @cached_property
    def scale(self) -> Float:
        """Return an array (m,): the largest absolute value in the two columns of each difference.

        If ``largest`` is set, its values are used for the columns. A difference that is tiny compared with it may be no
        more than a rounding error.
        """
        largest = (
            np.array([largest_magnitude(column) for column in self.columns.T]) if self.largest is None else self.largest
        )
        return largest if self.pairs is None else np.asarray(largest[self.pairs].max(axis=1))

    @cached_property
    def constant(self) -> Bool:
        """Return a mask of the differences (m,) that are the same in all units, up to rounding."""
        if not self.n:
            return np.zeros(self.matrix.shape[1], np.bool_)
        with np.errstate(invalid="ignore"):
            constant: Bool = np.ptp(self.matrix, axis=0) <= ROUNDING * self.scale
        return constant

    def take(self, which: Sequence[int]) -> Differences:
        """Return the differences with the indices ``which``, and only the columns that they need."""
        if self.pairs is None:
            return replace(
                self, columns=self.columns[:, which], largest=None if self.largest is None else self.largest[which]
            )
        pairs = self.pairs[which]
        needed, places = np.unique(pairs, return_inverse=True)
        largest = None if self.largest is None else self.largest[needed]
        return Differences(self.columns[:, needed], places.reshape(pairs.shape), largest)

    def finite(self) -> Differences:
        """Return the differences, with only zeros in each column that has an infinite or NaN value."""
        bad = ~np.isfinite(self.columns).all(axis=0)
        return replace(self, columns=np.where(bad, 0.0, self.columns)) if bad.any() else self

    def resampled(self, resample: Callable[[Float], Float]) -> Callable[[int], Float]:
        """Resample the columns once; return a function that maps j to the B resampled sums of difference j.

        ``resample`` gets the columns (n, k), n values of each of k systems, and returns sums (k, B) over B resamples.
        """
        sums, pairs = resample(self.columns), self.pairs
        return lambda j: sums[j] if pairs is None else sums[pairs[j, 0]] - sums[pairs[j, 1]]


def d_z(a: Float, b: Float) -> float:
    """Return the mean of a - b divided by its standard deviation (n - 1).

    >>> d_z(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0]))
    2.0
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    d, scale = a - b, largest_magnitude(a, b)
    return _ratio(_without_rounding(float(d.mean()), scale), standard_deviation(d, scale))


def hedges(a: Float, b: Float) -> float:
    """Return d_z times 1 - 3 / (4 (n - 1) - 1), which removes its bias in small samples (Hedges 1981).

    >>> round(hedges(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0])), 6)
    1.142857
    """
    return d_z(a, b) * (1 - 3 / (4 * (a.size - 1) - 1)) if a.size > 1 else np.nan


def d_av(a: Float, b: Float) -> float:
    """Return the mean of a - b divided by the square root of the mean of the two variances.

    >>> d_av(np.array([1.0, 3.0]), np.array([0.0, 2.0])) == 1 / 2**0.5
    True
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    scale = largest_magnitude(a, b)
    pooled = float(np.sqrt((standard_deviation(a, scale) ** 2 + standard_deviation(b, scale) ** 2) / 2))
    return _ratio(_without_rounding(float((a - b).mean()), scale), pooled)


def cliff(a: Float, b: Float) -> float:
    """Return Cliff's delta in O(n log n): the share of pairs (a_i, b_j) with a_i > b_j minus that with a_i < b_j.

    Reference: Cliff (1993).

    >>> cliff(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.75
    """
    if not a.size:
        return np.nan
    ordered = np.sort(b)
    below = int(np.searchsorted(ordered, a, side="left").sum())
    above = a.size * b.size - int(np.searchsorted(ordered, a, side="right").sum())
    return (below - above) / (a.size * b.size)


def a12(a: Float, b: Float) -> float:
    """Return the probability that a unit of a is above a unit of b, ties counting half: (cliff + 1) / 2.

    Reference: Vargha and Delaney (2000).

    >>> a12(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.875
    """
    return (cliff(a, b) + 1) / 2


def rank_biserial(a: Float, b: Float) -> float:
    """Return the matched rank-biserial correlation (W+ - W-) / (W+ + W-), without zero differences (Kerby 2014).

    >>> rank_biserial(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    -0.333...
    """
    with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
        d = a - b
    if np.isnan(d).any():
        return np.nan
    ranks = signed_ranks(d, scale=largest_magnitude(a, b))
    return _ratio(float(ranks.sum()), float(np.abs(ranks).sum())) if ranks.any() else np.nan


def relative(a: Float, b: Float) -> float:
    """Return the difference of the means divided by the mean of b.

    >>> relative(np.array([3.0]), np.array([2.0]))
    0.5
    """
    return _ratio(float((a - b).mean()), float(b.mean())) if a.size and _finite(a, b) else np.nan


def _finite(a: Float, b: Float) -> bool:
    return bool(np.isfinite(a).all() and np.isfinite(b).all())


def _without_rounding(mean: float, scale: float) -> float:
    """Return the mean difference, or 0 if it is no larger than a rounding error.

    ``scale`` is the largest of the values that the difference was computed from.
    """
    return 0.0 if abs(mean) <= ROUNDING * scale else mean


def _ratio(top: float, bottom: float) -> float:
    if bottom == 0:
        return float(np.copysign(np.inf, top)) if top else np.nan
    return top / bottom


EFFECTS: dict[str, Callable[[Float, Float], float]] = {
    "d_z": d_z,
    "hedges": hedges,
    "d_av": d_av,
    "cliff": cliff,
    "a12": a12,
    "rank_biserial": rank_biserial,
    "relative": relative,
}
