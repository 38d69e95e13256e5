"""Metrics of how often each item of the catalogue is shown: coverage, Gini, entropy and Gini-Simpson."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.arrays import Int64
from recassay.columnar.layout import ranges
from recassay.columnar.vocabulary import Recoding
from recassay.metrics.align import WHOLE_LIST, Alignment
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.context import Context, ContextLookup
from recassay.stats.concentration import entropy, gini, shares
from recassay.threads import blocks


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

    def measure(self, exposure: Int64) -> float:
        return float(np.count_nonzero(exposure) / exposure.size) if exposure.size else float("nan")


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

    def measure(self, exposure: Int64) -> float:
        value, n = gini(exposure), exposure.size
        if self.normalise:
            value = value * n / (n - 1) if n > 1 else float("nan")
        return value if self.form == "inequality" else 1.0 - value


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

    def measure(self, exposure: Int64) -> float:
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

    def measure(self, exposure: Int64) -> float:
        share = shares(exposure)
        return float(1.0 - np.square(share).sum()) if share.size else float("nan")


Catalogue = Literal["train", "truth", "items"]

LISTS_PER_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Exposure:
    """Number of lists that hold each item of the catalogue (``counts``, ascending by id).

    ``outside`` is the number of listed items that are not in the catalogue. The exposures of two groups of lists can be
    added if the catalogue is the same.
    """

    counts: Int64
    outside: int

    def __add__(self, other: Exposure) -> Exposure:
        return Exposure(self.counts + other.counts, self.outside + other.outside)


def exposure_of(alignment: Alignment, context: Context, catalogue: Catalogue, k: int | None) -> Exposure:
    """Return how many lists of the queries of the truth hold each item of the catalogue in their first k places."""
    recoding, size = _catalogue(alignment, context, catalogue)
    counts, outside = np.zeros(size, np.int64), 0
    lists = alignment.match[alignment.match >= 0]
    tops, shown = alignment.run.offsets[lists], np.minimum(alignment.run.lengths[lists], k or WHOLE_LIST)
    for begin, end in blocks(lists.size, LISTS_PER_BLOCK):
        codes = recoding(alignment.run.items[ranges(tops[begin:end], shown[begin:end])])
        known = codes[codes >= 0]
        counts += np.bincount(known, minlength=counts.size)
        outside += codes.size - known.size
    return Exposure(counts, outside)


def _catalogue(alignment: Alignment, context: Context, catalogue: Catalogue) -> tuple[Recoding, int]:
    """Return the recoding from the run's items to items of the catalogue, and the size of the catalogue."""
    lookup = ContextLookup(alignment, context)
    if catalogue == "train":
        return lookup.train_items, lookup.train.n_items
    if catalogue == "items":
        return lookup.feature_rows, lookup.features.n_items
    ids = lookup.judged_items
    return Recoding.between(alignment.run.vocabulary, ids), ids.len()
