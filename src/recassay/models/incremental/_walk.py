"""What compiled walks over a stream share: what is asked and told, and where one item stands among the candidates.

A walk meets a block of events. It answers the questions of :class:`Asked` in order; before each it learns the events of
:class:`Told` that are revealed by then. So one walk serves every regime: learning event by event, in batches, late, or
never. A model has a loop of its own in its file, of this form, because numba keeps no compiled function that is given
another one::

    @njit(cache=True, nogil=True)
    def walk(users, items, rate, told, asked, shown):
        row, learnt = np.empty(len(items), np.float32), 0
        for question in range(asked.users.size + 1):
            for event in range(learnt, until(told, asked, question)):
                begun = clock(shown.cell)
                learn(users[told.users[event]], items[told.items[event]], rate)
                shown.learning[event] = clock(shown.cell) - begun
            learnt = until(told, asked, question)
            if question == asked.users.size:
                break
            begun = clock(shown.cell)
            score(users[asked.users[question]], items, asked.known[question], row)
            place(row, asked, question, shown)
            shown.asking[question] = clock(shown.cell) - begun

Held to the readable twin in ``tests/property/test_streams.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._top import Scores, best
from recassay.models.incremental._clock import clock

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

__all__ = ["Asked", "Int32", "Int64", "Shown", "Told", "clock", "place", "until"]  # what a model's own walk is made of

WORST = np.float32(-3.0e38)  # of an item that is a candidate and that nobody has met yet: below every score
NOWHERE = 0  # position of an item that cannot be recommended


class Told(NamedTuple):
    """Events to learn, in order: codes of users and items, and what they were rated (1 where nothing was said)."""

    users: Int32
    items: Int32
    values: NDArray[np.float64]


class Asked(NamedTuple):
    """Whom to recommend to, which item was then met, and what was known: a row per question.

    ``until`` events of :class:`Told` are learnt before the question. Items with codes below ``known`` have been learnt
    by then, and those below ``universe`` are candidates, but for ``pool[begin:end]``: what the user has consumed.
    """

    users: Int32
    items: Int32
    until: Int64
    known: Int64
    universe: Int64
    begin: Int64
    end: Int64
    pool: Int32
    order: Int32  # the rank of each item's id: equal scores stand in this order


class Shown(NamedTuple):
    """What came out, a row per question; filled by a walk.

    ``position`` counts from 1; 0 says that the item could not be recommended. ``above`` and ``tied`` count the other
    candidates above the item and level with it. ``lists`` have as many columns as are wanted, perhaps none. ``asking``
    and ``learning`` are nanoseconds, one per question and one per event learnt.
    """

    position: Int32
    above: Int32
    tied: Int32
    candidates: Int32
    lists: Int32
    asking: Int64
    learning: Int64
    cell: Int64  # room for the clock

    @classmethod
    def room(cls, asked: int, told: int, listed: int) -> Shown:
        """Nothing shown yet."""
        position, above, tied, candidates = np.zeros((4, asked), np.int32)
        lists, cell = np.full((asked, listed), -1, np.int32), np.zeros(2, np.int64)
        asking, learning = np.zeros(asked, np.int64), np.zeros(told, np.int64)
        return cls(position, above, tied, candidates, lists, asking, learning, cell)

    def first(self, questions: int) -> Shown:
        """What came out of the first so many questions."""
        return self._replace(**{name: getattr(self, name)[:questions] for name in PER_QUESTION})


PER_QUESTION = ("position", "above", "tied", "candidates", "lists", "asking")


@njit(cache=True, nogil=True)
def until(told: Told, asked: Asked, question: int) -> Any:
    """How many events are learnt before a question; all of them after the last one."""
    return told.users.size if question == asked.users.size else asked.until[question]


@njit(cache=True, nogil=True)
def place(row: Scores, asked: Asked, question: int, shown: Shown) -> None:
    """Where the item of a question stands in a row of scores (overwritten), and the top of the list if it is wanted.

    Equal scores stand in the order of ids. Minus infinity says that an item cannot be recommended. NaN is no candidate;
    a model's own NaN shows in ``candidates``, which is then -1.
    """
    known, universe, item = asked.known[question], asked.universe[question], asked.items[question]
    row[known:universe] = WORST
    line, masked = row[:universe], 0
    for place in range(asked.begin[question], asked.end[question]):
        consumed = asked.pool[place]
        if consumed < universe:
            line[consumed] = np.nan
            masked += 1
    level = line[item] if item < universe else row.dtype.type(np.nan)
    above, level_with, there = np.int32(0), np.int32(0), np.int32(0)
    for one in range(universe):
        score = line[one]
        above = np.int32(above + np.int32(score > level))
        level_with = np.int32(level_with + np.int32(score == level))
        there = np.int32(there + np.int32(not np.isnan(score)))
    shown.candidates[question] = there if there == universe - masked else -1
    if level > -np.inf:
        before = 0
        if level_with > 1:
            for one in range(universe):
                before += line[one] == level and asked.order[one] < asked.order[item]
        shown.position[question] = above + before + 1
        shown.above[question], shown.tied[question] = above, level_with - 1
    if shown.lists.shape[1]:
        best(line, asked.order, shown.lists[question], np.empty(shown.lists.shape[1], row.dtype))
