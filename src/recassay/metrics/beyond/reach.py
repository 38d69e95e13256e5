"""User coverage: does everybody get something?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import UnitMetric, Values


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

    min_items: int = 1

    def validate(self) -> None:
        if self.min_items < 1:
            raise self.refuse("min_items", "everybody gets nothing")
        if self.k is not None and self.min_items > self.k:
            raise self.refuse("min_items", f"no list has more than {self.k} places under this cut-off")

    def evaluate(self, lists: Aligned) -> Values:
        shown = lists.length if self.k is None else np.minimum(lists.length, self.k)
        return (shown >= self.min_items).astype(np.float64)
