"""Order of generated sequences: whether items come in the order of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.columnar.layout import readonly
from recassay.metrics.base import Values
from recassay.metrics.sequence import _kernels
from recassay.metrics.sequence.base import PerSequence, PlaceSum
from recassay.metrics.sequence.block import SequenceBlock
from recassay.naming.departures import Departure


@dataclass(frozen=True, repr=False)
class NDPM(PlaceSum):
    """Normalised distance-based performance measure: distance from the reference order; 0.5 is no information.

    Formula: ``sum over pairs of places p < q of penalty / (2 pairs)``. If both items occur exactly once in the
    reference, the penalty is 2 if it has them in reverse order, else 0; for any other pair it is 1.
    ``identical_pairs``: two places with the same item, which occurs once in the reference, ``agree`` (0), or are
    ``irrelevant`` (1) because a repeat has no order.

    Edges: undefined for k = 1 and for lists that ended before the second place: there is no pair. The value
    is then not 0.5, which would look like a measurement.

    Libraries: Sequeval 1.1.2, which divides by zero for k = 1.

    Reference: Yao, Measuring retrieval effectiveness based on user preference of documents, JASIS 1995; Monti et al.,
    Sequeval, Information 10(5), 2019.
    """

    name = "seq_ndpm"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The paper's formula divides by zero for lists of one item; recassay leaves the metric undefined there.",
        ),
    )
    higher_is_better = False
    pairs = True

    identical_pairs: Literal["agree", "irrelevant"] = "agree"

    def added(self, block: SequenceBlock) -> Values:
        out = np.empty((block.items.shape[0], self.depth))
        _, times, places = block.matches
        _kernels.disorder(
            readonly(block.items), readonly(times), readonly(places), self.identical_pairs == "agree", out
        )
        return out


@dataclass(frozen=True, repr=False)
class LCS(PerSequence):
    """Share of the reference that was generated in the right order, with any items in between.

    Formula: ``length of the longest common subsequence of the first k items and the reference / min(|ref|, k)``.

    Edges: never above ``seq_precision``, which it equals if all hits are in order.

    Libraries: none.

    Reference: Hirschberg, A linear space algorithm for computing maximal common subsequences, CACM 1975.
    """

    name = "seq_lcs"

    def evaluate(self, block: SequenceBlock) -> Values:
        out = np.empty(block.items.shape[0], np.int64)
        _kernels.common_subsequence(
            readonly(block.items), readonly(block.offsets), readonly(block.sequences), self.depth, out
        )
        return np.asarray(out / np.minimum(block.following, self.depth))


@dataclass(frozen=True, repr=False)
class Kendall(PerSequence):
    """Kendall distance: the share of pairs of common items that are in reverse order.

    Formula: ``discordant / pairs`` over the distinct items that are in the first k places and in the reference, each at
    its first place in both.

    Edges: undefined with fewer than two common items; such lists are counted. Half of ``1 - tau``.

    Libraries: none; Sequeval's nDPM counts pairs with other items too, each as one half.

    Reference: Kendall, A new measure of rank correlation, Biometrika 1938.
    """

    name = "seq_kendall"
    higher_is_better = False

    def evaluate(self, block: SequenceBlock) -> Values:
        out = np.empty(block.items.shape[0])
        _kernels.discordance(readonly(block.matches.places), self.depth, out)
        return out
