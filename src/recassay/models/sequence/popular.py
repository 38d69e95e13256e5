"""The most popular sequence: the most frequent item first, then the second, and so on."""

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
    """A fixed list: the j-th item after the first is always the j-th most frequent item of training.

    Equal counts are ordered by id. The perplexity is infinite unless every test sequence follows the list; a test
    sequence longer than the list has items of probability 0. Generating more items than the list has raises U172.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbcb"]}))
    >>> histories = Histories(np.array([0, 1, 3]), np.array([2, 2, 1], np.int32))
    >>> MostPopular().fit(made).next_probabilities(histories).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    name: ClassVar[str] = "MostPopular"

    def fit(self, sequences: Sequences) -> FittedMostPopular:
        """Count how often each item occurs, and return the fitted model."""
        counts = np.bincount(sequences.items, minlength=sequences.n_items)
        return FittedMostPopular(str(self), np.argsort(-counts, kind="stable").astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMostPopular:
    """The list of all items, most frequent first: item j of the list always comes j steps after the first item."""

    name: str
    order: Int32
    memory: ClassVar[int] = 0
    reads_items_only: ClassVar[bool] = True

    def likeliest(self, last: Int32, steps: NDArray[np.int64]) -> Int32:
        """Return the item at position ``steps`` of the list for each history; raise U172 past its end.

        ``steps`` is the number of items after the first one; ``last`` is ignored.
        """
        if steps.size and (reached := int(steps.max())) >= self.order.size:
            raise UsageError(
                "U172",
                f"{self.name} cannot predict item {reached + 1:,} of a list of {self.order.size:,} items",
                hint="generate shorter sequences, or remove test sequences longer than the catalogue",
            )
        return self.order[steps]

    def draw(self, last: Int32, steps: NDArray[np.int64], uniforms: Float) -> Int32:
        """Return the item at position ``steps`` of the list for each history.

        ``steps`` is the number of items after the first one. Nothing is random: ``last`` and ``uniforms`` are ignored.
        """
        return self.likeliest(last, steps)

    def probability(self, last: Int32, steps: NDArray[np.int64], items: Int32) -> Float:
        """Return 1 where ``items`` is the item at position ``steps`` of the list, else 0; beyond its end always 0.

        ``steps`` is the number of items after the first one; ``last`` is ignored.
        """
        on_list = steps < self.order.size
        return np.asarray(on_list & (self.order[np.where(on_list, steps, 0)] == items), np.float64)

    def next_probabilities(self, histories: Histories) -> Float:
        """Return 1 for the item that the list has at the position of the next one, and 0 for all others (n, items).

        Raise U172 past the end of the list.
        """
        table = np.zeros((len(histories), self.order.size))
        steps = np.maximum(histories.lengths - 1, 0)
        table[np.arange(steps.size), self.likeliest(np.empty((steps.size, 0), np.int32), steps)] = 1
        return table

    def __str__(self) -> str:
        return self.name
