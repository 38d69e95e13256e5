"""Recall: how much of what is right was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values


@dataclass(frozen=True, repr=False)
class Recall(Accuracy):
    """Share of the relevant items that stand in the first k places.

    Formula: ``hits@k / R``. ``divide_by="reachable"`` divides by min(k, R), so that a perfect list scores 1.

    Edges: no relevant item: undefined. Without @k the whole list counts.

    Libraries: ``relevant`` as trec_eval recall, ranx, RecBole, RecPack, RePlay, RecTools, Cornac, Microsoft.
    ``reachable`` as LensKit and RecPack's CalibratedRecall.

    Reference: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.3.
    """

    name = "recall"
    aliases = ("R",)

    divide_by: Literal["relevant", "reachable"] = "relevant"

    def judge(self, lists: Aligned) -> Values:
        relevant = lists.relevant(self.relevant_from)
        most = relevant if self.divide_by == "relevant" or self.k is None else np.minimum(relevant, self.k)
        return lists.hits(self.k, self.relevant_from) / np.maximum(most, 1)
