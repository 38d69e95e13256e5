"""Accuracy of generated sequences: hits, with more weight at the top if wanted, and the order of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.metrics.base import Values
from recassay.metrics.ranking.ndcg import discounts
from recassay.metrics.sequence.base import PerSequence, PlaceSum, SequenceBlock
from recassay.naming.named import Departure


@dataclass(frozen=True, repr=False)
class HitShare(PlaceSum):
    """Base of metrics that divide hits by min(|ref|, k), the most items that list and reference can share."""

    def whole(self, block: SequenceBlock) -> Values:
        return np.minimum(block.following, self.depth).astype(np.float64)


@dataclass(frozen=True, repr=False)
class SequencePrecision(HitShare):
    """Share of the generated items that really followed, relative to the largest possible share.

    Formula: ``hits / min(|ref|, k)``, hits the size of the multiset intersection of the first k items and the
    reference.

    Edges: an item recommended again is a hit again only if the reference repeats it. The order does not matter. Missing
    places of a short list are misses.

    Libraries: Sequeval 1.1.2. ``precision@k`` of ranked lists divides by k.

    Reference: Monti, Palumbo, Rizzo and Morisio, Sequeval: an offline evaluation framework for sequence-based
    recommender systems, Information 10(5), 2019.
    """

    name = "seq_precision"

    def added(self, block: SequenceBlock) -> Values:
        return block.matches.hits[:, : self.depth].astype(np.float64)


@dataclass(frozen=True, repr=False)
class SequenceRecall(PerSequence):
    """Share of what really followed that was generated.

    Formula: ``hits / |ref|``, hits the size of the multiset intersection of the first k items and the reference.

    Edges: a reference longer than k cannot be recalled in full; ``seq_precision`` divides by the largest
    possible number of hits.

    Libraries: none; Sequeval has precision only.

    Reference: as ``recall@k``, with the reference as the relevant items, repeats counted.
    """

    name = "seq_recall"

    def evaluate(self, block: SequenceBlock) -> Values:
        return np.asarray(block.matches.hits[:, : self.depth].sum(axis=1) / block.following)


@dataclass(frozen=True, repr=False)
class SequenceNDCG(PerSequence):
    """Discounted hits as a share of the largest possible sum: higher places count more.

    Formula: ``sum over hits at place j of 1/log2(j + 1)``, divided by the same sum over j = 1 .. min(|ref|, k).

    Edges: a hit counts as in ``seq_precision``: repeats only as often as the reference has them. The order within the
    reference does not matter; ``seq_ndpm`` and ``seq_lcs`` measure that.

    Libraries: none; Sequeval has no discounted metric.

    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """

    name = "seq_ndcg"

    def evaluate(self, block: SequenceBlock) -> Values:
        discount = discounts("log2p1", self.depth)
        gained = np.where(block.matches.hits[:, : self.depth], discount, 0.0).sum(axis=1)
        best = np.cumsum(discount)[np.minimum(block.following, self.depth) - 1]
        return np.asarray(gained / best)


@dataclass(frozen=True, repr=False)
class SequenceMRR(PerSequence):
    """One over the place at which the item that came next was generated.

    Formula: ``1 / j``, j the first of k places that holds the first item of the reference.

    Edges: 0 if none holds it. Later items of a generated sequence are not guesses of the next item: the mean says
    how near the item was, not how well the system ranks.

    Libraries: none.

    Reference: as ``mrr@k``, with one relevant item.
    """

    name = "seq_mrr"

    def evaluate(self, block: SequenceBlock) -> Values:
        after = block.sequences[block.offsets[:-1] + 1]
        is_next = block.items[:, : self.depth] == after[:, None]
        return np.asarray(np.where(is_next.any(axis=1), 1.0 / (1 + is_next.argmax(axis=1)), 0.0))


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
        disorder(readonly(block.items), readonly(times), readonly(places), self.identical_pairs == "agree", out)
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
        common_subsequence(readonly(block.items), readonly(block.offsets), readonly(block.sequences), self.depth, out)
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
        discordance(readonly(block.matches.places), self.depth, out)
        return out


@njit(nogil=True, cache=True)
def disorder(items: Int32, times: Int32, places: Int32, agree: bool, out: Float) -> None:
    """Write to ``out[s, j]`` the disorder at place j of list s, a sum over the places before it.

    A place before j adds 0 if its item and that at place j are in the order of the reference, 1 if they are in reverse
    order, and 1/2 if the order is unknown. The order is known if both ``items`` occur exactly once in the reference:
    ``times`` is how often an item occurs there, and ``places`` where first. Two places with the same item add 1/2, but
    0 with ``agree``.
    """
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            if items[row, j] >= 0:
                for p in range(j):
                    if times[row, p] != 1 or times[row, j] != 1 or (items[row, p] == items[row, j] and not agree):
                        total += 0.5
                    elif places[row, j] < places[row, p]:
                        total += 1.0
            out[row, j] = total


@njit(nogil=True, cache=True)
def discordance(places: Int32, k: int, out: Float) -> None:
    """Write to ``out[s]`` the share of pairs of common items of list and reference s that are in reverse order.

    ``places`` (lists, k) is where each item first occurs in the reference, -1 for nowhere. An item counts at its first
    place in the list.
    """
    order = np.empty(k, np.int64)
    for row in range(places.shape[0]):
        common, against = 0, 0
        for j in range(k):
            if places[row, j] < 0:
                continue
            new = True
            for p in range(common):
                new = new and order[p] != places[row, j]
            if new:
                for p in range(common):
                    against += places[row, j] < order[p]
                order[common] = places[row, j]
                common += 1
        out[row] = 2.0 * against / (common * (common - 1)) if common > 1 else np.nan


@njit(nogil=True, cache=True)
def common_subsequence(items: Int32, offsets: Int64, sequences: Int32, k: int, out: Int64) -> None:
    """Write to ``out[s]`` the length of the longest common subsequence of list s and its reference.

    Only the first k items of list s count. The reference is all of ``sequences[offsets[s] + 1:offsets[s + 1]]``.
    """
    best = np.empty(k + 1, np.int64)  # of the reference so far, with the first j items of the list
    for row in range(items.shape[0]):
        best[:] = 0
        for at in range(offsets[row] + 1, offsets[row + 1]):
            diagonal = 0
            for j in range(k):
                above = best[j + 1]
                if items[row, j] == sequences[at]:
                    best[j + 1] = diagonal + 1
                elif best[j] > above:
                    best[j + 1] = best[j]
                diagonal = above
        out[row] = best[k]
