"""Smoothed n-gram counts: how often each item followed the last ones.

Models that ignore the last items use item popularity or equal probabilities. With n the sum of a row of counts, c(y)
the count of an item, a the smoothing and I the number of items, the probability of y is (c(y) + a) / (n + a I), and
1 / I where that is 0 / 0. ``tests/property/test_sequence_models.py`` checks each compiled loop against dense rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.data.sequences import Histories, Sequences
from recassay.models.sequence.base import Float, Int32, SequenceModel
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, Departure, Ranges

Int64 = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Uniform(SequenceModel):
    """Every item has probability 1 / I after any history: random sequences, the floor for every model.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> Uniform().fit(made).next_probabilities(made.histories).round(3).tolist()
    [[0.333, 0.333, 0.333], [0.333, 0.333, 0.333]]
    """

    name: ClassVar[str] = "Uniform"

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Return equal probabilities of all items, including those of test sequences only."""
        return FittedCounts.of(sequences.n_items, [], np.empty(0, np.int64), np.empty(0, np.int32), 1.0)


@dataclass(frozen=True, repr=False)
class Unigram(SequenceModel):
    """A unigram model: the probability of an item is its frequency in training, after any history.

    With c(x) the number of times that x occurs, N the sum of these and a the ``smoothing``, the probability of x is
    (c(x) + a) / (N + a I), with I the number of items.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> Unigram().fit(made).next_probabilities(made.histories.take(np.array([0]))).tolist()
    [[0.375, 0.375, 0.25]]
    """

    name: ClassVar[str] = "Unigram"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The paper's unigram is count / N, so that an item without training events has probability 0; recassay "
            "adds 1 to every count, as the authors' program does.",
            "Unigram(smoothing=0)",
        ),
    )

    smoothing: float = 1.0

    ranges: ClassVar[Ranges] = {AT_LEAST_0: ("smoothing",)}

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Count how often each item occurs, and return the fitted model."""
        no_context = np.zeros(sequences.items.size, np.int64)
        return FittedCounts.of(sequences.n_items, [], no_context, sequences.items, self.smoothing)


@dataclass(frozen=True, repr=False)
class NGram(SequenceModel):
    """An n-gram model: an item's probability is its frequency after the last ``order`` - 1 items; 2 is the bigram.

    With c(h, y) the number of times that y came right after the items h, c(h) the sum of these over y, and a the
    ``smoothing``, the probability of y is (c(h, y) + a) / (c(h) + a I), with I the number of items.

    Backing off: h is the longest suffix of the history, of at most ``order`` - 1 items, that something followed in
    training. If nothing followed even the last item, all items are equally likely. Counts of a shorter h include all
    its occurrences.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> NGram().fit(made).next_probabilities(Histories(np.array([0, 1, 2]), np.array([0, 1], np.int32))).tolist()
    [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]]
    """

    name: ClassVar[str] = "NGram"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The paper divides the count of a bigram plus 1 by the number of all transitions, which does not sum to 1; "
            "recassay divides by the transitions from the same item plus I, as the authors' program does.",
        ),
    )

    order: int = 2
    smoothing: float = 1.0

    ranges: ClassVar[Ranges] = {AT_LEAST_0: ("smoothing",), AT_LEAST_2: ("order",)}

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Count what followed each context, for contexts of every length up to ``order`` - 1."""
        contexts, next_items, _, keys, size = self.transitions(sequences)
        return FittedCounts.of(sequences.n_items, keys, contexts, next_items, self.smoothing, 1, size)

    def transitions(self, sequences: Sequences) -> tuple[Int64, Int32, Int64, list[Int64], int]:
        """Return every transition in training: a context (the last items) and the item that followed it.

        The result is (contexts, next_items, positions, keys, size). The first three have an entry per transition: the
        number of its context, the item that followed, and the position of that item in ``sequences.items``. ``keys``
        has, for each length of contexts from 2 on, the keys of the contexts as in :class:`FittedCounts`, and ``size``
        is the number of contexts. Contexts have every length from 1 to ``order`` - 1; those of one item have its code
        as number, longer ones come after.
        """
        n, items = sequences.n_items, sequences.items
        place = np.arange(items.size) - sequences.offsets[:-1][row_groups(sequences.offsets)]
        at = np.flatnonzero(place)
        rows = items[at - 1].astype(np.int64)  # the context of each position, one item long
        context_rows, positions, keys, size = [rows], [at], [], n
        for length in range(2, self.order):
            longer = place[at] >= length
            at, rows = at[longer], rows[longer]
            longer_keys, numbers = np.unique(rows * n + items[at - length], return_inverse=True)
            rows = size + numbers
            keys.append(longer_keys)
            context_rows.append(rows)
            positions.append(at)
            size += longer_keys.size
        every = np.concatenate(positions)
        return np.concatenate(context_rows), items[every], every, keys, size


