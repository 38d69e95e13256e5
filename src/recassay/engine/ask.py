"""Asks a fitted model what comes next: the model's own short way if it has one, else rows of all items in blocks.

Histories that are alike are asked about once, in an order that is their own and in blocks of a fixed size. That is why
neither the order of sequences nor the number of threads is in the answer, not even for networks, which round by what
they are asked together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.generated import NOTHING
from recassay.data.histories import Histories
from recassay.data.layout import readonly, stretch_of
from recassay.data.sequences import Sequences
from recassay.data.vocabulary import Vocabulary
from recassay.engine import _picks
from recassay.errors import InputError
from recassay.models.sequence.base import Foretells, Teller
from recassay.portable.elementary import log2
from recassay.threads import blocks, each_block

NUMBERS = 1 << 22  # of a block of probabilities
HISTORIES = 1 << 16  # of a block for a model that needs no rows
TOLERANCE = 1e-6  # by which a row may miss 1

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Next = tuple[Int32, Float]  # an item after each history, and its probability


class Ask(ABC):
    """Questions to one model. ``said`` (n, j) are the first items of n sequences and what was generated so far."""

    @abstractmethod
    def draw(self, said: Int32, lots: Float) -> Next:
        """An item drawn by each lot."""

    @abstractmethod
    def likeliest(self, said: Int32) -> Next:
        """The likeliest item, the lowest code of several."""

    @abstractmethod
    def chance(self, said: Int32, items: Int32) -> Float:
        """The probability of one item."""

    @abstractmethod
    def foretold(self, test: Sequences) -> Float:
        """The probability of every item but the first of each sequence, after those before it, in their order."""

    def surprise(self, test: Sequences) -> Float:
        """The sum of -log2 P of every item but the first of each sequence."""
        return np.add.reduceat(bits(self.foretold(test)), test.offsets[:-1] - np.arange(len(test)))


@dataclass(frozen=True, eq=False)
class AskRows(Ask):
    """Questions to a model that gives rows of probabilities."""

    fitted: Foretells
    name: str
    vocabulary: Vocabulary

    def draw(self, said: Int32, lots: Float) -> Next:
        """Draws by running sums."""

        def pick(chances: Float, rows: Int64, which: Int64) -> Int32:
            found = np.empty(rows.size, np.int32)
            _picks.pick(readonly(chances.cumsum(axis=1)), readonly(rows), readonly(lots[which]), found)
            return found

        return self._each(said, pick)

    def draw_new(self, said: Int32, lots: Float) -> Next:
        """As :meth:`draw`, among items that were not said; -1 where none of them is possible."""

        def pick(chances: Float, rows: Int64, which: Int64) -> Int32:
            found = np.empty(rows.size, np.int32)
            _picks.pick_new(readonly(chances), readonly(rows), readonly(said[which]), readonly(lots[which]), found)
            return found

        return self._each(said, pick)

    def likeliest(self, said: Int32) -> Next:
        """The largest of each row."""
        return self._each(said, lambda chances, rows, _: chances.argmax(axis=1)[rows].astype(np.int32))

    def chance(self, said: Int32, items: Int32) -> Float:
        """One number of each row."""
        return self._each(said, lambda *asked: items[asked[-1]])[1]

    def foretold(self, test: Sequences) -> Float:
        """Every beginning of a sequence is a history."""
        order = np.argsort(test.identities)
        back = np.argsort(np.argsort(order)[stretch_of(test.offsets - np.arange(len(test) + 1))], kind="stable")
        test = test.take(order)
        numbers = stretch_of(test.offsets)
        place = np.arange(numbers.size) - test.offsets[numbers]
        at, chances = np.flatnonzero(place), np.empty(np.count_nonzero(place))
        for begin, end in blocks(at.size, self._size):
            some = at[begin:end]
            offsets = np.append(0, np.cumsum(place[some]))
            rows = np.arange(offsets[-1]) + np.repeat(some - place[some] - offsets[:-1], place[some])
            found = self.rows(Histories(offsets, test.items[rows]))
            chances[begin:end] = found[np.arange(some.size), test.items[some]]
        unsorted = np.empty(chances.size)
        unsorted[back] = chances
        return unsorted

    def rows(self, histories: Histories) -> Float:
        """The model's probabilities after some histories, checked."""
        shape = (len(histories), self.vocabulary.size)
        return checked(self.fitted.next_probabilities(histories), shape, self.name, histories, self.vocabulary)

    @property
    def _size(self) -> int:
        return max(1, NUMBERS // self.vocabulary.size)

    def _each(self, said: Int32, pick: Any) -> Next:
        """What ``pick(chances, rows, which)`` says of sequences ``which``, each with its row of chances."""
        items, chances = np.empty(said.shape[0], np.int32), np.zeros(said.shape[0])
        for found, rows, which in self._blocks(said):
            items[which] = picked = pick(found, rows, which)
            chances[which] = np.where(picked == NOTHING, np.nan, found[rows, picked])
        return items, np.minimum(chances, 1)

    def _blocks(self, said: Int32) -> Iterator[tuple[Float, Int64, Int64]]:
        distinct, number = np.unique(said, axis=0, return_inverse=True)
        order = np.argsort(number, kind="stable")
        number = number[order]
        for begin, end in blocks(distinct.shape[0], self._size):
            first, last = np.searchsorted(number, (begin, end))
            yield self.rows(flat(distinct[begin:end])), number[first:last] - begin, order[first:last]


@dataclass(frozen=True, eq=False)
class AskTeller(Ask):
    """Questions to a model that has a short way; blocks over threads."""

    fitted: Teller
    threads: int | None = None

    def draw(self, said: Int32, lots: Float) -> Next:
        """Draws."""
        items = self._each(said, np.int32, lambda last, steps, some: self.fitted.draw(last, steps, lots[some]))
        return items, self.chance(said, items)

    def likeliest(self, said: Int32) -> Next:
        """The likeliest."""
        items = self._each(said, np.int32, lambda last, steps, _: self.fitted.likeliest(last, steps))
        return items, self.chance(said, items)

    def chance(self, said: Int32, items: Int32) -> Float:
        """The probability of each."""
        return self._each(said, np.float64, lambda last, steps, some: self.fitted.chance(last, steps, items[some]))

    def foretold(self, test: Sequences) -> Float:
        """Every row but the first of a sequence is asked about."""
        numbers = stretch_of(test.offsets)
        place = np.arange(numbers.size) - test.offsets[numbers]
        at, chances = np.flatnonzero(place), np.empty(np.count_nonzero(place))

        def fill(begin: int, end: int) -> None:
            some = at[begin:end]
            back = np.arange(self.fitted.memory, 0, -1)
            there = place[some][:, None] >= back
            last = np.where(there, test.items[np.where(there, some[:, None] - back, 0)], np.int32(-1))
            chances[begin:end] = self.fitted.chance(last, place[some] - 1, test.items[some])

        each_block(fill, at.size, size=HISTORIES, threads=self.threads)
        return chances

    def _each(self, said: Int32, kind: type, tell: Any) -> NDArray[Any]:
        found: NDArray[Any] = np.empty(said.shape[0], kind)
        missing = max(0, self.fitted.memory - said.shape[1])

        def fill(begin: int, end: int) -> None:
            last = np.pad(
                said[begin:end, max(0, said.shape[1] - self.fitted.memory) :],
                ((0, 0), (missing, 0)),
                constant_values=-1,
            )
            found[begin:end] = tell(last, np.full(end - begin, said.shape[1] - 1), slice(begin, end))

        each_block(fill, said.shape[0], size=HISTORIES, threads=self.threads)
        return found


def flat(said: Int32) -> Histories:
    """Rows of a table as histories."""
    return Histories(np.arange(said.shape[0] + 1) * said.shape[1], said.ravel())


def bits(chances: Float) -> Float:
    """-log2 of chances; infinite where something was held to be impossible."""
    return 0.0 - log2(np.minimum(chances, 1))


def checked(
    table: NDArray[np.floating], shape: tuple[int, int], name: str, histories: Histories, vocabulary: Vocabulary
) -> Float:
    """Probabilities as a model gave them; refused if they are none, with the model and the history."""
    try:
        found = np.asarray(table, np.float64)
    except (TypeError, ValueError) as error:
        what = f"{name} gave no table of numbers but {type(table).__name__}: {error}"
        raise InputError("I354", what, hint=f"give an array of shape {shape}: a row per history") from None
    if found.shape != shape:
        what = f"{name} gave probabilities of shape {found.shape} for {shape[0]:,} histories and {shape[1]:,} items"
        raise InputError("I354", what, hint=f"give an array of shape {shape}: a row per history, a column per item")
    sums = found.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= TOLERANCE) | (found < 0).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        history = vocabulary.decode(histories.items[histories.offsets[row] : histories.offsets[row + 1]]).to_list()
        low = found[row].min()
        why = "one is NaN" if np.isnan(low) else f"one is {low:g}" if low < 0 else f"they sum to {sums[row]:.9g}"
        raise InputError(
            "I354",
            f"{name} gave no probabilities in {wrong.size:,} of {shape[0]:,} rows of a block: after {history} {why}",
            hint="give numbers from 0 that sum to 1 in every row; scores become probabilities by a softmax",
        )
    return found
