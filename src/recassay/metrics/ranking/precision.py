"""Precision and R-precision: the share of a list that is relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import Credit, NoFormula, RankFormula, constant, every_rank, number_of_relevant, reachable
from recassay.metrics.ranking.ndcg import UnlistedPolicy, with_unlisted


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

    def rank_formula(self) -> RankFormula:
        assert self.k is not None
        if self.divide_by == "list":
            return NoFormula("the list is as long as the target set, so the value would depend on the size of the set")
        return Credit("each", self.k, every_rank, constant(self.k) if self.divide_by == "k" else reachable(self.k))

    def judge(self, lists: AlignedBlock) -> Values:
        if self.divide_by != "list":
            return super().judge(lists)
        assert self.k is not None
        return lists.hits(self.k, self.relevant_from) / np.maximum(np.minimum(lists.length, self.k), 1)


@dataclass(frozen=True, repr=False)
class RPrecision(Accuracy):
    """Precision at R, the number of relevant items of the user.

    Formula: ``hits@R / R``. ``unlisted="tied"`` appends judged items that a list does not hold to its end, tied.

    Edges: takes no cut-off; if R exceeds the length of the list, the missing places are misses.

    Libraries: trec_eval Rprec, ir_measures Rprec, ranx r-precision; ``unlisted='tied'`` as torchmetrics. RecTools'
    precision(r_precision=True) is another metric: ``precision(divide_by='relevant')``.

    Reference: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4.
    """

    name = "rprec"
    aliases = ("Rprec", "r_precision")
    cutoff = "none"

    unlisted: UnlistedPolicy = "absent"

    def rank_formula(self) -> RankFormula:
        return Credit("each", None, every_rank, number_of_relevant, cut_at_relevant=True)

    def judge(self, lists: AlignedBlock) -> Values:
        return super().judge(with_unlisted(lists) if self.unlisted == "tied" else lists)
