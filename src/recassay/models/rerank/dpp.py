"""Determinantal point process: relevant items that no combination of the items above resembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from recassay.columnar.layout import readonly
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import NORMS
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.context import RerankContext
from recassay.models.rerank.distances import DistanceReranker, ItemDistances, item_distances


@dataclass(frozen=True, repr=False)
class DPP(DistanceReranker):
    """DPP re-ranking: diversity is the gain in the log determinant of the similarities between the list's items.

    The similarity of two items is 1 - their distance, and 1 of an item to itself. The gain of an item is ln d, where d
    is the part of it that the items above do not explain: 1 if it resembles none, next to 0 (1e-10, below which it
    counts as a copy) if it is like one of them or a mixture of several. MMR looks at one item above at a time.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank. With ``norm="none"`` this is the greedy
    search for the most probable set of the process whose relevance weighs (1 - weight) / weight.

    ``distance``: ``jaccard`` or ``cosine`` of features; ``training``, 1 - cosine of the items' users; ``factors``,
    half of 1 - cosine of the items' factors; or a table of distances between 0 and 1, with a row and a column for each
    item of the log, ascending by id. An item without features resembles no other.

    Reference: Chen, Zhang and Zhou, Fast greedy MAP inference for determinantal point process to improve
    recommendation diversity, NeurIPS 2018.
    """

    name: ClassVar[str] = "DPP"

    distance: object = "jaccard"

    def prepare(self, context: RerankContext) -> GreedyDPP:
        """Return the re-ranker together with the distances between items."""
        return GreedyDPP(self, item_distances(self.distance, context))


@dataclass(frozen=True, eq=False)
class GreedyDPP:
    """The re-ranker ``DPP`` with the distances between items that it needs to reorder lists."""

    method: DPP
    distances: ItemDistances

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows (``bare``) whose item has no features or users to compare.
        """
        method, distances = self.method, self.distances
        rows = distances.recoding(lists.items)
        _kernels.pick_by_determinant(
            lists.offsets, lists.scores, readonly(rows), method.weight, method.places, method.candidates,
            NORMS[method.norm], distances.kind, distances.cosine, readonly(distances.masks),
            readonly(distances.offsets), readonly(distances.codes), distances.scratch(), readonly(distances.table),
            order, pick_values,
        )  # fmt: skip
        return {"bare": distances.count_bare(rows)}
