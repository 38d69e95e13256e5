"""Queries to a fitted sequence model: directly if the model can sample, else through rows of probabilities in blocks.

Equal histories are queried once, in a canonical order and in blocks of fixed size. So results depend neither on the
order of sequences nor on the number of threads. This holds even for networks, whose rounding depends on the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.generated import NOTHING
from recassay.data.sequences import Histories, Sequences
from recassay.data.times import TimeValues
from recassay.engine.sequences import _picks
from recassay.engine.sequences.prefixes import Prefixes
from recassay.errors import InputError
from recassay.models.base.capabilities import NextProbabilities, PredictsTimes, SamplesNext
from recassay.threads import blocks, each_block

NUMBERS = 1 << 22  # probabilities in a block
HISTORIES = 1 << 16  # histories in a block of a model that samples directly
TOLERANCE = 1e-6  # allowed deviation of a row's sum from 1

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Next = tuple[Int32, Float]  # an item after each history, and its probability
Pick = Callable[[Float, Int64, Int64], Int32]  # from a block of rows, the row of each sequence, and which sequences


class Predictor(ABC):
    """An interface to one fitted sequence model: it draws next items, and returns likely items and probabilities.

    Queries are ``prefixes``: the first items of n sequences, with users and times, and the items generated so far.
    """

    fitted: Any

    def next_times(self, prefixes: Prefixes, items: Int32) -> TimeValues | None:
        """Return the times of ``items``, which follow the prefixes; None if times are not known."""
        return next_times(self.fitted, prefixes, items)

    @abstractmethod
    def draw(self, prefixes: Prefixes, uniforms: Float) -> Next:
        """Draw one item after each prefix by its uniform number; return arrays (n) of the items and probabilities."""

    @abstractmethod
    def likeliest(self, prefixes: Prefixes) -> Next:
        """Return two arrays (n): the most probable item after each prefix, and its probability.

        Among equally probable items it is the one with the lowest code.
        """

    @abstractmethod
    def probability(self, prefixes: Prefixes, items: Int32) -> Float:
        """Return the probability (n) that ``items[i]`` comes next after prefix i."""

    @abstractmethod
    def item_probabilities(self, test: Sequences) -> Float:
        """Return the probability of each item given the items before it, except for the first item of each sequence.

        The result is one array, sequence after sequence.
        """

    def surprise(self, test: Sequences) -> Float:
        """Return, per sequence, the sum over its items except the first of -log2 P(item given the items before it)."""
        return np.add.reduceat(surprisal(self.item_probabilities(test)), test.offsets[:-1] - np.arange(len(test)))


@dataclass(frozen=True, eq=False)
class RowPredictor(Predictor):
    """A predictor for models that return a row of probabilities of all items."""

    fitted: NextProbabilities
    name: str
    vocabulary: Vocabulary

    def draw(self, prefixes: Prefixes, uniforms: Float) -> Next:
        """Draw one item after each prefix from its row of probabilities, by its uniform number.

        Return two arrays (n): the items and their probabilities.
        """

        def pick(probabilities: Float, rows: Int64, which: Int64) -> Int32:
            items = np.empty(rows.size, np.int32)
            _picks.pick(readonly(probabilities.cumsum(axis=1)), readonly(rows), readonly(uniforms[which]), items)
            return items

        return self._pick_each(prefixes, pick)

    def draw_new(self, prefixes: Prefixes, uniforms: Float) -> Next:
        """Draw one item after each prefix among the items that the prefix does not have.

        Return two arrays (n): the items, and the model's probability of each, not rescaled for the excluded items. The
        item is -1 if every item outside the prefix has probability 0. ``uniforms`` has the uniform number of each draw.
        """

        def pick(probabilities: Float, rows: Int64, which: Int64) -> Int32:
            items = np.empty(rows.size, np.int32)
            _picks.pick_new(
                readonly(probabilities),
                readonly(rows),
                readonly(prefixes.items[which]),
                readonly(uniforms[which]),
                items,
            )
            return items

        return self._pick_each(prefixes, pick)

    def likeliest(self, prefixes: Prefixes) -> Next:
        """Return two arrays (n): the most probable item after each prefix, and its probability."""
        return self._pick_each(
            prefixes, lambda probabilities, rows, _: probabilities.argmax(axis=1)[rows].astype(np.int32)
        )

    def probability(self, prefixes: Prefixes, items: Int32) -> Float:
        """Return the probability (n) that ``items[i]`` comes next after prefix i."""
        return self._pick_each(prefixes, lambda _probabilities, _rows, which: items[which])[1]

    def item_probabilities(self, test: Sequences) -> Float:
        """Return the probability of each item given the items before it, except for the first item of each sequence.

        The model is queried with every beginning of every sequence. The result is one array, sequence after sequence.
        """
        order = np.argsort(test.identities)
        back = np.argsort(np.argsort(order)[row_groups(test.offsets - np.arange(len(test) + 1))], kind="stable")
        test = test.take(order)
        position, users = _positions(test), test.users[row_groups(test.offsets)]
        at, probabilities = np.flatnonzero(position), np.empty(np.count_nonzero(position))
        for begin, end in blocks(at.size, self._block_size):
            some = at[begin:end]
            offsets = np.append(0, np.cumsum(position[some]))
            rows = ranges(some - position[some], position[some])
            times = None if test.times is None else test.times[rows]
            table = self.rows(Histories(offsets, test.items[rows], users[some], times))
            probabilities[begin:end] = table[np.arange(some.size), test.items[some]]
        unsorted = np.empty(probabilities.size)
        unsorted[back] = probabilities
        return unsorted

    def rows(self, histories: Histories) -> Float:
        """Return the model's probabilities (histories, items) of the next item after each history, checked."""
        shape = (len(histories), self.vocabulary.size)
        table = self.fitted.next_probabilities(histories)
        return check_probabilities(table, shape, self.name, histories, self.vocabulary)

    @property
    def items_only(self) -> bool:
        """Return whether the model reads the items of histories and nothing else."""
        return bool(getattr(self.fitted, "reads_items_only", False))

    @property
    def _block_size(self) -> int:
        return max(1, NUMBERS // self.vocabulary.size)

    def _pick_each(self, prefixes: Prefixes, pick: Pick) -> Next:
        """Return two arrays (n): the item that ``pick`` chooses after each prefix, and its probability.

        If ``pick`` finds no item, they are -1 and NaN.
        """
        items, probabilities = np.empty(len(prefixes), np.int32), np.zeros(len(prefixes))
        for table, rows, which in self._blocks(prefixes):
            items[which] = picked = pick(table, rows, which)
            probabilities[which] = np.where(picked == NOTHING, np.nan, table[rows, picked])
        return items, np.minimum(probabilities, 1)

    def _blocks(self, prefixes: Prefixes) -> Iterator[tuple[Float, Int64, Int64]]:
        """Yield (table, rows, which): a block of probabilities, and the prefixes they are for.

        ``table`` has a row for each different prefix, so that equal prefixes are predicted once. ``which`` are the
        positions of the prefixes of the block, and ``rows`` says which row each of them has.
        """
        keys = prefixes.keys(items_only=self.items_only)
        _, distinct, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(number, kind="stable")
        number = number[order]
        for begin, end in blocks(distinct.size, self._block_size):
            first, last = np.searchsorted(number, (begin, end))
            some = prefixes.take(distinct[begin:end]).histories()
            yield self.rows(some), number[first:last] - begin, order[first:last]


@dataclass(frozen=True, eq=False)
class DirectPredictor(Predictor):
    """A predictor for models that sample without rows of probabilities; blocks run over threads."""

    fitted: SamplesNext
    threads: int | None = None

    def draw(self, prefixes: Prefixes, uniforms: Float) -> Next:
        """Draw one item after each prefix by its uniform number; return arrays (n) of the items and probabilities."""
        items = self._query(prefixes, np.int32, lambda last, steps, some: self.fitted.draw(last, steps, uniforms[some]))
        return items, self.probability(prefixes, items)

    def likeliest(self, prefixes: Prefixes) -> Next:
        """Return two arrays (n): the most probable item after each prefix, and its probability."""
        items = self._query(prefixes, np.int32, lambda last, steps, _: self.fitted.likeliest(last, steps))
        return items, self.probability(prefixes, items)

    def probability(self, prefixes: Prefixes, items: Int32) -> Float:
        """Return the probability (n) that ``items[i]`` comes next after prefix i."""
        return self._query(
            prefixes, np.float64, lambda last, steps, some: self.fitted.probability(last, steps, items[some])
        )

    def item_probabilities(self, test: Sequences) -> Float:
        """Return the probability of each item given the items before it, except for the first item of each sequence.

        The model reads only the last items before it. The result is one array, sequence after sequence.
        """
        position = _positions(test)
        at, probabilities = np.flatnonzero(position), np.empty(np.count_nonzero(position))

        def fill(begin: int, end: int) -> None:
            some = at[begin:end]
            back = np.arange(self.fitted.memory, 0, -1)
            exists = position[some][:, None] >= back
            last = np.where(exists, test.items[np.where(exists, some[:, None] - back, 0)], np.int32(-1))
            probabilities[begin:end] = self.fitted.probability(last, position[some] - 1, test.items[some])

        each_block(fill, at.size, size=HISTORIES, threads=self.threads)
        return probabilities

    def _query(
        self, prefixes: Prefixes, kind: type, query: Callable[[Int32, Int64, slice], NDArray[Any]]
    ) -> NDArray[Any]:
        """Call ``query`` with the last items of each prefix, block by block; return the results as one array.

        ``kind`` is the type of the results.
        """
        results: NDArray[Any] = np.empty(len(prefixes), kind)
        length, memory = prefixes.length, self.fitted.memory

        def fill(begin: int, end: int) -> None:
            kept = prefixes.items[begin:end, max(0, length - memory) :]
            last = np.pad(kept, ((0, 0), (max(0, memory - length), 0)), constant_values=-1)
            results[begin:end] = query(last, np.full(end - begin, length - 1), slice(begin, end))

        each_block(fill, len(prefixes), size=HISTORIES, threads=self.threads)
        return results


def next_times(fitted: Any, prefixes: Prefixes, items: Int32) -> TimeValues | None:
    """Return the times of ``items``, which follow the prefixes: as predicted, else one unit after the last time.

    Return None if the prefixes have no times. An item of code -1 ends a sequence; its time means nothing.
    """
    if prefixes.times is None:
        return None
    if not isinstance(fitted, PredictsTimes):
        return prefixes.times[:, -1] + 1
    found = np.asarray(fitted.next_times(prefixes.histories(), items))
    if found.shape != items.shape or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        what = (
            f"next_times returned an array of shape {found.shape} and type {found.dtype} for {items.size:,} histories"
        )
        raise InputError("I354", what, hint="return a finite number per history, in the unit of the log")
    return cast("TimeValues", found.astype(prefixes.times.dtype))


def surprisal(probabilities: Float) -> Float:
    """Return -log2 of probabilities, in bits; infinite for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(0.0 - np.log2(np.minimum(probabilities, 1)))


def check_probabilities(
    table: NDArray[np.floating], shape: tuple[int, int], name: str, histories: Histories, vocabulary: Vocabulary
) -> Float:
    """Return a model's probabilities as doubles; raise I354 for a table of another ``shape``, or for an unusable row.

    A row must have numbers of at least 0 that sum to 1. The error names the model (``name``) and the history of the
    row, for which ``histories`` and ``vocabulary`` are needed.
    """
    try:
        probabilities = np.asarray(table, np.float64)
    except (TypeError, ValueError) as error:
        what = f"{name} gave no table of numbers but {type(table).__name__}: {error}"
        raise InputError("I354", what, hint=f"give an array of shape {shape}: a row per history") from None
    if probabilities.shape != shape:
        wanted = f"{shape[0]:,} histories and {shape[1]:,} items"
        what = f"{name} gave probabilities of shape {probabilities.shape} for {wanted}"
        raise InputError("I354", what, hint=f"give an array of shape {shape}: a row per history, a column per item")
    sums = probabilities.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= TOLERANCE) | (probabilities < 0).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        history = vocabulary.decode(histories.items[histories.offsets[row] : histories.offsets[row + 1]]).to_list()
        low = probabilities[row].min()
        why = "one is NaN" if np.isnan(low) else f"one is {low:g}" if low < 0 else f"they sum to {sums[row]:.9g}"
        raise InputError(
            "I354",
            f"{name} gave no probabilities in {wrong.size:,} of {shape[0]:,} rows of a block: after {history} {why}",
            hint="every row must hold numbers of at least 0 that sum to 1, such as a softmax of scores",
        )
    return probabilities


def _positions(test: Sequences) -> Int64:
    """Return the position of every item in its sequence, from 0."""
    numbers = row_groups(test.offsets)
    positions: Int64 = np.arange(numbers.size) - test.offsets[numbers]
    return positions
