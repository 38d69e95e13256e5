"""Hit rate: was anything right at all?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.unlisted import Unlisted, followed


@dataclass(frozen=True, repr=False)
class Hit(Accuracy):
    """1 if a relevant item stands in the first k places, else 0.

    Formula: ``[hits@k >= 1]``. ``form="count"`` gives the number of hits instead. ``unlisted="tied"`` lets judged
    items that a list lacks follow it, tied, so that a short list hits with what it does not hold.

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
    unlisted: Unlisted = "absent"

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds if self.form == "count" else (0.0, 1.0)

    def judge(self, lists: Aligned) -> Values:
        lists = followed(lists) if self.unlisted == "tied" else lists
        if self.form == "count":
            return lists.hits(self.k, self.relevant_from)
        if not lists.tied:
            return (lists.hits(self.k, self.relevant_from) > 0).astype(np.float64)
        depth = lists.depth(self.k)
        out = np.empty(lists.size)
        relevant = lists.is_relevant(self.relevant_from)
        _kernels.first_hit(lists.start, lists.first, lists.last, relevant, np.ones(depth), depth, out)
        return out
