"""Gini: how unequally the items of the catalogue are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.base import CatalogueMetric
from recassay.stats.concentration import gini


@dataclass(frozen=True, repr=False)
class Gini(CatalogueMetric):
    """Inequality of how often items are shown: 0 if all are shown equally, near 1 if few are. Lower is better.

    Formula: ``sum_{j=1..n} (2j - n - 1) x_(j) / (n S)``, x_(j) the exposures ascending, zeros included, S their sum.
    ``normalise=True`` multiplies by n/(n - 1), so that a single item shown gives 1. ``form="equality"`` is 1 minus
    that: higher is better.

    Edges: nothing of the catalogue shown: undefined. So is ``normalise`` for a catalogue of one item.

    Libraries: RecBole GiniIndex and LensKit as here; WarpRec normalises; RankSys and Elliot print
    ``gini(normalise=True, form='equality')``; Evidently ignores items that are never shown.

    Reference: Fleder and Hosanagar, Blockbuster culture's next rise or fall, Management Science 2009; Castells, Hurley
    and Vargas, Novelty and diversity in recommender systems, 2015.

    >>> Gini(k=10, normalise=True).measure(np.array([4, 3, 2, 1, 0]))
    0.5
    """

    name = "gini"
    aliases = ("gini_index",)
    higher_is_better = False

    normalise: bool = False
    form: Literal["inequality", "equality"] = "inequality"

    def validate(self) -> None:
        if self.form == "equality":
            object.__setattr__(self, "higher_is_better", True)

    def measure(self, exposure: NDArray[np.int64]) -> float:
        value, n = gini(exposure), exposure.size
        if self.normalise:
            value = value * n / (n - 1) if n > 1 else float("nan")
        return value if self.form == "inequality" else 1.0 - value
