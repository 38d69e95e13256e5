"""User coverage: the share of users who get recommendations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import UnitMetric, Values
from recassay.metrics.credit import NoFormula, RankFormula


@dataclass(frozen=True, repr=False)
class UserCoverage(UnitMetric):
    """Share of users who get at least ``min_items`` recommendations.

    Formula: mean of ``[min(k, length of the list) >= min_items]`` over the users of the truth.

    Edges: a user without a list counts 0. Without @k the whole list counts.

    Libraries: RecTools CoveredUsers and SufficientReco.

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS 2004.
    """

    name = "user_coverage"
    family: ClassVar[str] = "beyond"
    describes: ClassVar[bool] = True

    min_items: int = 1

    def rank_formula(self) -> RankFormula:
        return NoFormula("it counts users with a list, not relevant items")

    def validate(self) -> None:
        if self.min_items < 1:
            raise self.refuse("min_items", "it must be at least 1; every user gets 0 items")
        if self.k is not None and self.min_items > self.k:
            raise self.refuse("min_items", f"it must be at most the cut-off, {self.k}")

    def evaluate(self, lists: AlignedBlock) -> Values:
        shown = lists.length if self.k is None else np.minimum(lists.length, self.k)
        return (shown >= self.min_items).astype(np.float64)
