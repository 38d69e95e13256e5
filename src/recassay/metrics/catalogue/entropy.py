"""Entropy and Gini-Simpson: how evenly items are shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.base import CatalogueMetric
from recassay.stats.concentration import entropy, shares


@dataclass(frozen=True, repr=False)
class Entropy(CatalogueMetric):
    """Shannon entropy of how often items are shown: higher is more even.

    Formula: ``-sum (x_i/S) log2 (x_i/S)``, x_i the exposure of item i, S their sum. ``form``: ``bits``; ``normalised``,
    divided by log2 of the size of the catalogue; ``effective``, 2^entropy, the number of items that have
    this entropy when shown equally often.

    Edges: nothing of the catalogue shown: undefined. So is ``normalised`` for a catalogue of one item.

    Libraries: Elliot ShannonEntropy and Microsoft (bits). WarpRec takes natural logarithms; RecBole ShannonEntropy
    divides nats by the number of items shown.

    Reference: Shannon, A mathematical theory of communication, 1948; Jost, Entropy and diversity, Oikos 2006
    (effective number).

    >>> round(Entropy(k=10).measure(np.array([4, 3, 2, 1, 0])), 6)
    1.846439
    """

    name = "entropy"
    aliases = ("shannon_entropy",)
    bounds = (0.0, float("inf"))

    form: Literal["bits", "normalised", "effective"] = "bits"

    def measure(self, exposure: NDArray[np.int64]) -> float:
        bits = entropy(exposure)
        if self.form == "normalised" and exposure.size == 1:
            return float("nan")
        if self.form == "bits":
            return bits
        return bits / math.log2(exposure.size) if self.form == "normalised" else 2.0**bits


@dataclass(frozen=True, repr=False)
class GiniSimpson(CatalogueMetric):
    """Probability that two recommendations drawn at random (with replacement) are of different items.

    Formula: ``1 - sum (x_i/S)^2``, x_i the exposure of item i, S their sum.

    Edges: nothing of the catalogue shown: undefined. Items never shown do not matter.

    Libraries: RankSys GiniSimpsonIndex.

    Reference: Simpson, Measurement of diversity, Nature 1949.

    >>> round(GiniSimpson(k=10).measure(np.array([4, 3, 2, 1, 0])), 6)
    0.7
    """

    name = "gini_simpson"

    def measure(self, exposure: NDArray[np.int64]) -> float:
        share = shares(exposure)
        return float(1.0 - np.square(share).sum()) if share.size else float("nan")
