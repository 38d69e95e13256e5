"""What generated sequences are like: novelty, serendipity, coverage, diversity, and how certain the system is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Int32
from recassay.data.generated import Generated
from recassay.metrics.base import Values
from recassay.metrics.sequence.accuracy import HitShare
from recassay.metrics.sequence.base import (
    FunctionOfMean,
    PerSequence,
    PlaceSum,
    SequenceBlock,
    SequenceContext,
    Source,
    WholeSequenceMetric,
)
from recassay.naming.named import COUNT, Departure


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

    def measure(self, known: SequenceContext, items: Int32) -> float:
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

    k_p: Annotated[int | None, COUNT] = None
    primitive: Literal["popular", "given"] = "popular"

    def ready(self, known: SequenceContext, generated: Generated) -> None:
        if self.primitive == "given":
            self.must_have("primitive", known.primitive)

    def added(self, block: SequenceBlock) -> Values:
        items = block.items[:, : self.depth]
        return np.asarray(block.matches.hits[:, : self.depth] & ~self._is_obvious(block, items), np.float64)

    def _is_obvious(self, block: SequenceBlock, items: Int32) -> Bool:
        """Return a mask (n, k) of items that the primitive recommender gives everyone, or for the same first item."""
        obvious = block.known.popular if self.primitive == "popular" else block.known.primitive
        assert obvious is not None, "a metric that uses the list requires it in ready()"
        if obvious.ndim == 1:
            return np.isin(items, obvious[: self.k_p or self.depth])
        mask = np.zeros(items.shape, np.bool_)
        for column in obvious[block.begin : block.end, : self.k_p or self.depth].T:
            mask |= items == column[:, None]
        return mask


@dataclass(frozen=True, repr=False)
class SequenceDiversity(PlaceSum):
    """The mean distance of two items of a list: 1 minus their similarity.

    Formula: ``mean over pairs of places p < q of 1 - similarity(x_p, x_q)``. ``similarity``: of ``training``, the
    cosine of the vectors of how often an item occurs in each training sequence; of ``features``, the cosine of the sets
    of features of items; or ``given``, a matrix. ``printed_norm=True`` halves it, as the paper's formula does.

    Edges: undefined for k = 1 and for lists that ended before the second place. An item has
    similarity 1 with itself, so a repeat adds 0. An item without training events (or features) has similarity 0 with
    every item, itself included, so repeating it looks diverse.

    Libraries: Sequeval 1.1.2. The paper divides half the sum by k (k - 1), which would make the range [0, 1] and not
    the [0, 2] that it states.

    Reference: Monti, Palumbo, Rizzo and Morisio, Sequeval, Information 10(5), 2019.
    """

    name = "seq_diversity"
    describes: ClassVar[bool] = True
    pairs = True
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The printed formula divides half the sum of distances by k (k - 1), which contradicts the stated range "
            "[0, 2]; recassay divides by the number of pairs, as the authors' program does.",
            "seq_diversity(printed_norm=True)@5",
        ),
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    printed_norm: bool = False
    similarity: Source = "training"

    def ready(self, known: SequenceContext, generated: Generated) -> None:
        if self.similarity != "training":
            data = {"features": ("items", known.features), "given": ("similarities", known.similarities)}
            self.must_have(*data[self.similarity])
        known.similarity(self.similarity).add_pairs(generated.items, self.depth)

    def added(self, block: SequenceBlock) -> Values:
        distances = block.known.similarity(self.similarity).distance_sums(block.items, self.depth)
        return distances / 2 if self.printed_norm else distances


@dataclass(frozen=True, repr=False)
class Confidence(PlaceSum):
    """The mean probability that the system gives the items it generates.

    Formula: ``mean over the first k items of P(x_j | seed, x_1 .. x_(j-1))``.

    Edges: undefined without probabilities. A system that generates the same for everyone is certain (1), one that draws
    uniformly has 1/|I|: confidence is not accuracy.

    Libraries: Sequeval 1.1.2.

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS
    2004; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_confidence"
    describes: ClassVar[bool] = True

    def added(self, block: SequenceBlock) -> Values:
        return np.where(
            block.present[:, : self.depth], block.generated.chances[block.begin : block.end, : self.depth], 0.0
        )


@dataclass(frozen=True, repr=False)
class Surprise(PerSequence):
    """Cross-entropy of the system in bits per transition of the true sequences.

    Formula: ``-sum over transitions of log2 P(next item | items so far)``, over their number; test sequences are
    weighted by their transitions in the mean. ``seq_perplexity`` is 2 to the power of the mean.

    Edges: undefined without probabilities. Infinite if the system gave an item that came probability 0;
    there is then no interval, and no value per sequence to test with.

    Libraries: none; Sequeval reports the perplexity.

    Reference: Shannon, A mathematical theory of communication, Bell System Technical Journal 1948.
    """

    name = "seq_surprise"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "none"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    higher_is_better = False

    def evaluate(self, block: SequenceBlock) -> Values:
        return np.asarray(block.generated.surprise[block.begin : block.end] / block.following)

    def weights(self, block: SequenceBlock) -> Values:
        return block.following.astype(np.float64)


@dataclass(frozen=True, repr=False)
class Perplexity(FunctionOfMean):
    """The number of equally likely items from which the system in effect picks the item that really came.

    Formula: ``2 ^ (-(1/M) sum over all transitions of log2 P(next item | items so far))``, M the number of transitions
    of all test sequences: the seed conditions the first.

    Edges: independent of k, and of what was generated. Undefined without probabilities; infinite if the system gave an
    item that came probability 0. It is pooled over transitions: its interval comes from that of its logarithm,
    ``seq_surprise``, which also has values per sequence to test with.

    Libraries: Sequeval 1.1.2. The paper prints n terms over n - 1, with which chance would not score |I|.

    Reference: Jelinek, Mercer, Bahl and Baker, Perplexity: a measure of the difficulty of speech recognition tasks,
    JASA 1977; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_perplexity"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The printed sum has one term more than its divisor, with which a random system would not score |I| as the "
            "paper requires; recassay sums the n - 1 transitions that it divides by.",
        ),
    )
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "none"
    bounds: ClassVar[tuple[float, float]] = (1.0, float("inf"))
    higher_is_better = False
    part: ClassVar[PerSequence] = Surprise()

    def of_mean(self, mean: float) -> float:
        return float(np.exp2(mean))
