"""Random re-ranking: the control that a method of diversification must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.columnar.layout import readonly
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.context import RerankContext
from recassay.rng import derive


@dataclass(frozen=True, repr=False)
class Shuffled(Reranker):
    """Random re-ranking: diversity is a random number between 0 and 1, so items move for no reason.

    It is a control: any change of a list by chance changes diversity and coverage too, so a method is worth its name
    only if it beats a shuffle that costs as much accuracy. The numbers are drawn from the seed, the user's id and the
    rank of the item in the list: the same list of the same user is always shuffled alike.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises (1 - weight) x
    score + weight x diversity; ties go to the better rank.

    >>> import recassay as ra
    >>> found = ra.rerank({"ann": {"a": 3, "b": 2, "c": 1}}, "Shuffled(weight=1, seed=2)")
    >>> found.run.frame()["item_id"].to_list()
    ['c', 'a', 'b']
    """

    name: ClassVar[str] = "Shuffled"

    seed: int = 0

    def prepare(self, context: RerankContext) -> GreedyShuffled:
        """Return the re-ranker, ready to reorder lists; it needs no data."""
        del context
        return GreedyShuffled(self)


@dataclass(frozen=True, eq=False)
class GreedyShuffled:
    """The re-ranker ``Shuffled``, ready to reorder lists."""

    method: Shuffled

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return an empty dict: there is nothing to count.
        """
        method = self.method
        draws = [
            derive(method.seed, "shuffled", user).random(size)
            for user, size in zip(lists.ids.to_list(), np.diff(lists.offsets).tolist(), strict=True)
        ]
        _kernels.pick_by_value(
            lists.offsets, lists.scores, readonly(np.concatenate([np.empty(0), *draws])), float(method.weight),
            method.places, method.candidates, NORMS[method.norm], order, pick_values,
        )  # fmt: skip
        return {}
