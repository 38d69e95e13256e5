"""Chains: how often each item came after the last ones, smoothed; with a memory of none it is popularity, or chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.layout import readonly, stretch_of
from recassay.data.sequences import Sequences
from recassay.models.sequence import _kernels
from recassay.models.sequence.base import Float, Int32, SequenceModel

Int64 = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Uniform(SequenceModel):
    """Every item is as likely as any other, 1 / I, whatever came before: random sequences, the floor of every model.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> Uniform().fit(made).next_probabilities(made.histories).round(3).tolist()
    [[0.333, 0.333, 0.333], [0.333, 0.333, 0.333]]
    """

    name: ClassVar[str] = "Uniform"

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Learns how many items there are, test items too."""
        return FittedCounts.of(str(self), sequences.n_items, [], np.empty(0, np.int64), np.empty(0, np.int32), 1.0)


@dataclass(frozen=True, repr=False)
class Unigram(SequenceModel):
    """An item is as likely as it was frequent in training, whatever came before.

    With c(x) the number of times that x occurs, N the sum of these and a the ``smoothing``, the chance of x is
    (c(x) + a) / (N + a I).

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> Unigram().fit(made).next_probabilities(made.histories.take(np.array([0]))).tolist()
    [[0.375, 0.375, 0.25]]
    """

    name: ClassVar[str] = "Unigram"

    smoothing: float = 1.0

    def validate(self) -> None:
        """Smoothing adds."""
        self.at_least(0, "smoothing")

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Counts items."""
        nowhere = np.zeros(sequences.items.size, np.int64)
        return FittedCounts.of(str(self), sequences.n_items, [], nowhere, sequences.items, self.smoothing)


@dataclass(frozen=True, repr=False)
class NGram(SequenceModel):
    """An item is as likely as it was frequent after the last ``order`` - 1 items; ``NGram(order=2)`` is the bigram.

    With c(h, y) the number of times that y came right after the items h, c(h) the sum of these over y, and a the
    ``smoothing``, the chance of y is (c(h, y) + a) / (c(h) + a I).

    Backing off: h are as many of the last items as came with something after them in training, at most order - 1; where
    not even the last item did, every item is as likely as any other. Counts of a shorter h are of all its occurrences.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> NGram().fit(made).next_probabilities(Histories(np.array([0, 1, 2]), np.array([0, 1], np.int32))).tolist()
    [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]]
    """

    name: ClassVar[str] = "NGram"

    order: int = 2
    smoothing: float = 1.0

    def validate(self) -> None:
        """Smoothing adds, and something is remembered."""
        self.at_least(0, "smoothing")
        self.at_least(2, "order")

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Counts what came after what, for every length of memory."""
        n, items = sequences.n_items, sequences.items
        place = np.arange(items.size) - sequences.offsets[:-1][stretch_of(sequences.offsets)]
        at = np.flatnonzero(place)
        rows = items[at - 1].astype(np.int64)  # the context of each of these places, one item long
        found_rows, found_items, keys, size = [rows], [items[at]], [], n
        for length in range(2, self.order):
            longer = place[at] >= length
            at, rows = at[longer], rows[longer]
            longer_keys, numbers = np.unique(rows * n + items[at - length], return_inverse=True)
            rows = size + numbers
            keys.append(longer_keys)
            found_rows.append(rows)
            found_items.append(items[at])
            size += longer_keys.size
        contexts = np.concatenate(found_rows)
        return FittedCounts.of(str(self), n, keys, contexts, np.concatenate(found_items), self.smoothing, 1, size)


@dataclass(frozen=True, eq=False, repr=False)
class FittedCounts:
    """Counts of items after contexts: a row per context, sparse.

    With a memory there are first a row per item, then those of longer contexts: ``keys[j]`` has, ascending, the row of
    a context j + 1 items long times I plus the item before it. ``reach`` sums the counts of a row from the left.
    """

    name: str
    n_items: int
    memory: int
    keys: tuple[Int64, ...]
    offsets: Int64
    columns: Int32
    reach: Int64
    smoothing: float

    @classmethod
    def of(
        cls,
        name: str,
        n_items: int,
        keys: list[Int64],
        rows: Int64,
        items: Int32,
        smoothing: float,
        memory: int = 0,
        n_rows: int = 1,
    ) -> FittedCounts:
        """Count pairs of a row and an item."""
        pairs, counts = np.unique(rows * n_items + items, return_counts=True)
        offsets = np.searchsorted(pairs, np.arange(n_rows + 2) * n_items)  # and an empty row behind the others
        sums = np.append(0, np.cumsum(counts))
        reach = sums[1:] - np.repeat(sums[offsets[:-1]], np.diff(offsets))
        columns = (pairs % n_items).astype(np.int32)
        return cls(
            name,
            n_items,
            memory + len(keys),
            tuple(keys),
            readonly(offsets),
            readonly(columns),
            readonly(reach),
            float(smoothing),
        )

    def rows(self, last: Int32) -> Int64:
        """The row of the longest known context of each history."""
        if not self.memory:
            return np.zeros(last.shape[0], np.int64)
        found = last[:, -1].astype(np.int64)
        base, known = self.n_items, np.flatnonzero(found >= 0)
        found[found < 0] = self.offsets.size - 2  # after nothing: the last row, which is empty
        for back, keys in enumerate(self.keys, start=2):
            known = known[last[known, -back] >= 0]
            wanted = found[known] * self.n_items + last[known, -back]
            place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
            there = keys[place] == wanted if keys.size else np.zeros(known.size, np.bool_)
            known = known[there]
            found[known] = base + place[there]
            base += keys.size
        return found

    def draw(self, last: Int32, steps: Int64, lots: Float) -> Int32:
        """The item at each lot."""
        found = np.empty(lots.size, np.int32)
        table = (self.offsets, self.columns, self.reach, self.smoothing, self.n_items)
        _kernels.draw(*table, readonly(self.rows(last)), readonly(lots), found)
        return found

    def likeliest(self, last: Int32, steps: Int64) -> Int32:
        """The item with the highest probability."""
        found = np.empty(steps.size, np.int32)
        _kernels.likeliest(self.offsets, self.columns, self.reach, readonly(self.rows(last)), found)
        return found

    def chance(self, last: Int32, steps: Int64, items: Int32) -> Float:
        """The probability of one item after each history."""
        found = np.empty(items.size)
        table = (self.offsets, self.columns, self.reach, self.smoothing, self.n_items)
        _kernels.chance(*table, readonly(self.rows(last)), readonly(items), found)
        return found

    def next_probabilities(self, histories: Histories) -> Float:
        """The probabilities of all items after each history."""
        rows = self.rows(histories.last(max(self.memory, 1), pad=-1))
        size = self.offsets[rows + 1] - self.offsets[rows]
        table = np.zeros((rows.size, self.n_items))
        at = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(self.offsets[rows], size)
        begins = np.isin(at, self.offsets[:-1])
        counts = self.reach[at] - np.where(begins, 0, self.reach[at - 1])
        table[np.repeat(np.arange(rows.size), size), self.columns[at]] = counts
        total = table.sum(axis=1, keepdims=True) + self.smoothing * self.n_items
        table += self.smoothing
        return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / self.n_items)

    def __str__(self) -> str:
        return self.name
