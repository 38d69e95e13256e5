"""How different the items of a generated sequence are from each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recassay.data.generated import Generated
from recassay.metrics.base import Values
from recassay.metrics.sequence.base import Placed
from recassay.metrics.sequence.block import Block
from recassay.metrics.sequence.known import Known, Source

NEEDS = {"features": "items", "given": "similarities"}


@dataclass(frozen=True, repr=False)
class SequenceDiversity(Placed):
    """The mean distance of two items of a list, 1 minus how alike they are.

    Formula: ``mean over pairs of places p < q of 1 - similarity(x_p, x_q)``. ``similarity``: of ``training``, the
    cosine of the vectors of how often an item occurs in each training sequence; of ``features``, the cosine of the sets
    of features of items; or ``given``, a matrix. ``printed_norm=True`` halves it, as the paper's formula does.

    Edges: undefined for k = 1 and for lists that ended before the second place. An item is like itself, so a repeat
    adds 0; but an item that training does not have (or that has no features) is like nothing, itself included, so
    repeating it looks diverse.

    Libraries: Sequeval 1.1.2. The paper divides half the sum by k (k - 1), which would make the range [0, 1] and not
    the [0, 2] that it states.

    Reference: Monti, Palumbo, Rizzo and Morisio, Sequeval, Information 10(5), 2019.
    """

    name = "seq_diversity"
    pairs = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    printed_norm: bool = False
    similarity: Source = "training"

    def ready(self, known: Known, generated: Generated) -> None:
        if self.similarity in NEEDS:
            self.must_have(NEEDS[self.similarity], known)
        known.similarity(self.similarity).meet(generated.items, self.depth)

    def added(self, block: Block) -> Values:
        apart = block.known.similarity(self.similarity).apart(block.items, self.depth)
        return apart / 2 if self.printed_norm else apart
