"""A metric: what it credits at a rank is all that lists, designs, sampling curves and streams need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.base import Accuracy
from recassay.metrics.credit import Credit, RankFormula

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class RootGain(Accuracy):
    """Share of the best possible gain, where rank p earns 1 / sqrt(p).

    Formula: ``sum_{relevant p<=k} p^-1/2 / sum_{p<=min(R, k)} p^-1/2``.

    Edges: no relevant item: undefined. Without @k the whole list counts.

    Libraries: none; an example of a metric of one's own.

    Reference: none; a discount between those of nDCG and of the reciprocal rank.
    """

    name = "root_gain"
    bounds = (0.0, 1.0)

    def rank_formula(self) -> RankFormula:
        """Return what a relevant item earns at a rank, and the largest sum that R relevant items can earn."""
        return Credit("each", self.k, _inverse_root, self._ideal)

    def _ideal(self, relevant: NDArray[np.int64]) -> Floats:
        depth = int(relevant.max(initial=1)) if self.k is None else self.k
        best = np.append(0.0, np.cumsum(_inverse_root(np.arange(1.0, depth + 1))))
        return best[np.minimum(relevant, depth)]


def _inverse_root(ranks: Floats) -> Floats:
    return 1.0 / np.sqrt(ranks)
