"""Queries to a fitted sequence model: directly if the model can sample, else through rows of probabilities in blocks.

Equal histories are queried once, in a canonical order and in blocks of fixed size. So results depend neither on the
order of sequences nor on the number of threads. This holds even for networks, whose rounding depends on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import ranges, readonly, row_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.generated import NOTHING
from recassay.data.sequences import Histories, Sequences
from recassay.data.times import TimeValues
from recassay.errors import InputError
from recassay.models.base.capabilities import NextProbabilities, PredictsTimes, SamplesNext
from recassay.threads import blocks, each_block

NUMBERS = 1 << 22  # probabilities in a block
HISTORIES = 1 << 16  # histories in a block of a model that samples directly
TOLERANCE = 1e-6  # allowed deviation of a row's sum from 1

Next = tuple[Int32, Float]  # an item after each prefix, and its probability; -1 and NaN where there is none
Pick = Callable[[Float, Int64, Int64], Int32]  # from a block of rows, the row of each sequence, and which sequences


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The first j items (n, j) of n sequences, with the user of each (n) and the time of each item (n, j), if known."""

    items: Int32
    users: Int32 | None = None
    times: TimeValues | None = None

    @classmethod
    def first_items(cls, test: Sequences) -> Prefixes:
        """Return the first item of each sequence, with its user and time."""
        return cls(test.seeds[:, None], test.users, None if test.starts is None else test.starts[:, None])

    def __len__(self) -> int:
        return int(self.items.shape[0])

    def take(self, which: NDArray[Any] | slice) -> Prefixes:
        """Return some of the prefixes."""
        users, times = self.users, self.times
        return Prefixes(
            self.items[which], None if users is None else users[which], None if times is None else times[which]
        )

    def followed_by(self, items: Int32, times: TimeValues | None) -> Prefixes:
        """Return the prefixes continued by the ``items`` (n, m) and their times."""
        later = None if self.times is None or times is None else np.concatenate([self.times, times], axis=1)
        return Prefixes(np.concatenate([self.items, items], axis=1), self.users, later)

    def histories(self) -> Histories:
        """Return the prefixes in the form in which models are queried."""
        offsets = np.arange(len(self) + 1) * self.items.shape[1]
        return Histories(offsets, self.items.ravel(), self.users, None if self.times is None else self.times.ravel())

    def distinct(self, *, items_only: bool) -> tuple[Int64, Int64]:
        """Return the positions of distinct prefixes, and for each prefix the index of the distinct one that it equals.

        Prefixes are equal if a model cannot tell them apart. With ``items_only`` it reads the items and nothing else,
        no user or time. Times after the first one follow from the user, the first time and the items.
        """
        users, times = (None, None) if items_only else (self.users, self.times)
        starts = None if times is None else np.unique(times[:, 0], return_inverse=True)[1]
        others = [column for column in (users, starts) if column is not None]
        keys = np.column_stack([*others, self.items]) if others else self.items
        _, distinct, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return distinct, number


