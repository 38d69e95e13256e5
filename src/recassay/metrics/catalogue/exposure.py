"""Exposure: the number of lists that hold each item, from which every metric of the catalogue is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import ranges
from recassay.columnar.recoding import Recoding
from recassay.metrics.align import Alignment
from recassay.metrics.context import Context, ContextLookup
from recassay.threads import blocks

Catalogue = Literal["train", "truth", "items"]

LISTS_PER_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Exposure:
    """Number of lists that hold each item of the catalogue (``counts``, ascending by id).

    ``outside`` is the number of listed items that are not in the catalogue. The exposures of two groups of lists can be
    added if the catalogue is the same.
    """

    counts: NDArray[np.int64]
    outside: int

    def __add__(self, other: Exposure) -> Exposure:
        return Exposure(self.counts + other.counts, self.outside + other.outside)


def exposure_of(
    alignment: Alignment,
    context: Context,
    catalogue: Catalogue,
    k: int | None,
    *,
    begin: int = 0,
    end: int | None = None,
) -> Exposure:
    """Return how many lists hold each item of the catalogue in their first k places.

    The lists are those of the queries of the truth from ``begin`` up to ``end``, by default all.
    """
    recoding, size = _catalogue(alignment, context, catalogue)
    counts, outside = np.zeros(size, np.int64), 0
    last = alignment.match.size if end is None else end
    for first, stop in blocks(last - begin, LISTS_PER_BLOCK):
        shown = recoding(alignment.run.items[_rows(alignment, begin + first, begin + stop, k)])
        known = shown[shown >= 0]
        counts += np.bincount(known, minlength=counts.size)
        outside += shown.size - known.size
    return Exposure(counts, outside)


def _catalogue(alignment: Alignment, context: Context, catalogue: Catalogue) -> tuple[Recoding, int]:
    """Return the recoding from the run's items to items of the catalogue, and the size of the catalogue."""
    lookup = ContextLookup(alignment, context)
    if catalogue == "train":
        return lookup.train_items, lookup.train.n_items
    if catalogue == "items":
        return lookup.feature_rows, lookup.features.n_items
    ids = lookup.judged_items
    return Recoding.between(alignment.run.vocabulary, ids), ids.len()


def _rows(alignment: Alignment, begin: int, end: int, k: int | None) -> NDArray[np.int64]:
    """Return the rows of the run in the first k places of the lists of the queries from ``begin`` up to ``end``."""
    own = alignment.match[begin:end]
    own = own[own >= 0]
    lengths = alignment.run.lengths[own]
    shown = lengths if k is None else np.minimum(lengths, k)
    return ranges(alignment.run.offsets[own], shown)
