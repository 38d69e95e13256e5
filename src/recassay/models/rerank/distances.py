"""Distances between items: by features, by the users who had them, by learned factors, or from a given table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.recoding import Recoding
from recassay.data.distances import validated_distances
from recassay.errors import InputError
from recassay.models.rerank import _kernels
from recassay.models.rerank.base import Reranker
from recassay.models.rerank.context import RerankContext
from recassay.naming.grammar import suggest

OF_FEATURES = ("jaccard", "cosine")
KNOWN = ("jaccard", "cosine", "training", "factors")
EMPTY = np.zeros((0, 0))


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
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    codes: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    members: int = 0  # number of distinct members of the sets
    table: NDArray[np.float64] = field(default_factory=lambda: EMPTY)

    def scratch(self) -> NDArray[np.int64]:
        """Return an array in which a kernel marks the members of a set; it is empty if sets are stored as bit masks."""
        return np.zeros(0 if self.masks.size else self.members, np.int64)

    def count_bare(self, rows: NDArray[np.int32]) -> int:
        """Return the number of ``rows`` whose item has no features (or users) to compute a distance from."""
        if self.kind != _kernels.SETS:
            return 0
        sizes = np.append(np.diff(self.offsets), 0)
        return int((sizes[rows] == 0).sum())  # row -1, an unknown item, reads the 0 at the end


class DistanceReranker(Reranker):
    """A re-ranker that compares items by a distance; a subclass declares the parameter ``distance``."""

    distance: object

    def validate(self) -> None:
        """Raise U102 for an unknown distance."""
        super().validate()
        if isinstance(self.distance, str) and self.distance not in KNOWN:
            raise self.refuse("distance", "it is not a known distance", suggest(self.distance, KNOWN))

    @property
    def needs_items(self) -> bool:
        """Return whether item features must still be given: the distance compares features, and there are none yet."""
        return self.items is None and isinstance(self.distance, str) and self.distance in OF_FEATURES


def item_distances(distance: object, context: RerankContext) -> ItemDistances:
    """Return the distances of a given name, or those of a table.

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
