"""Distances between items: by features, by the users who had them, or from a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.columnar.recoding import Recoding

if TYPE_CHECKING:
    from recassay.metrics.context import ContextLookup

Distance = Literal["jaccard", "cosine", "training", "given"]

NEEDS: dict[str, frozenset[str]] = {
    "jaccard": frozenset({"items"}),
    "cosine": frozenset({"items"}),
    "training": frozenset({"train"}),
    "given": frozenset({"train", "distances"}),
}


@dataclass(frozen=True, eq=False)
class DistanceSource:
    """A source of distances between items: sets (features, or users who had the item), or a ``table`` of distances.

    ``rows`` maps an item to its row r, which has the set ``codes[offsets[r]:offsets[r + 1]]``; ``masks`` are the sets
    as bits. ``cosine`` chooses cosine instead of Jaccard distance.
    """

    rows: Recoding  # from the run's items to the rows below
    cosine: bool
    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    table: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], bool]:
        """Return (masks, offsets, codes, table, cosine), the arguments that the kernels share."""
        return readonly(self.masks), readonly(self.offsets), readonly(self.codes), readonly(self.table), self.cosine


def distance_source(distance: Distance, lookup: ContextLookup) -> DistanceSource:
    """Return where distances of the named kind (features, training users or a given table) come from."""
    if distance == "training":
        return DistanceSource(lookup.train_items, True, *lookup.train.by_item)
    if distance == "given":
        assert lookup.context.distances is not None, "a metric that uses distances must name them in `needs`"
        n = lookup.train.n_items  # one dummy feature each, so that no item counts as bare
        table = lookup.context.distances
        return DistanceSource(lookup.train_items, False, np.arange(n + 1), np.zeros(n, np.int32), table=table)
    features = lookup.features
    return DistanceSource(lookup.feature_rows, distance == "cosine", features.offsets, features.codes, features.masks)


def log_item_rows(distance: Distance, lookup: ContextLookup) -> NDArray[np.int32]:
    """Return for each item of the training log its row in the distance source, or -1."""
    if distance in ("training", "given"):
        return np.arange(lookup.train.n_items, dtype=np.int32)
    return lookup.train_feature_rows
