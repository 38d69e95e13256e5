"""Always the same list: the most frequent item first, then the second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.sequences import Sequences
from recassay.errors import UsageError
from recassay.models.sequence.base import Float, Int32, SequenceModel


@dataclass(frozen=True, repr=False)
class MostPopular(SequenceModel):
    """The j-th item after the first is the j-th most frequent one of training, for certain.

    Equal counts stand by id. Its perplexity is infinite unless every test sequence follows the list. Past the end of
    the list there is nothing to say: an error.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbcb"]}))
    >>> asked = Histories(np.array([0, 1, 3]), np.array([2, 2, 1], np.int32))
    >>> MostPopular().fit(made).next_probabilities(asked).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    name: ClassVar[str] = "MostPopular"

    def fit(self, sequences: Sequences) -> FittedMostPopular:
        """Counts items."""
        counts = np.bincount(sequences.items, minlength=sequences.n_items)
        return FittedMostPopular(str(self), np.argsort(-counts, kind="stable").astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMostPopular:
    """The items, most frequent first."""

    name: str
    order: Int32
    memory: ClassVar[int] = 0

    def likeliest(self, last: Int32, steps: NDArray[np.int64]) -> Int32:
        """The item of the list at each step."""
        if steps.size and (reached := int(steps.max())) >= self.order.size:
            raise UsageError(
                "U172",
                f"{self.name} was asked for item {reached + 1:,} of a list of {self.order.size:,} items",
                hint="ask for shorter sequences, or leave out test sequences longer than the catalogue",
            )
        return self.order[steps]

    def draw(self, last: Int32, steps: NDArray[np.int64], lots: Float) -> Int32:
        """The same: there is nothing to draw."""
        return self.likeliest(last, steps)

    def chance(self, last: Int32, steps: NDArray[np.int64], items: Int32) -> Float:
        """1 for the item of the list, 0 for all others."""
        return np.asarray(self.likeliest(last, steps) == items, np.float64)

    def next_probabilities(self, histories: Histories) -> Float:
        """1 for the item of the list, 0 for all others."""
        table = np.zeros((len(histories), self.order.size))
        steps = np.maximum(histories.lengths - 1, 0)
        table[np.arange(steps.size), self.likeliest(np.empty((steps.size, 0), np.int32), steps)] = 1
        return table

    def __str__(self) -> str:
        return self.name
