"""Whether what was generated stands in the order in which it followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.data.layout import readonly
from recassay.metrics.base import Values
from recassay.metrics.sequence import _kernels
from recassay.metrics.sequence.base import PerSequence, Placed
from recassay.metrics.sequence.block import Block


@dataclass(frozen=True, repr=False)
class NDPM(Placed):
    """Normalised distance-based performance measure: how far the order is from the reference's; 0.5 is no information.

    Formula: ``sum over pairs of places p < q of penalty / (2 pairs)``. With both items exactly once in the reference,
    the penalty is 2 if it has them the other way round, else 0; with any other pair it is 1. ``identical_pairs``: an
    item beside itself, once in the reference, ``agree`` (0), or is ``irrelevant`` (1): a repeat says nothing about
    order.

    Edges: undefined for k = 1 and for lists that ended before the second place: there is no pair. Never 0.5 there,
    which would look measured.

    Libraries: Sequeval 1.1.2, which divides by zero for k = 1.

    Reference: Yao, Measuring retrieval effectiveness based on user preference of documents, JASIS 1995; Monti et al.,
    Sequeval, Information 10(5), 2019.
    """

    name = "seq_ndpm"
    higher_is_better = False
    pairs = True

    identical_pairs: Literal["agree", "irrelevant"] = "agree"

    def added(self, block: Block) -> Values:
        out = np.empty((block.items.shape[0], self.depth))
        _, times, places = block.matches
        _kernels.disorder(
            readonly(block.items), readonly(times), readonly(places), self.identical_pairs == "agree", out
        )
        return out


@dataclass(frozen=True, repr=False)
class LCS(PerSequence):
    """Share of what followed that was generated in the right order, with anything in between.

    Formula: ``length of the longest common subsequence of the first k items and the reference / min(|ref|, k)``.

    Edges: never above ``seq_precision``, which it equals where all hits stand in order.

    Libraries: none.

    Reference: Hirschberg, A linear space algorithm for computing maximal common subsequences, CACM 1975.
    """

    name = "seq_lcs"

    def evaluate(self, block: Block) -> Values:
        out = np.empty(block.items.shape[0], np.int64)
        _kernels.common_subsequence(
            readonly(block.items), readonly(block.offsets), readonly(block.sequences), self.depth, out
        )
        return np.asarray(out / np.minimum(block.following, self.depth))


@dataclass(frozen=True, repr=False)
class Kendall(PerSequence):
    """Kendall distance: the share of pairs of common items that stand the other way round.

    Formula: ``discordant / pairs`` over the distinct items that are in the first k places and in the reference, each at
    its first place in both.

    Edges: undefined with fewer than two common items; how many lists that leaves is counted. Half of ``1 - tau``.

    Libraries: none; Sequeval's nDPM also counts items that are not common, each pair as one half.

    Reference: Kendall, A new measure of rank correlation, Biometrika 1938.
    """

    name = "seq_kendall"
    higher_is_better = False

    def evaluate(self, block: Block) -> Values:
        out = np.empty(block.items.shape[0])
        _kernels.discordance(readonly(block.matches.places), self.depth, out)
        return out
