"""Precision and R-precision: how much of the list is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.unlisted import Unlisted, followed


@dataclass(frozen=True, repr=False)
class Precision(Accuracy):
    """Share of the first k places that hold a relevant item.

    Formula: ``hits@k / k``. ``divide_by`` changes the denominator: ``k``; ``list``, min(k, length of the list);
    ``relevant``, min(k, R), the best that can be reached.

    Edges: places beyond a short list count as misses under ``k``. An empty list is 0.

    Libraries: ``k`` as trec_eval P, ranx, RecBole, RecPack, RePlay, RecTools, Cornac, Elliot, torchmetrics,
    Microsoft. LensKit and DaisyRec divide by ``list``; implicit divides by ``relevant``.

    Reference: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4.
    """

    name = "precision"
    aliases = ("P", "prec")
    cutoff = "required"

    divide_by: Literal["k", "list", "relevant"] = "k"

    def judge(self, lists: Aligned) -> Values:
        hits = lists.hits(self.k, self.relevant_from)
        assert self.k is not None
        if self.divide_by == "k":
            return hits / self.k
        most = lists.length if self.divide_by == "list" else lists.relevant(self.relevant_from)
        return hits / np.maximum(np.minimum(most, self.k), 1)


@dataclass(frozen=True, repr=False)
class RPrecision(Accuracy):
    """Precision at R, the number of relevant items of the user.

    Formula: ``hits@R / R``. ``unlisted="tied"`` lets judged items that a list lacks follow it, tied.

    Edges: needs no cut-off; with R larger than the list the missing places are misses.

    Libraries: trec_eval Rprec, ir_measures Rprec, ranx r-precision; ``unlisted='tied'`` as torchmetrics. RecTools'
    precision(r_precision=True) is ``precision(divide_by='relevant')``, another thing.

    Reference: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4.
    """

    name = "rprec"
    aliases = ("Rprec", "r_precision")
    cutoff = "none"

    unlisted: Unlisted = "absent"

    def judge(self, lists: Aligned) -> Values:
        lists = followed(lists) if self.unlisted == "tied" else lists
        relevant = lists.relevant(self.relevant_from)
        value = lists.is_relevant(self.relevant_from).astype(np.float64)
        hits = lists.expected_sum(value, np.ones(lists.depth(None)), np.minimum(relevant, lists.depth(None)))
        return hits / np.maximum(relevant, 1)
