"""Diversity of generated sequences: distances between their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recassay.data.generated import Generated
from recassay.metrics.base import Values
from recassay.metrics.sequence.base import PlaceSum
from recassay.metrics.sequence.block import SequenceBlock
from recassay.metrics.sequence.known import SequenceContext, Source
from recassay.naming.departures import Departure

NEEDS = {"features": "items", "given": "similarities"}


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
        if self.similarity in NEEDS:
            self.must_have(NEEDS[self.similarity], known)
        known.similarity(self.similarity).add_pairs(generated.items, self.depth)

    def added(self, block: SequenceBlock) -> Values:
        distances = block.known.similarity(self.similarity).distance_sums(block.items, self.depth)
        return distances / 2 if self.printed_norm else distances
