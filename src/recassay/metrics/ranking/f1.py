"""F measure: precision and recall in one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import Credit, NoFormula, RankFormula, every_rank
from recassay.naming.named import POSITIVE


@dataclass(frozen=True, repr=False)
class F1(Accuracy):
    """Weighted harmonic mean of precision and recall, per user, then averaged.

    Formula: ``(1 + b²) P R / (b² P + R)`` with P = hits/k and R = hits/relevant, which is
    ``(1 + b²) hits / (b² relevant + k)``; b is ``beta``. ``divide_by="list"`` takes P over min(k, length of the list).

    Edges: 0 without a hit. It is the mean of the users' F, not the F of the means.

    Libraries: ranx f1, RecTools F1Beta, Cornac FMeasure, Elliot F1. trec_eval's set_F.x weighs with x = b² and takes
    the whole list: ``f1(divide_by='list')``.

    Reference: van Rijsbergen, Information Retrieval, 1979, chapter 7.
    """

    name = "f1"
    aliases = ("f", "F1")

    beta: Annotated[float, POSITIVE] = 1.0
    divide_by: Literal["k", "list"] = "k"

    def validate(self) -> None:
        if self.k is None and self.divide_by == "k":
            raise UsageError("U103", "f1 needs a cut-off", hint="write f1@10, or f1(divide_by='list') for whole lists")

    def rank_formula(self) -> RankFormula:
        if self.divide_by == "list":
            return NoFormula("the list is as long as the target set, so precision would depend on the size of the set")
        k, weight = self.k, self.beta**2
        assert k is not None
        return Credit(
            "each", k, every_rank, lambda relevant: np.asarray(weight * relevant + k, np.float64), factor=1 + weight
        )

    def judge(self, lists: AlignedBlock) -> Values:
        if self.divide_by == "k":
            return super().judge(lists)
        places = lists.length if self.k is None else np.minimum(lists.length, self.k)
        hits, weight = lists.hits(self.k, self.relevant_from), self.beta**2
        return (1 + weight) * hits / np.maximum(weight * lists.relevant(self.relevant_from) + places, 1)
