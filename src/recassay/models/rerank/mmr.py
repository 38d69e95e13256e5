"""Maximal marginal relevance: good items that are far from those above them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly
from recassay.models.rerank import _kernels, distances
from recassay.models.rerank.base import NORMS, Reranker
from recassay.models.rerank.candidates import Candidates, Float, Int64
from recassay.models.rerank.distances import Apart
from recassay.models.rerank.ground import Ground

FORMS = {
    "min": _kernels.MIN,
    "max": _kernels.MAX,
    "mean": _kernels.MEAN,
    "paper_text": _kernels.MAX,
    "ranksys": _kernels.MEAN,
}


@dataclass(frozen=True, repr=False)
class MMR(Reranker):
    """Diversity is the distance to the items above: to the nearest one, the farthest one, or their mean.

    Each of the first ``places`` falls to the item among the first ``candidates`` with the most of
    (1 - weight) x score + weight x distance; ties fall to the better rank. ``form``: ``min``, the distance to the
    nearest item above, as in the original; ``mean``; ``max``. ``paper_text`` is max, as one paper prints it: it is
    content with a copy of an item above if another one is far. ``ranksys`` is mean.

    ``distance``: ``jaccard`` or ``cosine`` of features; ``training``, 1 - cosine of who had the items; ``factors``,
    half of 1 - cosine of what a model of factors learnt of them; or a table of distances between 0 and 1, a row and a
    column for each item of the log, ascending by id. An item without features is ``distant`` from all others (1), or
    its pairs are left out (``skip``).

    >>> import recassay as ra
    >>> ra.models.parse("MMR(of='ALS(factors=8)', weight=0.3)")
    MMR(of='ALS(factors=8)', weight=0.3)

    Reference: Carbonell and Goldstein, The use of MMR, diversity-based reranking, SIGIR 1998.
    """

    name: ClassVar[str] = "MMR"

    form: Literal["min", "max", "mean", "paper_text", "ranksys"] = "min"
    distance: object = "jaccard"
    bare: Literal["distant", "skip"] = "distant"

    def validate(self) -> None:
        """A distance is a known one, or a table."""
        super().validate()
        distances.refuse_unknown(self)

    def prepare(self, ground: Ground) -> GreedyMMR:
        """The distances of all items."""
        return GreedyMMR(self, distances.apart(self.distance, ground))


@dataclass(frozen=True, eq=False)
class GreedyMMR:
    """Picks by distance."""

    method: MMR
    apart: Apart

    def reorder(self, lists: Candidates, order: Int64, worth: Float) -> Mapping[str, int]:
        """A block of lists in its new order."""
        how, apart = self.method, self.apart
        rows: NDArray[np.int32] = apart.recoding(lists.items)
        marked = np.zeros(0 if apart.masks.size else apart.members, np.int64)
        _kernels.by_distance(
            lists.offsets, lists.scores, readonly(rows), how.weight, how.places, how.candidates,
            NORMS[how.norm], FORMS[how.form], apart.kind, apart.cosine, how.bare == "skip",
            readonly(apart.masks), readonly(apart.offsets), readonly(apart.codes), marked, readonly(apart.table),
            order, worth,
        )  # fmt: skip
        return {"bare": apart.bare(rows)}
