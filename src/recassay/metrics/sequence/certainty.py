"""Probabilities of a system: for the items it generates, and for the items that really came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics.base import Values
from recassay.metrics.sequence.base import FunctionOfMean, PerSequence, PlaceSum
from recassay.metrics.sequence.block import SequenceBlock
from recassay.naming.departures import Departure


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
        chances = block.generated.chances[block.begin : block.end, : self.depth]
        return np.where(block.present[:, : self.depth], chances, 0.0)


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
