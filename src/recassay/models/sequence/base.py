"""Models of sequences: their base, and smoothed counts of how often each item followed the last ones.

Any fitted object with ``next_probabilities(histories)`` can be evaluated, including your own. A history is the first
item of a sequence and the items that followed it so far. Models keep no state between two queries. A model that can
answer without a row of all items per history is a :class:`~recassay.models.base.capabilities.SamplesNext`.

Models that ignore the history have a single row of counts. With n the sum of a row of counts, c(y) the count of an
item, a the smoothing and I the number of items, the probability of y is (c(y) + a) / (n + a I), and 1 / I where that is
0 / 0. ``tests/property/test_sequence_models.py`` checks every answer against dense rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_noun
from recassay.data.sequences import Histories, Sequences
from recassay.models.base.capabilities import NextProbabilities, Training, fitted
from recassay.models.base.model import CheckedParameters
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, Departure


class SequenceModel(CheckedParameters):
    """Base of unfitted models that learn from sequences, which have no ratings."""

    name = ""
    reads_ratings: ClassVar[bool] = False
    library: ClassVar[str] = ""  # the optional library that it needs

    def fit(self, sequences: Sequences) -> NextProbabilities:
        """Return the model fitted on sequences."""
        raise NotImplementedError(f"{type(self).__name__} must define fit")


def fitted_on_sequences(model: Any, sequences: Sequences, *, training: Training | None = None) -> Any:
    """Return a model fitted on sequences; return anything without ``fit`` as it is.

    A model that learns from a log gets a log in which every sequence is a user. ``training`` is for models that train
    in epochs.

    >>> from recassay.models.baselines import Markov
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"ababc"]}))
    >>> fitted_on_sequences(Markov(smoothing=0), made).next_probabilities(made.histories.take(np.array([0]))).tolist()
    [[0.0, 0.0, 1.0]]
    """
    if isinstance(model, SequenceModel):
        return model.fit(sequences)
    require_noun(model, "model", "a fitted model")
    return fitted(model, sequences_as_log(sequences), training=training)


def sequences_as_log(sequences: Sequences) -> Interactions:
    """Return a log in which every sequence is a user, numbered from 0.

    Times are the positions in the sequence, and items keep their codes.
    """
    numbers = row_groups(sequences.offsets)
    users = Vocabulary(pl.Series(np.arange(len(sequences))))
    places = pl.Series(np.arange(numbers.size) - sequences.offsets[numbers])
    items = sequences.item_vocabulary
    origin = sequences.origin
    return Interactions(numbers.astype(np.int32), sequences.items, users, items, places, origin=origin, times="user")


@dataclass(frozen=True, repr=False)
class Uniform(SequenceModel):
    """Every item has probability 1 / I after any history: random sequences, the floor for every model.

    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abbca"]}))
    >>> Uniform().fit(made).next_probabilities(made.histories).round(3).tolist()
    [[0.333, 0.333, 0.333], [0.333, 0.333, 0.333]]
    """

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Return equal probabilities of all items, including those of test sequences only."""
        nothing = np.empty(0, np.int64)
        return FittedCounts(sequences.n_items, 0, (), nothing, nothing, 1.0)


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

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The paper's unigram is count / N, so that an item without training events has probability 0; recassay "
            "adds 1 to every count, as the authors' program does.",
            "Unigram(smoothing=0)",
        ),
    )

    smoothing: Annotated[float, AT_LEAST_0] = 1.0

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Count how often each item occurs, and return the fitted model."""
        items, counts = np.unique(sequences.items.astype(np.int64), return_counts=True)
        return FittedCounts(sequences.n_items, 0, (), items, counts, float(self.smoothing))


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

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sequeval",
            "The paper divides the count of a bigram plus 1 by the number of all transitions, which does not sum to 1; "
            "recassay divides by the transitions from the same item plus I, as the authors' program does.",
        ),
    )

    order: Annotated[int, AT_LEAST_2] = 2
    smoothing: Annotated[float, AT_LEAST_0] = 1.0

    def fit(self, sequences: Sequences) -> FittedCounts:
        """Count what followed each context, for contexts of every length up to ``order`` - 1."""
        contexts, next_items, _, keys = self.transitions(sequences)
        pairs, counts = np.unique(contexts * sequences.n_items + next_items, return_counts=True)
        return FittedCounts(sequences.n_items, 1 + len(keys), tuple(keys), pairs, counts, float(self.smoothing))

    def transitions(self, sequences: Sequences) -> tuple[Int64, Int32, Int64, list[Int64]]:
        """Return every transition in training: a context (the last items) and the item that followed it.

        The result is (contexts, next_items, positions, keys). The first three have an entry per transition: the number
        of its context, the item that followed, and the position of that item in ``sequences.items``. ``keys`` has, for
        each length of contexts from 2 on, the keys of the contexts as in :class:`FittedCounts`. Contexts have every
        length from 1 to ``order`` - 1; those of one item have its code as number, longer ones come after.
        """
        n, items = sequences.n_items, sequences.items
        place = np.arange(items.size) - sequences.offsets[:-1][row_groups(sequences.offsets)]
        at = np.flatnonzero(place)
        rows = items[at - 1].astype(np.int64)  # the context of each position, one item long
        context_rows, positions, keys, size = [rows], [at], [], n
        for length in range(2, self.order):
            longer = place[at] >= length
            if not longer.any():
                break
            at, rows = at[longer], rows[longer]
            longer_keys, numbers = np.unique(rows * n + items[at - length], return_inverse=True)
            rows = size + numbers
            keys.append(longer_keys)
            context_rows.append(rows)
            positions.append(at)
            size += longer_keys.size
        every = np.concatenate(positions)
        return np.concatenate(context_rows), items[every], every, keys


@dataclass(frozen=True, eq=False, repr=False)
class FittedCounts:
    """Counts of the items that followed each context (the last items of a history).

    ``counts[i]`` is how often an item followed the context of a row, and ``pairs[i]`` is row * I + item; pairs ascend.
    ``memory`` is the length of the longest context; with 0 there is a single row, for any history. Otherwise the first
    I rows are those of single items, and rows of longer contexts follow. ``keys[j]`` identifies the contexts of j + 2
    items, in ascending order: the row of the last j + 1 items times I plus the item before them.
    """

    reads_items_only: ClassVar[bool] = True

    n_items: int
    memory: int
    keys: tuple[Int64, ...]
    pairs: Int64
    counts: Int64
    smoothing: float

    @cached_property
    def offsets(self) -> Int64:
        """Return where the pairs of each row begin and end; there is an empty row at the end."""
        n_rows = self.n_items + sum(keys.size for keys in self.keys) if self.memory else 1
        return readonly(np.searchsorted(self.pairs, np.arange(n_rows + 2) * self.n_items))

    @cached_property
    def columns(self) -> Int32:
        """Return the item of each pair."""
        return readonly((self.pairs % self.n_items).astype(np.int32))

    @cached_property
    def cumulative(self) -> Int64:
        """Return the counts, summed up within each row."""
        sums = np.append(0, np.cumsum(self.counts))
        return readonly(sums[1:] - np.repeat(sums[self.offsets[:-1]], np.diff(self.offsets)))

    @cached_property
    def totals(self) -> Float:
        """Return the sum of the counts of each row."""
        return np.bincount(row_groups(self.offsets), self.counts, minlength=self.offsets.size - 1).astype(np.float64)

    @cached_property
    def best(self) -> Int32:
        """Return the most frequent item of each row, the lowest of several; 0 for an empty row."""
        row, best = row_groups(self.offsets), np.zeros(self.offsets.size - 1, np.int32)
        order = np.lexsort((-self.columns, self.counts, row))  # the last of a row is the best
        best[row[order]] = self.columns[order]
        return best

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
            place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            matches = keys[place] == wanted
            known = known[matches]
            found[known] = base + place[matches]
            base += keys.size
        return found

    def draw(self, last: Int32, steps: Int64, uniforms: Float) -> Int32:
        """Return one item per history, drawn from its probabilities by a uniform random number in ``uniforms``.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        found, table = np.empty(uniforms.size, np.int32), (self.offsets, self.columns, self.cumulative)
        _draw(*table, self.smoothing, self.n_items, readonly(self.rows(last)), readonly(uniforms), found)
        return found

    def likeliest(self, last: Int32, steps: Int64) -> Int32:
        """Return the most probable item after each history.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        return self.best[self.rows(last)]

    def probability(self, last: Int32, steps: Int64, items: Int32) -> Float:
        """Return the probability of one given item after each history.

        ``last`` (n, memory) has the last items of each history; ``steps`` is ignored.
        """
        rows, found = self.rows(last), np.zeros(items.size)
        _counts(self.offsets, self.columns, readonly(self.counts), readonly(rows), readonly(items), found)
        return self._smoothed(found, self.totals[rows])

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of all items after each history."""
        rows = self.rows(histories.last(max(self.memory, 1), pad=-1))
        table = np.zeros((rows.size, self.n_items))
        number, items, counts = counts_of_rows(self.pairs, self.counts, rows, self.n_items)
        table[number, items] = counts
        return self._smoothed(table, self.totals[rows, None])

    def _smoothed(self, counts: Float, totals: Float) -> Float:
        """Return probabilities from counts and the sums of their rows."""
        whole = totals + self.smoothing * self.n_items
        return np.where(whole > 0, (counts + self.smoothing) / np.where(whole > 0, whole, 1), 1 / self.n_items)


def counts_of_rows(pairs: Int64, counts: Int64, rows: Int64, n_items: int) -> tuple[Int64, Int64, Int64]:
    """Return all counts of some rows as (number, items, counts): number[i] says which of ``rows`` has the i-th.

    ``pairs`` and ``counts`` are those of :class:`FittedCounts`.
    """
    first, end = np.searchsorted(pairs, rows * n_items), np.searchsorted(pairs, (rows + 1) * n_items)
    at = ranges(first, end - first)
    return np.repeat(np.arange(rows.size), end - first), pairs[at] % n_items, counts[at]


@njit(nogil=True, cache=True)
def _counts(offsets: Int64, columns: Int32, counts: Int64, rows: Int64, items: Int32, out: Float) -> None:
    """Write to ``out[i]`` the count of ``items[i]`` in row ``rows[i]``; an item that is not there is left out."""
    for i in range(rows.size):
        first, last = offsets[rows[i]], offsets[rows[i] + 1]
        place = first + np.searchsorted(columns[first:last], items[i])
        if place < last and columns[place] == items[i]:
            out[i] = counts[place]


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
