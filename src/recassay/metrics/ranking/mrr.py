"""Reciprocal rank: how far down is the first right item?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values


@dataclass(frozen=True, repr=False)
class ReciprocalRank(Accuracy):
    """One over the rank of the first relevant item; its mean over users is MRR.

    Formula: ``1 / min{p : item at p is relevant}``, 0 if there is none (within k).

    Edges: without @k the whole list counts, as in trec_eval.

    Libraries: trec_eval recip_rank (no cut-off), ranx mrr, RecBole, RecTools MRR, RecPack, torchmetrics (cut at k).
    Cornac's MRR has no cut-off and raises where nothing is hit.

    Reference: Voorhees, The TREC-8 question answering track report, 1999.
    """

    name = "mrr"
    aliases = ("rr", "RR", "recip_rank", "MRR")

    def judge(self, lists: Aligned) -> Values:
        depth = lists.depth(self.k)
        out = np.empty(lists.size)
        weight = 1.0 / np.arange(1, depth + 1)
        relevant = lists.is_relevant(self.relevant_from)
        _kernels.first_hit(lists.start, lists.first, lists.last, relevant, weight, depth, out)
        return out