@dataclass(frozen=True, eq=False, repr=False)
class FittedCounts:
    """Counts of the items that followed each context (the last items of a history): a sparse row per context.

    Row r has the items ``columns[offsets[r]:offsets[r + 1]]``, and ``cumulative`` sums their counts from the left.
    ``memory`` is the length of the longest context; with 0 there is a single row, for any history. Otherwise the first
    I rows are those of single items, and rows of longer contexts follow. ``keys[j]`` identifies the contexts of j + 2
    items, in ascending order: the row of the last j + 1 items times I plus the item before them.
    """

    reads_items_only: ClassVar[bool] = True

    n_items: int
    memory: int
    keys: tuple[Int64, ...]
    offsets: Int64
    columns: Int32
    cumulative: Int64
    smoothing: float

    @classmethod
    def of(
        cls,
        n_items: int,
        keys: list[Int64],
        rows: Int64,
        items: Int32,
        smoothing: float,
        memory: int = 0,
        n_rows: int = 1,
    ) -> FittedCounts:
        """Return the counts of items after contexts: ``rows[i]`` is the row of the context that ``items[i]`` followed.

        ``keys`` identify the contexts of two and more items, and ``n_rows`` is the number of contexts. ``memory`` is 1
        if there are contexts, 0 if items are counted regardless of the last ones.
        """
        pairs, counts = np.unique(rows * n_items + items, return_counts=True)
        offsets = np.searchsorted(pairs, np.arange(n_rows + 2) * n_items)  # with an empty row at the end
        sums = np.append(0, np.cumsum(counts))
        cumulative = sums[1:] - np.repeat(sums[offsets[:-1]], np.diff(offsets))
        columns = (pairs % n_items).astype(np.int32)
        return cls(
            n_items,
            memory + len(keys),
            tuple(keys),
            readonly(offsets),
            readonly(columns),
            readonly(cumulative),
            float(smoothing),
        )

    @property
    def table(self) -> tuple[Int64, Int32, Int64, float, int]:
        """Return the counts as kernels take them; arrays of a model that was stored may be written to."""
        arrays = readonly(self.offsets), readonly(self.columns), readonly(self.cumulative)
        return (*arrays, self.smoothing, self.n_items)

    def rows(self, last: Int32) -> Int64:
        """Return, for each history, the row of the longest context that ends the history and occurs in training.

        ``last`` (n, memory) has the last items of each history, right-aligned; -1 stands for no item.
        """
        if not self.memory:
            return np.zeros(last.shape[0], np.int64)
        found = last[:, -1].astype(np.int64)
        base, known = self.n_items, np.flatnonzero(found >= 0)
        found[found < 0] = self.offsets.size - 2  # an empty history: the last row, which is empty
        for length, keys in enumerate(self.keys, start=2):
            known = known[last[known, -length] >= 0]
            wanted = found[known] * self.n_items + last[known, -length]
            place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
            matches = keys[place] == wanted if keys.size else np.zeros(known.size, np.bool_)
            known = known[matches]
            found[known] = base + place[matches]
            base += keys.size
        return found

    def draw(self, last: Int32, steps: Int64, uniforms: Float) -> Int32:
        """Return one item per history, drawn from its probabilities by a uniform random number in ``uniforms``.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        found = np.empty(uniforms.size, np.int32)
        _draw(*self.table, readonly(self.rows(last)), readonly(uniforms), found)
        return found

    def likeliest(self, last: Int32, steps: Int64) -> Int32:
        """Return the most probable item after each history.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        found = np.empty(steps.size, np.int32)
        _likeliest(*self.table[:3], readonly(self.rows(last)), found)
        return found

    def probability(self, last: Int32, steps: Int64, items: Int32) -> Float:
        """Return the probability of one given item after each history.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        found = np.empty(items.size)
        _probability(*self.table, readonly(self.rows(last)), readonly(items), found)
        return found

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of all items after each history."""
        rows = self.rows(histories.last(max(self.memory, 1), pad=-1))
        size = self.offsets[rows + 1] - self.offsets[rows]
        table = np.zeros((rows.size, self.n_items))
        at = ranges(self.offsets[rows], size)
        begins = np.isin(at, self.offsets[:-1])
        counts = self.cumulative[at] - np.where(begins, 0, self.cumulative[at - 1])
        table[np.repeat(np.arange(rows.size), size), self.columns[at]] = counts
        total = table.sum(axis=1, keepdims=True) + self.smoothing * self.n_items
        table += self.smoothing
        return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / self.n_items)


