"""Base classes of metrics of generated sequences, which have names and parameters like other metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.generated import Generated
from recassay.errors import UsageError
from recassay.metrics.base import Metric, Values
from recassay.metrics.beyond.base import ratio
from recassay.metrics.credit import NoFormula, RankFormula
from recassay.metrics.sequence.block import SequenceBlock
from recassay.metrics.sequence.known import SequenceContext

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recassay.data.truth_statistics import TruthStatistics
    from recassay.metrics.context import Context

GIVEN_AS = {
    "items": "the table of items: score_sequences(..., items=...)",
    "similarities": "similarities of items: score_sequences(..., similarities=matrix)",
    "primitive": "a primitive list or recommender: score_sequences(..., primitive=[ids])",
}


@dataclass(frozen=True, repr=False)
class SequenceMetric(Metric):
    """A metric of the items generated after the first item (the seed) of each test sequence.

    The reference is the rest of the test sequence. Lists that ended early are counted as short: their missing places
    are not hits, and means over items are over the items present.
    """

    family: ClassVar[str] = "sequence"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"

    @property
    def depth(self) -> int:
        """Return the number of items of a list that the metric reads, its cut-off."""
        assert self.k is not None, "a metric without a cut-off reads no list"
        return self.k

    def rank_formula(self) -> RankFormula:
        return NoFormula("it evaluates generated sequences, not ranks")

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        """Raise U181: the metric cannot judge ranked lists."""
        raise UsageError(
            "U181",
            f"{self} evaluates generated sequences, not ranked lists against a truth",
            where=str(self),
            hint="ra.sequences.score_sequences(...), or recassay score with the folder of a fold of sequences",
        )

    def ready(self, known: SequenceContext, generated: Generated) -> None:
        """Prepare tables for all lists of a system; called once, on one thread, before blocks of them are judged."""

    def must_have(self, name: str, known: SequenceContext) -> None:
        """Raise U105 unless the named data, such as ``items``, were given."""
        if name not in known.has:
            raise UsageError("U105", f"{self} needs {GIVEN_AS[name].partition(':')[0]}", where=str(self),
                             hint=GIVEN_AS[name].partition(": ")[2])  # fmt: skip


@dataclass(frozen=True, repr=False)
class PerSequence(SequenceMetric):
    """A metric with a value for every test sequence; they have equal weights in its mean by default."""

    def evaluate(self, block: SequenceBlock) -> Values:
        """Return the value of each test sequence of a block; NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate()")

    def weights(self, block: SequenceBlock) -> Values | None:
        """Return the weight of each test sequence in the mean; None for equal weights."""
        return None

    def checked(self, block: SequenceBlock) -> Values:
        """Return what :meth:`evaluate` returns; raise an error for a value outside the metric's range."""
        values = self.evaluate(block)
        self.check_range(values, self.bounds, lambda at: f"test sequence {block.begin + at} of {block.generated.name}")
        return values


@dataclass(frozen=True, repr=False)
class PlaceSum(PerSequence):
    """A metric that is a sum over the places (positions) of a list, so that it can be reported by place.

    With ``pairs``, place j adds a term for each earlier place, so the first place adds none. Otherwise each place adds
    one term.
    """

    pairs: ClassVar[bool] = False

    def added(self, block: SequenceBlock) -> Values:
        """Return the terms of the sum, one for each of the first k positions of each list (n, k); 0 after its end."""
        raise NotImplementedError(f"{type(self).__name__} must define added()")

    def whole(self, block: SequenceBlock) -> Values:
        """Return the divisor of the sum for each list: the number of terms, unless a metric overrides it."""
        length = block.present[:, : self.depth].sum(axis=1)
        return np.asarray(length * (length - 1) / 2 if self.pairs else length, np.float64)

    def evaluate(self, block: SequenceBlock) -> Values:
        return ratio(self.added(block).sum(axis=1), self.whole(block))

    def at_places(self, block: SequenceBlock) -> Values:
        """Return the mean of the terms that each of the first k places adds (n, k); NaN where it adds none."""
        terms = np.arange(self.depth) if self.pairs else np.ones(self.depth, np.int64)
        return ratio(self.added(block), np.where(block.present[:, : self.depth], terms, 0))


@dataclass(frozen=True, repr=False)
class WholeSequenceMetric(SequenceMetric):
    """A metric of all lists together. It has no value per sequence."""

    def measure(self, known: SequenceContext, items: NDArray[np.int32]) -> float:
        """Return the value, from the items of all lists."""
        raise NotImplementedError(f"{type(self).__name__} must define measure()")


@dataclass(frozen=True, repr=False)
class FunctionOfMean(SequenceMetric):
    """A metric that is a function of the mean of the metric :attr:`part`, without a value per sequence."""

    part: ClassVar[PerSequence]

    def of_mean(self, mean: float) -> float:
        """Return the value of the metric for this mean of :attr:`part`; it must grow with the mean."""
        raise NotImplementedError(f"{type(self).__name__} must define of_mean()")
