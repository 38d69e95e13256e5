"""How far from the beaten track: novelty, serendipity, and how much of the vocabulary is ever reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.generated import Generated
from recassay.metrics.base import Values
from recassay.metrics.sequence.accuracy import Hits
from recassay.metrics.sequence.base import OfAll, Placed
from recassay.metrics.sequence.block import Block
from recassay.metrics.sequence.known import Known
from recassay.portable.elementary import log2

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class SequenceCoverage(OfAll):
    """Share of the vocabulary that stands in the first k places of some list.

    Formula: ``|union of the first k items of all lists| / |I|``, I the items of training and test together.

    Edges: few test sequences cannot cover a large vocabulary, not even at random: compare on the same fold.

    Libraries: Sequeval 1.1.2. ``coverage@k`` of ranked lists takes the items of the training log, or others.

    Reference: Monti, Palumbo, Rizzo and Morisio, Sequeval, Information 10(5), 2019.
    """

    name = "seq_coverage"

    def measure(self, known: Known, items: NDArray[np.int32]) -> float:
        shown = np.zeros(known.fold.n_items + 1, np.bool_)  # the last is for places that a list lacks
        shown[items] = True
        return float(np.count_nonzero(shown[:-1]) / known.fold.n_items)


@dataclass(frozen=True, repr=False)
class SequenceNovelty(Placed):
    """The information in being shown an item, by how often it occurs in training, in bits.

    Formula: ``mean over the first k items of -log2(count / N)``, N the number of training items, repeats counted.

    Edges: an item that training does not have counts as ``unseen``: ``zero`` bits, as if it were not novel at all, or
    ``max``, ``-log2(1 / (N + 1))``. A list without an item is undefined.

    Libraries: Sequeval 1.1.2.

    Reference: Zhou, Kuscsik, Liu, Medo, Wakeling and Zhang, Solving the apparent diversity-accuracy dilemma of
    recommender systems, PNAS 2010; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_novelty"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    unseen: Literal["zero", "max"] = "zero"

    def added(self, block: Block) -> Values:
        counts, items = block.known.fold.counts, block.items[:, : self.depth]
        total = int(block.known.fold.train.offsets[-1])
        seen = np.where(items >= 0, counts[items], total)  # a place without an item adds log2(1)
        bits = -log2(np.maximum(seen, 1) / total)
        return np.where(seen > 0, bits, log2(total + 1) if self.unseen == "max" else 0.0)


@dataclass(frozen=True, repr=False)
class SequenceSerendipity(Hits):
    """Precision without what is obvious: the items that a primitive recommender gives everybody.

    Formula: ``hits that are not obvious / min(|ref|, k)``; obvious are the first ``k_p`` items (k if None) of the
    ``primitive`` list: the most ``popular`` items of training, ties by id, or a ``given`` list.

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
            raise self.refuse("k_p", "without an obvious item it is seq_precision")

    def ready(self, known: Known, generated: Generated) -> None:
        if self.primitive == "given":
            self.must_have("primitive", known)
        _ = self._obvious(known)

    def added(self, block: Block) -> Values:
        obvious = np.zeros(block.known.fold.n_items, np.bool_)
        obvious[self._obvious(block.known)] = True
        return np.asarray(block.matches.hits[:, : self.depth] & ~obvious[block.items[:, : self.depth]], np.float64)

    def _obvious(self, known: Known) -> NDArray[np.integer]:
        if self.primitive == "popular":
            return known.popular[: self.k_p or self.depth]
        first = known.primitive_items[: self.k_p or self.depth]
        return first[first >= 0]
