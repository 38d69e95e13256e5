"""Coverage: the share of the catalogue that is shown at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.base import CatalogueMetric


@dataclass(frozen=True, repr=False)
class Coverage(CatalogueMetric):
    """Share of the catalogue that appears in the first k places of some list.

    Formula: ``#{i : x_i > 0} / n``, x_i the number of lists that show item i, n the size of the catalogue.
    ``catalogue``: ``train``, items with an event in the training log; ``truth``, items of the truth; ``items``, items
    of the table of items. The output names the catalogue and its size.

    Edges: only lists of queries in the truth count. Items outside the catalogue do not count, so it never exceeds 1.

    Libraries: RecBole ItemCoverage, LensKit, RecPack Coverage, RePlay, RecTools CatalogCoverage(normalize=True). Elliot
    and RecTools by default print the number of items; Microsoft divides by the training items even for items outside
    them, so it can exceed 1.

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS 2004.

    >>> Coverage(k=10).measure(np.array([4, 3, 2, 1, 0]))
    0.8
    """

    name = "coverage"
    aliases = ("item_coverage", "catalog_coverage")

    def measure(self, exposure: NDArray[np.int64]) -> float:
        return float(np.count_nonzero(exposure) / exposure.size) if exposure.size else float("nan")
