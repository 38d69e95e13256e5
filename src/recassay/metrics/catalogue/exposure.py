"""How many lists show each item: what every metric of the catalogue is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.recoding import Recoding
from recassay.metrics.align import Meeting
from recassay.metrics.context import Beside, Context
from recassay.threads import blocks

Catalogue = Literal["train", "truth", "items"]

LISTS_PER_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Exposure:
    """Lists that hold each item of the catalogue (ascending by id); ``outside`` rows hold an item that is not in it.

    Exposures of separate lists over one catalogue add up.
    """

    counts: NDArray[np.int64]
    outside: int

    def __add__(self, other: Exposure) -> Exposure:
        return Exposure(self.counts + other.counts, self.outside + other.outside)


def exposure(
    meeting: Meeting, context: Context, catalogue: Catalogue, k: int | None, *, begin: int = 0, end: int | None = None
) -> Exposure:
    """Exposure in the first k places of the lists of queries ``begin..end`` of the truth; other lists do not count."""
    recoding, size = _catalogue(meeting, context, catalogue)
    counts, outside = np.zeros(size, np.int64), 0
    last = meeting.match.size if end is None else end
    for first, stop in blocks(last - begin, LISTS_PER_BLOCK):
        shown = recoding(meeting.run.items[_rows(meeting, begin + first, begin + stop, k)])
        known = shown[shown >= 0]
        counts += np.bincount(known, minlength=counts.size)
        outside += shown.size - known.size
    return Exposure(counts, outside)


def _catalogue(meeting: Meeting, context: Context, catalogue: Catalogue) -> tuple[Recoding, int]:
    """From the run's item codes to items of the catalogue, and how many these are."""
    beside = Beside(meeting, context)
    if catalogue == "train":
        return beside.train_items, beside.train.n_items
    if catalogue == "items":
        return beside.feature_rows, beside.features.n_items
    ids = beside.judged_items
    return Recoding.between(meeting.run.vocabulary, ids), ids.len()


def _rows(meeting: Meeting, begin: int, end: int, k: int | None) -> NDArray[np.int64]:
    """Rows of the run in the first k places of the lists of these queries."""
    own = meeting.match[begin:end]
    own = own[own >= 0]
    lengths = meeting.run.lengths[own]
    shown = lengths if k is None else np.minimum(lengths, k)
    before = np.append(0, np.cumsum(shown))
    return np.asarray(np.repeat(meeting.run.offsets[own] - before[:-1], shown) + np.arange(before[-1]))
