"""SPAD: relevant items for those tastes of a user that the items above cover badly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.columnar.layout import readonly
from recassay.columnar.recoding import Recoding
from recassay.data.subprofiles import Miner
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import FIRST_ITEMS, NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.context import RerankContext
from recassay.naming.named import Departure


@dataclass(frozen=True, repr=False)
class SPAD(Reranker):
    """xQuAD with subprofiles (groups of similar items a user liked) in place of features: items need no features.

    The subprofile around a liked training item i contains i and all liked items that have i among their ``k1`` nearest
    neighbours; subprofiles inside another one are dropped. p(S | u) is the size of S as a share of all sizes. An item
    belongs to S if it is among the ``k2`` nearest neighbours of an item of S. p(i | u, S) is its share of the scores of
    all candidates of S; for it, scores are shifted up if one is negative, so that the least is 0. Items rated
    ``liked_from`` or more are liked; all items if it is None. Neighbours have the largest cosine of their training
    users. The list of a user who liked nothing keeps its order.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank. k1 and k2 need tuning.

    Reference: Kaya and Bridge, Subprofile-aware diversification of recommendations, UMUAI 29, 2019.
    """

    name: ClassVar[str] = "SPAD"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "The paper refers to an article that we do not have for the mining of subprofiles; recassay follows the "
            "program that the first author of SPAD published later for a challenge, which mines them more simply.",
        ),
        Departure(
            "sudden-death",
            "Equation 1 of the paper adds score and diversity as they are; recassay standardises both among the "
            "items left at each rank, as the authors' programs do.",
            "SPAD(norm='none')",
        ),
        FIRST_ITEMS,
    )

    k1: int = 10
    k2: int = 10
    liked_from: float | None = None

    def validate(self) -> None:
        """Raise U102 if ``k1`` or ``k2``, the numbers of neighbours, is below 1."""
        super().validate()
        self.at_least(1, "k1", "k2")

    def prepare(self, context: RerankContext) -> GreedySPAD:
        """Return the re-ranker together with the neighbours of all items."""
        miner = Miner.of(context.log, k1=self.k1, k2=self.k2, liked_from=self.liked_from)
        return GreedySPAD(self, miner, context.log_items)


@dataclass(frozen=True, eq=False)
class GreedySPAD:
    """The re-ranker ``SPAD`` with the neighbours of all items, from which it derives the subprofiles of a user."""

    method: SPAD
    miner: Miner
    log_items: Recoding

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of lists whose scores were shifted up (``shifted``), and of users who liked no item
        (``without_liked``).
        """
        method, mined = self.method, self.miner.mine(lists.users)
        offsets, aspects = mined.aspects(lists.offsets, self.log_items(lists.items))
        shifted = _kernels.pick_by_aspects(
            lists.offsets, lists.scores, readonly(offsets), readonly(aspects),
            readonly(mined.offsets), readonly(mined.weights),
            float(method.weight), method.places, method.candidates, NORMS[method.norm], _kernels.SCORE_SHARE, order,
            pick_values,
        )  # fmt: skip
        return {"shifted": shifted, "without_liked": int((np.diff(mined.offsets) == 0).sum())}
