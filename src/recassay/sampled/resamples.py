"""Bootstrap resamples of users, which show how certain the order of systems is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.rng import derive
from recassay.threads import one_library_thread

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Resamples:
    """Bootstrap resamples: ``counts`` (resamples, groups) is how often each group of users is drawn.

    All systems share them, so that the systems can be compared in each resample.
    """

    counts: Float

    @classmethod
    def of(cls, groups: int, resamples: int, seed: int) -> Resamples:
        """Return resamples, each of ``groups`` draws with replacement from the ``groups`` groups of users."""
        rng = derive(seed, "sampling_curve", groups)
        drawn = rng.integers(groups, size=(resamples, groups)) + np.arange(resamples)[:, None] * groups
        counts = np.bincount(drawn.ravel(), minlength=resamples * groups).reshape(resamples, groups)
        return cls(counts.astype(np.float64))

    def means(self, sums: Float, counts: NDArray[np.int64]) -> Float:
        """Return the mean of every column in every resample: sums of the drawn groups divided by their counts.

        ``sums`` (groups, columns) are sums of values, ``counts`` (groups,) the numbers of values.

        >>> twice = Resamples(np.array([[1.0, 1.0], [2.0, 0.0]]))
        >>> twice.means(np.array([[1.0], [4.0]]), np.array([2, 3])).tolist()
        [[1.0], [0.5]]
        """
        with one_library_thread():  # so that rounding does not depend on threads
            totals = self.counts @ np.column_stack([sums.reshape(len(sums), -1), counts])
        found: Float = totals[:, :-1] / totals[:, -1:]
        return found.reshape(-1, *sums.shape[1:])
