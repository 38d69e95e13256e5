"""How sure a system is: of what it recommends, and of what really came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.metrics.base import Values
from recassay.metrics.sequence.base import PerSequence, Placed, Pooled
from recassay.metrics.sequence.block import Block
from recassay.portable.elementary import exp2


@dataclass(frozen=True, repr=False)
class Confidence(Placed):
    """The probability that the system itself gave to what it recommends.

    Formula: ``mean over the first k items of P(x_j | seed, x_1 .. x_(j-1))``.

    Edges: undefined without probabilities. A system that says the same to everybody is certain (1), one that draws
    evenly has 1/|I|: being sure is not being right.

    Libraries: Sequeval 1.1.2.

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS
    2004; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_confidence"

    def added(self, block: Block) -> Values:
        chances = block.generated.chances[block.begin : block.end, : self.depth]
        return np.where(block.present[:, : self.depth], chances, 0.0)


@dataclass(frozen=True, repr=False)
class Surprise(PerSequence):
    """Bits that the system needs for each transition of what really came: its cross-entropy.

    Formula: ``-sum over transitions of log2 P(next item | items so far)``, over their number; test sequences weigh in
    the mean by their transitions. ``seq_perplexity`` is 2 to the power of the mean.

    Edges: undefined without probabilities. Infinite if the system held something that came to be impossible; then
    there is no interval, and no value per sequence to test with.

    Libraries: none; Sequeval prints the perplexity.

    Reference: Shannon, A mathematical theory of communication, Bell System Technical Journal 1948.
    """

    name = "seq_surprise"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "none"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    higher_is_better = False

    def evaluate(self, block: Block) -> Values:
        return np.asarray(block.generated.surprise[block.begin : block.end] / block.following)

    def weights(self, block: Block) -> Values:
        return block.following.astype(np.float64)


@dataclass(frozen=True, repr=False)
class Perplexity(Pooled):
    """Among how many items, all equally likely, the system in effect chooses the one that really came.

    Formula: ``2 ^ (-(1/M) sum over all transitions of log2 P(next item | items so far))``, M the number of transitions
    of all test sequences: the seed conditions the first.

    Edges: independent of k, and of what was recommended. Undefined without probabilities; infinite if the system held
    something that came to be impossible. It is pooled over transitions: its interval comes from that of
    ``seq_surprise``, its logarithm, which also has the values to test with.

    Libraries: Sequeval 1.1.2. The paper prints n terms over n - 1, with which chance would not score |I|.

    Reference: Jelinek, Mercer, Bahl and Baker, Perplexity: a measure of the difficulty of speech recognition tasks,
    JASA 1977; Monti et al., Sequeval, Information 10(5), 2019.
    """

    name = "seq_perplexity"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "none"
    bounds: ClassVar[tuple[float, float]] = (1.0, float("inf"))
    higher_is_better = False
    part: ClassVar[PerSequence] = Surprise()

    def of_mean(self, mean: float) -> float:
        return exp2(mean)
