"""Hit rate: whether the first places hold a relevant item at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import Credit, RankFormula, constant, every_rank
from recassay.metrics.ranking.ndcg import UnlistedPolicy, with_unlisted


@dataclass(frozen=True, repr=False)
class Hit(Accuracy):
    """1 if one of the first k places holds a relevant item, else 0.

    Formula: ``[hits@k >= 1]``. ``form="count"`` gives the number of hits instead. ``unlisted="tied"`` appends
    the judged items that a list does not hold to its end, tied, so a short list can hit with items it does not hold.

    Edges: with one relevant item per user it equals recall. An empty list is 0.

    Libraries: 1-call in papers on diversity; trec_eval success, ir_measures Success, ranx hit_rate, RecBole Hit,
    RecTools HitRate, Cornac, Elliot HR. RecPack's HitK is the ``count``, so it can exceed 1. ``unlisted='tied'`` as
    torchmetrics.

    Reference: Deshpande and Karypis, Item-based top-N recommendation algorithms, TOIS 2004.
    """

    name = "hit"
    aliases = ("hr", "hit_rate", "success", "HR", "one_call")
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    form: Literal["any", "count"] = "any"
    unlisted: UnlistedPolicy = "absent"

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds if self.form == "count" else (0.0, 1.0)

    def rank_formula(self) -> RankFormula:
        return Credit("first" if self.form == "any" else "each", self.k, every_rank, constant(1.0))

    def judge(self, lists: AlignedBlock) -> Values:
        return super().judge(with_unlisted(lists) if self.unlisted == "tied" else lists)
