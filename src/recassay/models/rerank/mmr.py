"""Maximal marginal relevance: relevant items that are far from the items above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import FIRST_ITEMS, NORMS
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.context import RerankContext
from recassay.models.rerank.distances import DistanceReranker, ItemDistances, item_distances
from recassay.naming.named import Departure

FORMS = {
    "min": _kernels.MIN,
    "max": _kernels.MAX,
    "mean": _kernels.MEAN,
    "paper_text": _kernels.MAX,
    "ranksys": _kernels.MEAN,
}


@dataclass(frozen=True, repr=False)
class MMR(DistanceReranker):
    """MMR re-ranking: diversity is the distance to the items above, to the nearest, to the farthest, or their mean.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x distance; ties go to the better rank. ``form``: ``min``, the distance to the
    nearest item above, as in the original; ``mean``; ``max``. ``paper_text`` is max, as one paper prints it: it accepts
    a copy of an item above if another item above is far. ``ranksys`` is mean.

    ``distance``: ``jaccard`` or ``cosine`` of features; ``training``, 1 - cosine of the items' users; ``factors``,
    half of 1 - cosine of the items' factors; or a table of distances between 0 and 1, with a row and a column for each
    item of the log, ascending by id. With ``bare="distant"`` an item without features has distance 1 to all others;
    with ``skip`` its distances are ignored.

    >>> import recassay as ra
    >>> ra.models.parse("MMR(of='ALS(factors=8)', weight=0.3)")
    MMR(of='ALS(factors=8)', weight=0.3)

    Reference: Carbonell and Goldstein, The use of MMR, diversity-based reranking, SIGIR 1998.
    """

    name: ClassVar[str] = "MMR"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "Equation 2 of the paper is the maximum of the distances, so an item equal to one above is chosen if "
            "another item above is far away; recassay takes the minimum, as the original MMR does with similarities.",
            "MMR(form='max', norm='none')",
        ),
        Departure(
            "sudden-death",
            "Equation 1 of the paper adds score and diversity as they are; recassay standardises both among the "
            "items left at each rank, as the authors' programs do, so that a weight means the same for every model.",
            "MMR(form='max', norm='none')",
        ),
        Departure(
            "sudden-death",
            "Equation 2 of the paper has no value for the first rank, which no item is above; recassay takes 0, so "
            "that the item with the highest score is first.",
        ),
        Departure(
            "sudden-death",
            "The paper says that distances most often come from features, and not how; recassay takes Jaccard's, here "
            "and in ild.",
        ),
        FIRST_ITEMS,
    )

    form: Literal["min", "max", "mean", "paper_text", "ranksys"] = "min"
    distance: object = "jaccard"
    bare: Literal["distant", "skip"] = "distant"

    def prepare(self, context: RerankContext) -> GreedyMMR:
        """Return the re-ranker together with the distances between items."""
        return GreedyMMR(self, item_distances(self.distance, context))


@dataclass(frozen=True, eq=False)
class GreedyMMR:
    """The re-ranker ``MMR`` with the distances between items that it needs to reorder lists."""

    method: MMR
    distances: ItemDistances

    def reorder(self, lists: Candidates, order: Int64, pick_values: Float) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return the number of rows (``bare``) whose item has no features or users to compare.
        """
        method, distances = self.method, self.distances
        rows: NDArray[np.int32] = distances.recoding(lists.items)
        _kernels.pick_by_distance(
            lists.offsets, lists.scores, readonly(rows), float(method.weight), method.places, method.candidates,
            NORMS[method.norm], FORMS[method.form], distances.kind, distances.cosine, method.bare == "skip",
            readonly(distances.masks), readonly(distances.offsets), readonly(distances.codes), distances.scratch(),
            readonly(distances.table), order, pick_values,
        )  # fmt: skip
        return {"bare": distances.count_bare(rows)}
