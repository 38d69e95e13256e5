"""How far items are from each other: by their features, by who had them, by what was learnt of them, or as given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.distances import given_distances
from recassay.data.recoding import Recoding
from recassay.errors import InputError
from recassay.models.rerank import _kernels
from recassay.models.rerank.ground import Ground
from recassay.spec import suggest

if TYPE_CHECKING:
    from recassay.models.rerank.mmr import MMR

KNOWN = ("jaccard", "cosine", "training", "factors")
EMPTY = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Apart:
    """Where distances come from: sets of the items (features, or users who had them), a table, or vectors."""

    kind: int
    recoding: Recoding  # from codes of lists to rows of all that follows
    cosine: bool = False
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    codes: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    members: int = 0  # that a set may have
    table: NDArray[np.float64] = field(default_factory=lambda: EMPTY)

    def bare(self, rows: NDArray[np.int32]) -> int:
        """How many rows have nothing to measure a distance by."""
        if self.kind != _kernels.SETS:
            return 0
        sizes = np.append(np.diff(self.offsets), 0)
        return int((sizes[rows] == 0).sum())  # row -1, an item that is not known, is the 0 at the end


def refuse_unknown(method: MMR) -> None:
    """U102 for a word that is no distance."""
    if isinstance(method.distance, str) and method.distance not in KNOWN:
        raise method.refuse("distance", "there is no such distance", suggest(method.distance, KNOWN))


def apart(distance: Any, ground: Ground) -> Apart:
    """The distances a word or a table stands for."""
    if not isinstance(distance, str):
        table = given_distances(distance, ground.log.n_items)
        return Apart(_kernels.TABLE, _all_known(ground.log_items, ground, "given distances"), table=table)
    if distance == "training":
        return Apart(_kernels.SETS, ground.log_items, True, *ground.log.by_item, members=ground.log.n_users)
    if distance == "factors":
        vectors = np.asarray(ground.learned, np.float64)
        lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        table = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return Apart(_kernels.VECTORS, _all_known(ground.log_items, ground, "item vectors"), table=table)
    found = ground.features
    return Apart(
        _kernels.SETS,
        ground.feature_rows,
        distance == "cosine",
        found.offsets,
        found.codes,
        found.masks,
        found.names.len(),
    )


def _all_known(recoding: Recoding, ground: Ground, what: str) -> Recoding:
    """The recoding, if it knows every item of the lists: of the others no distance is known at all."""
    lost = recoding(ground.listed) < 0
    if not lost.any():
        return recoding
    strangers = np.unique(ground.listed[lost])
    example = ground.vocabulary.decode(strangers[:1])[0]
    raise InputError(
        "I394",
        f"{strangers.size:,} items of the lists, such as {example!r}, are not in the log, and so have no {what}",
        where=ground.where,
        hint="give the log the lists were made from, or distances of features: distance='jaccard'",
    )
