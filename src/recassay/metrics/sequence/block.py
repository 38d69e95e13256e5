"""Generated sequences beside the test sequences they were generated for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.data.generated import Generated
from recassay.data.layout import readonly
from recassay.metrics.sequence import _kernels
from recassay.metrics.sequence.known import Known


class Matches(NamedTuple):
    """What each generated item is to its reference (n, k)."""

    hits: NDArray[np.bool_]  # it adds to the multiset intersection of list and reference
    times: NDArray[np.int32]  # how often the reference has it
    places: NDArray[np.int32]  # where the reference has it first; -1: nowhere


@dataclass(frozen=True, eq=False)
class Block:
    """Test sequences ``begin`` to ``end`` and what was generated for them.

    Every list is held against its reference once, whatever the number of metrics: all that has to do with what really
    followed is a function of the matches.
    """

    known: Known
    generated: Generated
    begin: int
    end: int

    @property
    def items(self) -> NDArray[np.int32]:
        """The generated items (n, k); -1 where a list ended early."""
        return self.generated.items[self.begin : self.end]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where a list has an item."""
        return self.items >= 0

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Bounds of the whole test sequences, seeds included, in :attr:`sequences`."""
        return self.known.fold.test.offsets[self.begin : self.end + 1]

    @property
    def sequences(self) -> NDArray[np.int32]:
        """The items of all test sequences."""
        return self.known.fold.test.items

    @property
    def following(self) -> NDArray[np.int64]:
        """Items of each reference: all of a test sequence but its seed."""
        return np.diff(self.offsets) - 1

    @functools.cached_property
    def matches(self) -> Matches:
        """What each generated item is to its reference."""
        shape = self.items.shape
        found = Matches(np.empty(shape, np.bool_), np.empty(shape, np.int32), np.empty(shape, np.int32))
        _kernels.match(readonly(self.items), readonly(self.offsets), readonly(self.sequences), *found)
        return found