@njit(nogil=True, cache=True)
def _draw(
    offsets: Int64, columns: Int32, cumulative: Int64, a: float, n_items: int, rows: Int64, uniforms: Float, out: Int32
) -> None:  # fmt: skip
    """Write to ``out[i]`` the first item of row ``rows[i]`` whose cumulative probability exceeds ``uniforms[i]``.

    ``a`` is the smoothing and ``n_items`` the number of items; the rows are those of :class:`FittedCounts`.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = cumulative[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = min(int(uniforms[i] * n_items), n_items - 1)
            continue
        target = uniforms[i] * (total + a * n_items)
        low, high = first, last  # binary search: the first item whose cumulative sum exceeds the target
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] + a * (columns[middle] + 1) > target:
                high = middle
            else:
                low = middle + 1
        before = cumulative[low - 1] if low > first else 0
        if low < last and (a == 0 or target >= before + a * columns[low]):
            out[i] = columns[low]
        elif a == 0:
            out[i] = columns[last - 1]  # the uniform number rounds up to 1
        else:  # among items without counts, which have probability from smoothing only
            item = int((target - before) / a)
            item = max(item, columns[low - 1] + 1 if low > first else 0)
            out[i] = min(item, columns[low] - 1 if low < last else n_items - 1)


@njit(nogil=True, cache=True)
def _probability(
    offsets: Int64, columns: Int32, cumulative: Int64, a: float, n_items: int, rows: Int64, items: Int32, out: Float
) -> None:  # fmt: skip
    """Write to ``out[i]`` the probability of ``items[i]`` in row ``rows[i]``.

    ``a`` is the smoothing and ``n_items`` the number of items; the rows are those of :class:`FittedCounts`.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        total = cumulative[last - 1] if last > first else 0
        if total + a * n_items == 0:
            out[i] = 1.0 / n_items
            continue
        low = first + np.searchsorted(columns[first:last], items[i])
        count = 0
        if low < last and columns[low] == items[i]:
            count = cumulative[low] - (cumulative[low - 1] if low > first else 0)
        out[i] = (count + a) / (total + a * n_items)


@njit(nogil=True, cache=True)
def _likeliest(offsets: Int64, columns: Int32, cumulative: Int64, rows: Int64, out: Int32) -> None:
    """Write to ``out[i]`` the item of row ``rows[i]`` with the highest count; ties go to the lowest item.

    An empty row gives item 0. The rows are those of :class:`FittedCounts`.
    """
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        out[i], most, before = 0, 0, 0
        for j in range(first, last):
            if cumulative[j] - before > most:
                out[i], most = columns[j], cumulative[j] - before
            before = cumulative[j]
