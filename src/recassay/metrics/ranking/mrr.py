"""Reciprocal rank of the first relevant item."""

from __future__ import annotations

from dataclasses import dataclass

from recassay.metrics.base import Accuracy
from recassay.metrics.credit import Credit, RankFormula, constant, reciprocal


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

    def rank_formula(self) -> RankFormula:
        return Credit("first", self.k, reciprocal, constant(1.0))
