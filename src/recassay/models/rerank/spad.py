"""SPAD: good items close to those tastes of a user that the items above serve badly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.data.layout import readonly
from recassay.data.recoding import Recoding
from recassay.data.subprofiles import Miner
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.ground import Ground


@dataclass(frozen=True, repr=False)
class SPAD(Reranker):
    """As xQuAD, with the subprofiles of a user in place of features: no features of items are needed.

    The subprofile around a liked training item i is i and all liked items that have i among their ``k1`` nearest
    neighbours; those inside another are dropped. p(S | u) is the size of S as a share of all sizes. An item has S if it
    is among the ``k2`` nearest neighbours of an item of S, and p(i | u, S) is its share of the scores of all
    candidates that have S. Liked is what was rated ``liked_from`` or more; everything, if it is left out. Neighbours
    have the largest cosine of who had them in training. A user who liked nothing keeps the order. Negative scores are
    moved up for p(i | u, S), so that the least is 0.

    Each of the first ``places`` falls to the item among the first ``candidates`` with the most of
    (1 - weight) x score + weight x diversity; ties fall to the better rank. k1 and k2 are to be tuned.

    Reference: Kaya and Bridge, Subprofile-aware diversification of recommendations, UMUAI 29, 2019.
    """

    name: ClassVar[str] = "SPAD"

    k1: int = 10
    k2: int = 10
    liked_from: float | None = None

    def validate(self) -> None:
        """At least one neighbour."""
        super().validate()
        self.at_least(1, "k1", "k2")

    def prepare(self, ground: Ground) -> GreedySPAD:
        """Neighbours of all items."""
        miner = Miner.of(ground.log, k1=self.k1, k2=self.k2, liked_from=self.liked_from)
        return GreedySPAD(self, miner, ground.log_items)


@dataclass(frozen=True, eq=False)
class GreedySPAD:
    """Picks by subprofiles."""

    method: SPAD
    miner: Miner
    log_items: Recoding

    def reorder(self, lists: Candidates, order: Int64, worth: Float) -> Mapping[str, int]:
        """A block of lists in its new order."""
        how, mined = self.method, self.miner.mine(lists.users)
        offsets, aspects = mined.aspects(lists.offsets, self.log_items(lists.items))
        shifted = _kernels.by_aspects(
            lists.offsets, lists.scores, readonly(offsets), readonly(aspects),
            readonly(mined.offsets), readonly(mined.weights),
            how.weight, how.places, how.candidates, NORMS[how.norm], False, order, worth,
        )  # fmt: skip
        return {"shifted": shifted, "without_liked": int((np.diff(mined.offsets) == 0).sum())}
