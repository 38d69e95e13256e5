"""Samples of users, drawn again and again: how sure an order of systems is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.rng import derive

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each group of users comes in each resample: the same for all systems, so that they stay paired."""

    times: Float

    @classmethod
    def of(cls, groups: int, resamples: int, seed: int) -> Resamples:
        """As many groups as there are, with replacement."""
        rng = derive(seed, "sampling_curve", groups)
        drawn = rng.integers(groups, size=(resamples, groups)) + np.arange(resamples)[:, None] * groups
        counts = np.bincount(drawn.ravel(), minlength=resamples * groups).reshape(resamples, groups)
        return cls(counts.astype(np.float64))

    def means(self, sums: Float, counts: NDArray[np.int64]) -> Float:
        """The mean of every column in every resample, from the sums and counts of groups.

        >>> twice = Resamples(np.array([[1.0, 1.0], [2.0, 0.0]]))
        >>> twice.means(np.array([[1.0], [4.0]]), np.array([2, 3])).tolist()
        [[1.0], [0.5]]
        """
        both = np.column_stack([sums.reshape(len(sums), -1), counts])
        totals = np.zeros((len(self.times), both.shape[1]))
        for times, group in zip(self.times.T, both, strict=True):  # one after the other: a product rounds as BLAS likes
            totals += times[:, None] * group
        found: Float = totals[:, :-1] / totals[:, -1:]
        return found.reshape(-1, *sums.shape[1:])
