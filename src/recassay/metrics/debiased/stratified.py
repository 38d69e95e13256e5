"""Stratified recall: recall in which the strata of popularity weigh as if they were observed alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.align import Aligned, Meeting
from recassay.metrics.base import Accuracy, Piece, Values
from recassay.metrics.debiased.ips import credited
from recassay.metrics.debiased.propensity import Observed, told
from recassay.portable.elementary import power

if TYPE_CHECKING:
    from recassay.metrics.context import Beside, Context


@dataclass(frozen=True, repr=False)
class StratifiedRecall(Accuracy):
    """Recall with relevant items weighted by popularity^-b.

    Formula: per user ``sum over relevant items in the first k places of w_i / sum over relevant items of w_i`` with
    w_i = n_i^-b, n_i the training users of the item. ``weighting``: the mean weighs users by their sum of w
    (``stratified``), which makes it one ratio over all pairs, or not (``equal``).

    Edges: b = 0 is recall; b = 1 takes popularity out altogether. It is ``snips(gamma=2 * b - 1)``, pooled where
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
            raise self.refuse("b", "it lies between 0 (recall) and 1 (popularity taken out)")

    def bind(self, beside: Beside) -> Observed:
        counts = beside.train.item_users
        weight = power(np.where(counts > 0, counts, np.nan), -self.b)
        return Observed.of(beside, weight, self.relevant_from)

    def pieces(self, meeting: Meeting) -> Mapping[str, Piece]:
        observed: Observed = meeting.bound[self]
        return observed.pieces

    def accompanying(self, pieces: Mapping[str, Piece], context: Context) -> Mapping[str, float]:
        """``unseen`` relevant pairs left out, and the ``effective_size`` of the sample of pairs."""
        return told(pieces)

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        observed: Observed = lists.bound(self)
        return observed.total(lists) > 0

    def judge(self, lists: Aligned) -> Values:
        observed: Observed = lists.bound(self)
        total = observed.total(lists)
        return credited(lists, observed.weight, np.ones(lists.depth(self.k)), self.k) / np.where(total > 0, total, 1.0)

    def weights(self, lists: Aligned) -> Values | None:
        observed: Observed = lists.bound(self)
        return observed.total(lists) if self.weighting == "stratified" else None
