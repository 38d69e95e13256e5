"""Re-rankers that compare items by distances: maximal marginal relevance, and determinantal point processes.

Distances come from features, from the users who had the items, from learned factors, or from a given table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.columnar.vocabulary import Recoding
from recassay.data.features import validated_distances
from recassay.errors import InputError
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import FIRST_ITEMS, NORMS, Candidates, RerankContext, Reranker
from recassay.naming.grammar import suggest
from recassay.naming.named import Departure

OF_FEATURES = ("jaccard", "cosine")
KNOWN = ("jaccard", "cosine", "training", "factors")
EMPTY = np.zeros((0, 0))
FORMS = {
    "min": _kernels.MIN,
    "max": _kernels.MAX,
    "mean": _kernels.MEAN,
    "paper_text": _kernels.MAX,
    "ranksys": _kernels.MEAN,
    "determinant": _kernels.DETERMINANT,
}


@dataclass(frozen=True, eq=False)
class ItemDistances:
    """Sources of distances between items: a set per item (its features or its users), a table, or vectors.

    ``kind`` says which of the three. ``recoding`` maps items of the lists to rows. The set of row r is
    ``codes[offsets[r]:offsets[r + 1]]``, or the bits of ``masks[r]``, and ``members`` is the number of different codes;
    ``cosine`` replaces Jaccard. ``table`` has the distances (items, items), or a vector of length 1 per item.
    """

    kind: int
    recoding: Recoding  # from item codes of the lists to rows of the arrays below
    cosine: bool = False
    offsets: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))
    codes: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    members: int = 0  # number of distinct members of the sets
    table: Float = field(default_factory=lambda: EMPTY)

    def scratch(self) -> Int64:
        """Return an array in which a kernel marks the members of a set; it is empty if sets are stored as bit masks."""
        return np.zeros(0 if self.masks.size else self.members, np.int64)

    def count_bare(self, rows: Int32) -> int:
        """Return the number of ``rows`` whose item has no features (or users) to compute a distance from."""
        if self.kind != _kernels.SETS:
            return 0
        sizes = np.append(np.diff(self.offsets), 0)
        return int((sizes[rows] == 0).sum())  # row -1, an unknown item, reads the 0 at the end


class DistanceReranker(Reranker):
    """Base of re-rankers that make lists diverse by the distances between their items.

    A subclass sets three parameters: ``distance``, a name such as ``jaccard`` or a table (items, items); ``form``, how
    diversity follows from distances, such as ``mean``; and ``bare``, the treatment of items without features:
    ``distant`` (distance 1 to all others) or ``skip`` (left out).
    """

    name = ""
    distance: object
    form: Any
    bare: Any

    def validate(self) -> None:
        """Raise U102 for an unknown distance."""
        super().validate()
        if isinstance(self.distance, str) and self.distance not in KNOWN:
            raise self.refuse("distance", "it is not a known distance", suggest(self.distance, KNOWN))

    @property
    def reads_features(self) -> bool:  # type: ignore[override]  # a class variable of the base
        """Return whether the distance compares features."""
        return isinstance(self.distance, str) and self.distance in OF_FEATURES

    def prepare(self, context: RerankContext) -> ItemDistances:
        """Return the distances between items."""
        return item_distances(self.distance, context)

    def reorder(
        self, prepared: ItemDistances, lists: Candidates, order: Int64, pick_values: Float
    ) -> Mapping[str, int]:
        """Write the new order of a block of lists to ``order`` and the value of each pick to ``pick_values``.

        Return ``{"bare": number of rows}``, of rows whose item has no features or users to compare.
        """
        rows: Int32 = prepared.recoding(lists.items)
        _kernels.pick_by_distance(
            lists.offsets, lists.scores, readonly(rows), float(self.weight), self.places, self.candidates,
            NORMS[self.norm], FORMS[self.form], prepared.kind, prepared.cosine, self.bare == "skip",
            readonly(prepared.masks), readonly(prepared.offsets), readonly(prepared.codes), prepared.scratch(),
            readonly(prepared.table), order, pick_values,
        )  # fmt: skip
        return {"bare": prepared.count_bare(rows)}


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

    form = "determinant"  # no parameters
    bare = "distant"

    distance: object = "jaccard"


def item_distances(distance: object, context: RerankContext) -> ItemDistances:
    """Return the distances between items that a name stands for, or that a table holds.

    The names are ``jaccard``, ``cosine``, ``training`` (by the items' users) and ``factors``.
    """
    if not isinstance(distance, str):
        table = validated_distances(distance, context.log.n_items)
        return ItemDistances(_kernels.TABLE, _all_known(context.log_items, context, "given distances"), table=table)
    if distance == "training":
        return ItemDistances(_kernels.SETS, context.log_items, True, *context.log.by_item, members=context.log.n_users)
    if distance == "factors":
        vectors = np.asarray(context.learned, np.float64)
        lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        table = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return ItemDistances(_kernels.VECTORS, _all_known(context.log_items, context, "item vectors"), table=table)
    found = context.features
    return ItemDistances(
        _kernels.SETS,
        context.feature_rows,
        distance == "cosine",
        found.offsets,
        found.codes,
        found.masks,
        found.names.len(),
    )


def _all_known(recoding: Recoding, context: RerankContext, what: str) -> Recoding:
    """Return ``recoding``, the mapping from items of the lists to rows of a table of distances or vectors.

    Raise I362 if some items of the lists have no row, and so no distance. ``what`` is the word for what they lack, such
    as "item vectors".
    """
    unknown = recoding(context.listed) < 0
    if not unknown.any():
        return recoding
    missing = np.unique(context.listed[unknown])
    example = context.vocabulary.decode(missing[:1])[0]
    raise InputError(
        "I362",
        f"{missing.size:,} items of the lists, such as {example!r}, are not in the log and have no {what}",
        where=context.where,
        hint="give the log the lists were made from, or use distances of features: distance='jaccard'",
    )
