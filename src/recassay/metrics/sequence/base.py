"""What a metric of generated sequences is: the same kind of value as other metrics, for another thing to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.generated import Generated
from recassay.errors import InternalError, UsageError
from recassay.metrics.base import ROUNDING, Metric, Values
from recassay.metrics.beyond.base import ratio
from recassay.metrics.sequence.block import Block
from recassay.metrics.sequence.known import Known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recassay.data.truth_facts import TruthFacts
    from recassay.metrics.context import Context

GIVEN_AS = {
    "items": "the table of items: score_sequences(..., items=...)",
    "similarities": "similarities of items: score_sequences(..., similarities=matrix)",
    "primitive": "a primitive list: score_sequences(..., primitive=[ids])",
}


@dataclass(frozen=True, repr=False)
class SequenceMetric(Metric):
    """A metric of what was generated to follow the first item (the seed) of each test sequence.

    The reference is the rest of the test sequence. Lists that ended early are counted as short: their missing places
    are no hits, and means over items are over those that are there.
    """

    family: ClassVar[str] = "sequence"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"

    @property
    def depth(self) -> int:
        """Places of a list that count."""
        assert self.k is not None, "a metric without a cut-off looks at no list"
        return self.k

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        """Refuse ranked lists."""
        raise UsageError(
            "U181",
            f"{self} judges generated sequences, not ranked lists against a truth",
            where=str(self),
            hint="ra.score_sequences(fold, generated, ...)",
        )

    def ready(self, known: Known, generated: Generated) -> None:
        """Look at all lists of a system once, on one thread, before blocks of them are judged."""

    def must_have(self, name: str, known: Known) -> None:
        """Raise U105 unless this was given beside the fold."""
        if name not in known.has:
            raise UsageError("U105", f"{self} needs {GIVEN_AS[name].partition(':')[0]}", where=str(self),
                             hint=GIVEN_AS[name].partition(": ")[2])  # fmt: skip


@dataclass(frozen=True, repr=False)
class PerSequence(SequenceMetric):
    """A metric with a value for every test sequence; its mean gives each of them the same weight unless it says."""

    def evaluate(self, block: Block) -> Values:
        """The value of each test sequence of a block; NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges a block")

    def weights(self, block: Block) -> Values | None:
        """Weight of each test sequence in the mean; None for equal weights."""
        return None

    def checked(self, block: Block) -> Values:
        """:meth:`evaluate`, and an :class:`InternalError` where a value leaves the metric's range."""
        values = self.evaluate(block)
        low, high = self.bounds
        outside = (values < low - ROUNDING) | (values > high + ROUNDING)
        if outside.any():
            at = int(np.argmax(outside))
            raise InternalError(
                "X101",
                f"{self} is {values[at]!r} for test sequence {block.begin + at} of {block.generated.name}, "
                f"outside [{low}, {high}]",
                hint="please report this with the fold and the generated sequences",
            )
        return values


@dataclass(frozen=True, repr=False)
class Placed(PerSequence):
    """A metric that is a sum over the places of a list: it can be seen place by place.

    ``pairs``: place j adds a term for each earlier place, so the first adds none; else every place adds one term.
    """

    pairs: ClassVar[bool] = False

    def added(self, block: Block) -> Values:
        """What each of the first k places adds (n, k); 0 where a list has ended."""
        raise NotImplementedError(f"{type(self).__name__} must say what a place adds")

    def whole(self, block: Block) -> Values:
        """What the sum is divided by: the number of terms, unless a metric says otherwise."""
        length = block.present[:, : self.depth].sum(axis=1)
        return np.asarray(length * (length - 1) / 2 if self.pairs else length, np.float64)

    def evaluate(self, block: Block) -> Values:
        return ratio(self.added(block).sum(axis=1), self.whole(block))

    def at_places(self, block: Block) -> Values:
        """The mean term of each of the first k places (n, k): NaN where a list has ended, or a place has no term."""
        terms = np.arange(self.depth) if self.pairs else np.ones(self.depth, np.int64)
        return ratio(self.added(block), np.where(block.present[:, : self.depth], terms, 0))


@dataclass(frozen=True, repr=False)
class OfAll(SequenceMetric):
    """A metric of all lists together. It has no value per sequence."""

    def measure(self, known: Known, items: NDArray[np.int32]) -> float:
        """The value of these places of all lists."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges all lists")


@dataclass(frozen=True, repr=False)
class Pooled(SequenceMetric):
    """A function of the mean of another metric: it has an interval, and no value per sequence to average."""

    part: ClassVar[PerSequence]

    def of_mean(self, mean: float) -> float:
        """The value, from the mean of :attr:`part`; it grows with it."""
        raise NotImplementedError(f"{type(self).__name__} must say what it makes of the mean")
