"""How far items are from each other, for metrics of variety: by features, by who had them, or as given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly
from recassay.data.recoding import Recoding

if TYPE_CHECKING:
    from recassay.metrics.context import Beside

Distance = Literal["jaccard", "cosine", "training", "given"]

NEEDS: dict[str, frozenset[str]] = {
    "jaccard": frozenset({"items"}),
    "cosine": frozenset({"items"}),
    "training": frozenset({"train"}),
    "given": frozenset({"train", "distances"}),
}


@dataclass(frozen=True, eq=False)
class Space:
    """Where distances come from: sets of the items (features, or users who had them), or a table of distances."""

    rows: Recoding  # of the run's items
    cosine: bool
    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    table: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], bool]:
        """What kernels take."""
        return readonly(self.masks), readonly(self.offsets), readonly(self.codes), readonly(self.table), self.cosine


def space(distance: Distance, beside: Beside) -> Space:
    """The distances that a word stands for."""
    if distance == "training":
        return Space(beside.train_items, True, *beside.train.by_item)
    if distance == "given":
        assert beside.context.distances is not None, "a metric that uses distances must name them in `needs`"
        n = beside.train.n_items  # every item has something to measure its distance by
        table = beside.context.distances
        return Space(beside.train_items, False, np.arange(n + 1), np.zeros(n, np.int32), table=table)
    features = beside.features
    return Space(beside.feature_rows, distance == "cosine", features.offsets, features.codes, features.masks)


def log_rows(distance: Distance, beside: Beside) -> NDArray[np.int32]:
    """For each item of the training log its row in the space of distances, or -1."""
    if distance in ("training", "given"):
        return np.arange(beside.train.n_items, dtype=np.int32)
    return beside.train_feature_rows
