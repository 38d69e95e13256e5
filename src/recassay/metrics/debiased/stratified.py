"""Stratified recall: recall that weights items of every popularity as if they were equally observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.align import AlignedBlock, Alignment
from recassay.metrics.base import Accuracy, Addend, Values
from recassay.metrics.credit import Credit, NoFormula, RankFormula, constant, every_rank
from recassay.metrics.debiased.ips import weighted_credit_sum
from recassay.metrics.debiased.propensity import ObservedWeights, effective_size

if TYPE_CHECKING:
    from recassay.metrics.context import Context, ContextLookup


@dataclass(frozen=True, repr=False)
class StratifiedRecall(Accuracy):
    """Recall with relevant items weighted by popularity^-b.

    Formula: per user ``sum over relevant items in the first k places of w_i / sum over relevant items of w_i`` with
    w_i = n_i^-b, n_i the training users of the item. ``weighting``: users have the weight sum of w in the
    mean (``stratified``), which makes it one ratio over all pairs, or equal weights (``equal``).

    Edges: b = 0 is recall; b = 1 removes popularity completely. It is ``snips(gamma=2 * b - 1)``, pooled where
    stratified. Relevant items without a training count are left out and counted; a user left with none is undefined.

    Libraries: RiVal's popularity-stratified recall normalises over all users.

    Reference: Steck, Item popularity and recommendation accuracy, RecSys 2011.
    """

    name = "stratified_recall"
    family: ClassVar[str] = "debiased"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    b: float = 0.5
    weighting: Literal["stratified", "equal"] = "stratified"

    def validate(self) -> None:
        if not 0 <= self.b <= 1:
            raise self.refuse("b", "it must lie between 0 (recall) and 1 (popularity removed)")

    def bind(self, lookup: ContextLookup) -> ObservedWeights:
        counts = lookup.train.item_users
        return ObservedWeights.of(lookup, np.where(counts > 0, self._weights(counts), np.nan), self.relevant_from)

    def _weights(self, users: NDArray[np.int64]) -> Values:
        """Return users^-b, the weight of items from their numbers of training users; 0 without a training user."""
        return np.where(users > 0, np.maximum(users, 1.0) ** -self.b, 0.0)

    def rank_formula(self) -> RankFormula:
        if self.weighting == "stratified":
            return NoFormula("its mean weights users by their items; weighting='equal' can")
        return Credit("each", self.k, every_rank, constant(1.0), weight=self._weights)

    def addends(self, alignment: Alignment) -> Mapping[str, Addend]:
        observed: ObservedWeights = alignment.bound[self]
        return observed.addends

    def accompanying(self, addends: Mapping[str, Addend], context: Context) -> Mapping[str, float]:
        """Return two numbers: the relevant pairs left out (``unseen``), and the ``effective_size`` of the others.

        Pairs of a user and a relevant item are left out if the item has no training user. The effective size is the
        number of equally weighted pairs whose mean would have the same variance.
        """
        return effective_size(addends)

    def judgeable(self, lists: AlignedBlock) -> NDArray[np.bool_]:
        observed: ObservedWeights = lists.bound(self)
        return observed.total(lists) > 0

    def judge(self, lists: AlignedBlock) -> Values:
        observed: ObservedWeights = lists.bound(self)
        total = observed.total(lists)
        return weighted_credit_sum(lists, observed.weight, np.ones(lists.depth(self.k)), self.k) / np.where(
            total > 0, total, 1.0
        )

    def weights(self, lists: AlignedBlock) -> Values | None:
        observed: ObservedWeights = lists.bound(self)
        return observed.total(lists) if self.weighting == "stratified" else None
