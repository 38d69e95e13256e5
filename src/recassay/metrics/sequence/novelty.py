"""Novelty, serendipity and coverage of generated sequences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.generated import Generated
from recassay.metrics.base import Values
from recassay.metrics.sequence.accuracy import HitShare
from recassay.metrics.sequence.base import PlaceSum, WholeSequenceMetric
from recassay.metrics.sequence.block import SequenceBlock
from recassay.metrics.sequence.known import SequenceContext

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class SequenceCoverage(WholeSequenceMetric):
    """Share of the vocabulary that appears in the first k places of some list.

    Formula: ``|union of the first k items of all lists| / |I|``, I the items of training and test together.

    Edges: few test sequences cannot cover a large vocabulary, not even at random: compare on the same fold.

    Libraries: Sequeval 1.1.2. ``coverage@k`` of ranked lists takes the items of the training log by default.

    Reference: Monti, Palumbo, Rizzo and Morisio, Sequeval, Information 10(5), 2019.
    """

    name = "seq_coverage"
    describes: ClassVar[bool] = True

    def measure(self, known: SequenceContext, items: NDArray[np.int32]) -> float:
        shown = np.zeros(known.fold.n_items + 1, np.bool_)  # the last entry is for missing places (-1)
        shown[items] = True
        return float(np.count_nonzero(shown[:-1]) / known.fold.n_items)


@dataclass(frozen=True, repr=False)
class SequenceNovelty(PlaceSum):
    """The information in being shown an item, by how often it occurs in training, in bits.

    Formula: ``mean over the first k items of -log2(count / N)``, N the number of training items, repeats counted.

    Edges: ``unseen`` is the value of an item without training events: ``zero`` bits, as if it were not novel at all, or
    ``max``, ``-log2(1 / (N + 1))``. A list without an item is undefined.

    Libraries: Sequeval 1.1.2.

    Reference: Zhou, Kuscsik, Liu, Medo, Wakeling and Zhang, Solving the apparent diversity-accuracy dilemma of
    recommender systems, PNAS 2010; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_novelty"
    describes: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    unseen: Literal["zero", "max"] = "zero"

    def added(self, block: SequenceBlock) -> Values:
        counts, items = block.known.fold.counts, block.items[:, : self.depth]
        total = int(block.known.fold.train.offsets[-1])
        seen = np.where(items >= 0, counts[items], total)  # a place without an item adds log2(1)
        bits = -np.log2(np.maximum(seen, 1) / total)
        return np.where(seen > 0, bits, math.log2(total + 1) if self.unseen == "max" else 0.0)


@dataclass(frozen=True, repr=False)
class SequenceSerendipity(HitShare):
    """Precision without the obvious items: those that a primitive recommender gives.

    Formula: ``hits that are not obvious / min(|ref|, k)``; obvious are the first ``k_p`` items (k if None) of the
    ``primitive`` recommender: the most ``popular`` items of training, ties by id, or the ``given`` one, which is a list
    for everyone or a recommender that continues the same first item.

    Edges: never above ``seq_precision``, whose denominator it has. The most popular items score 0.

    Libraries: Sequeval 1.1.2, with any recommender as the primitive one.

    Reference: Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, RecSys 2010; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_serendipity"

    k_p: int | None = None
    primitive: Literal["popular", "given"] = "popular"

    def validate(self) -> None:
        if self.k_p is not None and self.k_p < 1:
            raise self.refuse("k_p", "it must be at least 1; without obvious items it is seq_precision")

    def ready(self, known: SequenceContext, generated: Generated) -> None:
        if self.primitive == "given":
            self.must_have("primitive", known)

    def added(self, block: SequenceBlock) -> Values:
        items = block.items[:, : self.depth]
        return np.asarray(block.matches.hits[:, : self.depth] & ~self._is_obvious(block, items), np.float64)

    def _is_obvious(self, block: SequenceBlock, items: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask (n, k) of items that the primitive recommender gives everyone, or for the same first item."""
        given = block.known.popular if self.primitive == "popular" else block.known.primitive
        assert given is not None, "a metric that uses the list requires it in ready()"
        if given.ndim == 1:
            obvious = np.zeros(block.known.fold.n_items, np.bool_)
            first = given[: self.k_p or self.depth]
            obvious[first[first >= 0]] = True
            return obvious[items]
        found = np.zeros(items.shape, np.bool_)
        for column in given[block.begin : block.end, : self.k_p or self.depth].T:
            found |= items == column[:, None]
        return found
