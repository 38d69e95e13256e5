"""Recall: the share of the relevant items that a list holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recassay.metrics.base import Accuracy
from recassay.metrics.credit import Credit, RankFormula, every_rank, number_of_relevant, reachable


@dataclass(frozen=True, repr=False)
class Recall(Accuracy):
    """Share of the relevant items that the first k places hold.

    Formula: ``hits@k / R``. ``divide_by="reachable"`` divides by min(k, R), so that a perfect list scores 1.

    Edges: no relevant item: undefined. Without @k the whole list counts.

    Libraries: ``relevant`` as trec_eval recall, ranx, RecBole, RecPack, RePlay, RecTools, Cornac, Microsoft.
    ``reachable`` as LensKit and RecPack's CalibratedRecall.

    Reference: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.3.
    """

    name = "recall"
    aliases = ("R",)

    divide_by: Literal["relevant", "reachable"] = "relevant"

    def rank_formula(self) -> RankFormula:
        norm = number_of_relevant if self.divide_by == "relevant" else reachable(self.k)
        return Credit("each", self.k, every_rank, norm)
