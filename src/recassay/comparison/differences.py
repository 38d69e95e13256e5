"""Paired differences kept as what they are made of: all pairs of ten systems are 45 differences of 10 columns.

A resampled sum of a - b is the resampled sum of a less that of b, so resampling costs by column, not by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.resampling import Floats

Pairs = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Differences:
    """Question j is column pairs[j, 0] less column pairs[j, 1] of columns (n, k); without pairs, column j itself.

    >>> d = Differences(np.array([[3.0, 1.0, 0.0]]), np.array([[0, 1], [0, 2]]))
    >>> d.matrix.tolist()
    [[2.0, 3.0]]
    >>> d.resampled(lambda columns: columns.T * 10)(1).tolist()
    [30.0]
    """

    columns: Floats
    pairs: Pairs | None = None

    @property
    def n(self) -> int:
        """Number of units."""
        return int(self.columns.shape[0])

    @cached_property
    def matrix(self) -> Floats:
        """The differences (n, m), each column in one piece: no sum rounds differently beside other columns."""
        if self.pairs is None:
            return np.asfortranarray(self.columns)
        return np.asfortranarray(self.columns[:, self.pairs[:, 0]] - self.columns[:, self.pairs[:, 1]])

    @property
    def scale(self) -> Floats:
        """The largest value (m,) that goes into each question: what rounding errors are measured by."""
        largest: Floats = np.abs(self.columns).max(axis=0)
        if self.pairs is None:
            return largest
        return np.maximum(largest[self.pairs[:, 0]], largest[self.pairs[:, 1]])

    def resampled(self, resample: Callable[[Floats], Floats]) -> Callable[[int], Floats]:
        """From sums (k, B) that are linear in the columns, the sums (B,) of any question."""
        sums, pairs = resample(self.columns), self.pairs
        return lambda j: sums[j] if pairs is None else sums[pairs[j, 0]] - sums[pairs[j, 1]]
