"""Base classes of metrics of generated sequences, the blocks that they read, and what else they read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.data.features import Features
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold
from recassay.data.truth import TruthStatistics
from recassay.errors import UsageError
from recassay.metrics.base import Metric, Values
from recassay.metrics.beyond.base import ordered_by_popularity, ratio
from recassay.metrics.context import Context
from recassay.metrics.sequence.similarity import (
    Similarity,
    of_features,
    of_given,
    of_training,
)

Source = Literal["training", "features", "given"]


@dataclass(frozen=True, eq=False)
class SequenceContext:
    """Data that metrics of sequences read: the fold, item features and similarities, and obvious items.

    The obvious items (``primitive``) are those that a trivial recommender gives. Tables are computed on first use and
    kept; metrics request them on one thread, before blocks are judged.
    """

    fold: SequenceFold
    features: Features | None = None
    similarities: Any = None
    primitive: Int32 | None = None
    threads: int | None = None
    _similarities: dict[Source, Similarity] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def popular(self) -> Int64:
        """Return the items by how often they occur in training, most often first, ties by id."""
        return ordered_by_popularity(self.fold.counts)

    def similarity(self, source: Source) -> Similarity:
        """Return the similarities of items from a source: ``training``, ``features`` or ``given``."""
        if source not in self._similarities:
            self._similarities[source] = SIMILARITIES[source](self)
        return self._similarities[source]

    def given_pairs(self) -> dict[str, int]:
        """Return the numbers of ``pairs`` of items in lists and of those with a ``given`` one; {} if none is read."""
        return self._similarities["given"].given_pairs() if "given" in self._similarities else {}


SIMILARITIES: Mapping[Source, Callable[[SequenceContext], Similarity]] = {
    "training": lambda known: of_training(known.fold, known.threads),
    "features": lambda known: of_features(known.fold, known.features),
    "given": lambda known: of_given(known.fold, known.similarities),
}


class Matches(NamedTuple):
    """How each generated item (n, k) matches its reference, the items that really followed.

    ``hits`` says whether it is a hit, ``times`` how often the reference holds it, and ``places`` where first (-1:
    nowhere).
    """

    hits: Bool  # it adds to the multiset intersection of list and reference
    times: Int32  # how often the reference has it
    places: Int32  # where the reference has it first; -1: nowhere


@dataclass(frozen=True, eq=False)
class SequenceBlock:
    """Test sequences ``begin`` to ``end``, and the sequences generated for them.

    Every list is matched with its reference once, whatever the number of metrics. Accuracy metrics are functions of
    these matches.
    """

    known: SequenceContext
    generated: Generated
    begin: int
    end: int

    @property
    def items(self) -> Int32:
        """Return the generated items (n, k); -1 where a list ended early."""
        return self.generated.items[self.begin : self.end]

    @property
    def present(self) -> Bool:
        """Return a mask (n, k) of the places of the lists that hold an item."""
        return self.items >= 0

    @property
    def offsets(self) -> Int64:
        """Return the offsets of the whole test sequences, seeds included, in :attr:`sequences`."""
        return self.known.fold.test.offsets[self.begin : self.end + 1]

    @property
    def sequences(self) -> Int32:
        """Return the items of all test sequences."""
        return self.known.fold.test.items

    @property
    def following(self) -> Int64:
        """Return the length of each reference: the test sequence without its seed."""
        return np.diff(self.offsets) - 1

    @functools.cached_property
    def matches(self) -> Matches:
        """Return how each generated item matches its reference (hit, number of occurrences, first place)."""
        shape = self.items.shape
        matches = Matches(np.empty(shape, np.bool_), np.empty(shape, np.int32), np.empty(shape, np.int32))
        match(readonly(self.items), readonly(self.offsets), readonly(self.sequences), *matches)
        return matches


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
    no_formula: ClassVar[str] = "it evaluates generated sequences, not ranks"

    @property
    def depth(self) -> int:
        """Return the number of items of a list that the metric reads, its cut-off."""
        assert self.k is not None, "a metric without a cut-off reads no list"
        return self.k

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

    def must_have(self, name: str, data: object) -> None:
        """Raise U105 unless the ``data`` of this name, such as ``items``, were given."""
        if data is None:
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
    """A metric that is a sum over the places (positions) of a list, so that it can be reported for each place.

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

    def measure(self, known: SequenceContext, items: Int32) -> float:
        """Return the value, from the items of all lists."""
        raise NotImplementedError(f"{type(self).__name__} must define measure()")


@dataclass(frozen=True, repr=False)
class FunctionOfMean(SequenceMetric):
    """A metric that is a function of the mean of the metric :attr:`part`, without a value per sequence."""

    part: ClassVar[PerSequence]

    def of_mean(self, mean: float) -> float:
        """Return the value of the metric for this mean of :attr:`part`; it must grow with the mean."""
        raise NotImplementedError(f"{type(self).__name__} must define of_mean()")


@njit(nogil=True, cache=True)
def match(items: Int32, offsets: Int64, sequences: Int32, hits: Bool, times: Int32, places: Int32) -> None:
    """Write for each generated item how often (``times``) and where first (``places``, or -1) the reference has it.

    ``hits`` says whether it is a hit: the reference holds it more often than the list does before it. So the hits up to
    any place count the multiset intersection of the list up to there with the reference. Row s of ``items`` is the list
    for test sequence ``sequences[offsets[s]:offsets[s + 1]]``, whose first item is the seed; the others are the
    reference.
    """
    for row in range(items.shape[0]):
        first, last = offsets[row] + 1, offsets[row + 1]
        for j in range(items.shape[1]):
            item = items[row, j]
            found, where = 0, -1
            if item >= 0:
                for at in range(first, last):
                    if sequences[at] == item:
                        found += 1
                        if where < 0:
                            where = at - first
            before = 0
            if found:
                for p in range(j):
                    before += items[row, p] == item
            times[row, j], places[row, j], hits[row, j] = found, where, before < found
