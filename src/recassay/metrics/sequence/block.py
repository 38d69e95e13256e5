"""Blocks of generated sequences with their test sequences."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.data.generated import Generated
from recassay.metrics.sequence import _kernels
from recassay.metrics.sequence.known import SequenceContext


class Matches(NamedTuple):
    """How each generated item (n, k) matches its reference, the items that really followed.

    ``hits`` says whether it is a hit, ``times`` how often the reference holds it, and ``places`` where first (-1:
    nowhere).
    """

    hits: NDArray[np.bool_]  # it adds to the multiset intersection of list and reference
    times: NDArray[np.int32]  # how often the reference has it
    places: NDArray[np.int32]  # where the reference has it first; -1: nowhere


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
    def items(self) -> NDArray[np.int32]:
        """Return the generated items (n, k); -1 where a list ended early."""
        return self.generated.items[self.begin : self.end]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Return a mask (n, k) of the places of the lists that hold an item."""
        return self.items >= 0

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Return the offsets of the whole test sequences, seeds included, in :attr:`sequences`."""
        return self.known.fold.test.offsets[self.begin : self.end + 1]

    @property
    def sequences(self) -> NDArray[np.int32]:
        """Return the items of all test sequences."""
        return self.known.fold.test.items

    @property
    def following(self) -> NDArray[np.int64]:
        """Return the length of each reference: the test sequence without its seed."""
        return np.diff(self.offsets) - 1

    @functools.cached_property
    def matches(self) -> Matches:
        """Return how each generated item matches its reference (hit, number of occurrences, first place)."""
        shape = self.items.shape
        found = Matches(np.empty(shape, np.bool_), np.empty(shape, np.int32), np.empty(shape, np.int32))
        _kernels.match(readonly(self.items), readonly(self.offsets), readonly(self.sequences), *found)
        return found
