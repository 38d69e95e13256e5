"""Paired differences kept as what they are made of: all pairs of ten systems are 45 differences of 10 columns.

A resampled sum of a - b is the resampled sum of a less that of b, so resampling costs by column, not by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.resampling import Floats

Pairs = NDArray[np.intp]

ROUNDING = 1e-12  # of the largest value that went in: differences closer to each other than this are equal


def spread_of(values: Floats, scale: float) -> float:
    """Return the standard deviation (n - 1) of values; 0 where they differ by no more than rounding.

    ``scale`` is the largest value they were made of: 0.3 - 0.2 and 0.2 - 0.1 are no different.

    >>> d = np.array([0.3, 0.2]) - np.array([0.2, 0.1])
    >>> bool(d[0] == d[1]), spread_of(d, 0.3), spread_of(np.array([0.0, 1.0]), 1.0) ** 2
    (False, 0.0, 0.5000000000000001)
    """
    return 0.0 if values.max() - values.min() <= ROUNDING * scale else float(values.std(ddof=1))


def scale_of(*columns: Floats) -> float:
    """Return the largest finite size of a value in some columns; 0 without any.

    >>> scale_of(np.array([0.5, -2.0]), np.array([np.inf, 1.0]))
    2.0
    """
    return max(float(np.abs(column).max(initial=0.0, where=np.isfinite(column))) for column in columns)


@dataclass(frozen=True, eq=False)
class Differences:
    """Question j is column pairs[j, 0] less column pairs[j, 1] of columns (n, k); without pairs, column j itself.

    ``largest`` (k,) are the largest values that columns were made of, unless they are those of the columns.

    >>> d = Differences(np.array([[3.0, 1.0, 0.0]]), np.array([[0, 1], [0, 2]]))
    >>> d.matrix.tolist()
    [[2.0, 3.0]]
    >>> d.resampled(lambda columns: columns.T * 10)(1).tolist()
    [30.0]
    """

    columns: Floats
    pairs: Pairs | None = None
    largest: Floats | None = None

    @property
    def n(self) -> int:
        """Number of units."""
        return int(self.columns.shape[0])

    @cached_property
    def matrix(self) -> Floats:
        """The differences (n, m), each column in one piece: no sum rounds differently beside other columns."""
        if self.pairs is None:
            return np.asfortranarray(self.columns)
        with np.errstate(invalid="ignore"):  # what is infinite twice has no difference
            return np.asfortranarray(self.columns[:, self.pairs[:, 0]] - self.columns[:, self.pairs[:, 1]])

    @cached_property
    def scale(self) -> Floats:
        """The largest value (m,) that goes into each question: what rounding errors are measured by."""
        largest = np.array([scale_of(column) for column in self.columns.T]) if self.largest is None else self.largest
        if self.pairs is None:
            return largest
        found: Floats = np.maximum(largest[self.pairs[:, 0]], largest[self.pairs[:, 1]])
        return found

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Which questions (m,) have the same difference in all units, up to rounding."""
        if not self.n:
            return np.zeros(self.matrix.shape[1], np.bool_)
        with np.errstate(invalid="ignore"):
            found: NDArray[np.bool_] = np.ptp(self.matrix, axis=0) <= ROUNDING * self.scale
        return found

    def finite(self) -> Differences:
        """The same with zeros for every column that has a value that is no number."""
        bad = ~np.isfinite(self.columns).all(axis=0)
        return replace(self, columns=np.where(bad, 0.0, self.columns)) if bad.any() else self

    def resampled(self, resample: Callable[[Floats], Floats]) -> Callable[[int], Floats]:
        """From sums (k, B) that are linear in the columns, the sums (B,) of any question."""
        sums, pairs = resample(self.columns), self.pairs
        return lambda j: sums[j] if pairs is None else sums[pairs[j, 0]] - sums[pairs[j, 1]]