@dataclass(frozen=True, eq=False)
class RowPredictor:
    """An interface to a fitted model that returns, for each history, the probability of every item to come next.

    ``vocabulary`` has the ids of the items, and ``name`` is that of the system, for error messages.
    """

    fitted: NextProbabilities
    name: str
    vocabulary: Vocabulary

    def follow(self, prefixes: Prefixes, how: str, uniforms: Float) -> Next:
        """Return an item after each prefix, chosen as the protocol says (``how``), and its probability.

        ``argmax`` chooses the most probable item, of equally probable ones that with the lowest code; ``sample`` draws
        an item with the uniform number of the prefix. Without repeats, an item is drawn among those that the prefix
        does not have: it is -1 if they all have probability 0, and its probability is not rescaled for the excluded
        items.
        """

        def pick(table: Float, rows: Int64, which: Int64) -> Int32:
            if how == "argmax":
                return np.asarray(table.argmax(axis=1)[rows], np.int32)
            items = np.empty(rows.size, np.int32)
            if how == "sample":
                draw(readonly(table.cumsum(axis=1)), readonly(rows), readonly(uniforms[which]), items)
            else:
                had = readonly(prefixes.items[which])
                draw_new(readonly(table), readonly(rows), had, readonly(uniforms[which]), items)
            return items

        return self._pick_each(prefixes, pick)

    def probability(self, prefixes: Prefixes, items: Int32) -> Float:
        """Return the probability (n) that ``items[i]`` comes next after prefix i."""
        return self._pick_each(prefixes, lambda _table, _rows, which: items[which])[1]

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
        """Return the model's probabilities (histories, items) of the next item; raise if they are unusable."""
        table, shape = self.fitted.next_probabilities(histories), (len(histories), self.vocabulary.size)
        return check_probabilities(table, shape, self.name, histories, self.vocabulary)

    @property
    def items_only(self) -> bool:
        """Return whether predictions depend on the items of a history alone, not on its user or times."""
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
        """Yield (table, rows, which): a block of rows of probabilities, and the prefixes that they belong to.

        ``table`` has a row for each different prefix, so that equal prefixes are predicted once. ``which`` are the
        positions of the prefixes of the block, and ``rows`` says which row each of them has.
        """
        distinct, number = prefixes.distinct(items_only=self.items_only)
        order = np.argsort(number, kind="stable")
        number = number[order]
        for begin, end in blocks(distinct.size, self._block_size):
            first, last = np.searchsorted(number, (begin, end))
            some = prefixes.take(distinct[begin:end]).histories()
            yield self.rows(some), number[first:last] - begin, order[first:last]

    def search(self, seeds: Prefixes, k: int, width: int) -> Int32:
        """Return, for each first item in ``seeds``, the k items that follow it in the most probable sequence found.

        This is beam search: at every step the ``width`` most probable sequences are kept. Of equally probable ones, the
        one with the more probable beginning is kept, then the one with the lower item code.
        """
        distinct, number = seeds.distinct(items_only=self.items_only)
        sequences = np.empty((distinct.size, k), np.int32)
        for begin, end in blocks(distinct.size, max(1, NUMBERS // (self.vocabulary.size * width))):
            kept, n = seeds.take(distinct[begin:end]), end - begin
            bits = np.zeros((n, 1))  # of each kept sequence; ``kept`` has n times their number
            for _ in range(k):
                added = surprisal(self.rows(kept.histories())).reshape(n, bits.shape[1], -1)
                longer = (bits[:, :, None] + added).reshape(n, -1)
                best = np.argsort(longer, axis=1, kind="stable")[:, :width]
                beam, item = np.divmod(best, added.shape[2])
                before = kept.take((np.arange(n)[:, None] * bits.shape[1] + beam).ravel())
                items = item.ravel().astype(np.int32)
                times = next_times(self.fitted, before, items)
                kept = before.followed_by(items[:, None], None if times is None else times[:, None])
                bits = np.take_along_axis(longer, best, axis=1)
            sequences[begin:end] = kept.items.reshape(n, bits.shape[1], -1)[:, 0, 1:]
        return sequences[number]


@dataclass(frozen=True, eq=False)
class DirectPredictor:
    """An interface to a fitted model that draws items without the probabilities of all; blocks run over threads."""

    fitted: SamplesNext
    threads: int | None = None

    def follow(self, prefixes: Prefixes, how: str, uniforms: Float) -> Next:
        """Return an item after each prefix, and its probability, as :meth:`RowPredictor.follow` does.

        ``how`` is "argmax" or "sample": the model cannot draw without repeats.
        """

        def next_items(last: Int32, steps: Int64, some: slice) -> Int32:
            if how == "argmax":
                return self.fitted.likeliest(last, steps)
            return self.fitted.draw(last, steps, uniforms[some])

        items = self._query(prefixes, np.int32, next_items)
        return items, self.probability(prefixes, items)

    def probability(self, prefixes: Prefixes, items: Int32) -> Float:
        """Return the probability (n) that ``items[i]`` comes next after prefix i."""
        return self._query(
            prefixes, np.float64, lambda last, steps, some: self.fitted.probability(last, steps, items[some])
        )

    def item_probabilities(self, test: Sequences) -> Float:
        """Return the probability of each item but the first of each sequence, given the items before it.

        The model reads only the last few of these. The result is one array, sequence after sequence.
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
        length, memory = prefixes.items.shape[1], self.fitted.memory

        def fill(begin: int, end: int) -> None:
            kept = prefixes.items[begin:end, max(0, length - memory) :]
            last = np.pad(kept, ((0, 0), (max(0, memory - length), 0)), constant_values=-1)
            results[begin:end] = query(last, np.full(end - begin, length - 1), slice(begin, end))

        each_block(fill, len(prefixes), size=HISTORIES, threads=self.threads)
        return results


Predictor = RowPredictor | DirectPredictor


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
        raise InputError(
            "I354",
            f"next_times returned an array of shape {found.shape} and type {found.dtype} for {items.size:,} histories",
            hint="return a finite number per history, in the unit of the log",
        )
    return cast("TimeValues", found.astype(prefixes.times.dtype))


def surprisal(probabilities: Float) -> Float:
    """Return -log2 of probabilities, in bits; infinite for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(0.0 - np.log2(np.minimum(probabilities, 1)))


def surprise(predictor: Predictor, test: Sequences) -> Float:
    """Return, for each sequence, the sum of -log2 P(item given the items before it) over all items but the first."""
    return np.add.reduceat(surprisal(predictor.item_probabilities(test)), test.offsets[:-1] - np.arange(len(test)))


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
        raise InputError(
            "I354",
            f"{name} gave no table of numbers but {type(table).__name__}: {error}",
            hint=f"give an array of shape {shape}: a row per history",
        ) from None
    if probabilities.shape != shape:
        wanted = f"{shape[0]:,} histories and {shape[1]:,} items"
        raise InputError(
            "I354",
            f"{name} gave probabilities of shape {probabilities.shape} for {wanted}",
            hint=f"give an array of shape {shape}: a row per history, a column per item",
        )
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
    """Return the position, from 0, of every item in its sequence, one sequence after the other."""
    numbers = row_groups(test.offsets)
    positions: Int64 = np.arange(numbers.size) - test.offsets[numbers]
    return positions


@njit(nogil=True, cache=True)
def draw(cumulative: Float, rows: Int64, uniforms: Float, out: Int32) -> None:
    """Write to ``out[i]`` an item drawn by the uniform number ``uniforms[i]`` from row ``rows[i]`` of ``cumulative``.

    A row has the sums of the probabilities of items 0, 1, ...; the last sum need not be exactly 1.
    """
    for i in range(rows.size):
        row = cumulative[rows[i]]
        at = np.searchsorted(row, uniforms[i] * row[-1], side="right")
        out[i] = at if at < row.size else np.searchsorted(row, row[-1])  # the product may round up to the whole sum


@njit(nogil=True, cache=True)
def draw_new(probabilities: Float, rows: Int64, prefixes: Int32, uniforms: Float, out: Int32) -> None:
    """Write to ``out[i]`` an item drawn from row ``rows[i]`` of ``probabilities`` that is not in row i of ``prefixes``.

    ``uniforms[i]`` is the uniform number of the draw. Write -1 if every such item has probability 0. A code beyond the
    items is a seed that is not an item.
    """
    for i in range(rows.size):
        row = probabilities[rows[i]].copy()
        for item in prefixes[i]:
            if item < row.size:
                row[item] = 0.0
        target, total = uniforms[i] * row.sum(), 0.0
        out[i] = -1
        for item in range(row.size):
            if row[item] > 0:
                out[i] = item
                total += row[item]
                if total > target:
                    break
