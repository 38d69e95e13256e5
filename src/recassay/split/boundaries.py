"""Exact quantiles of a log in partitions: the sort keys at given ranks in the order of all rows, found by counting.

>>> import polars as pl
>>> from recassay.columnar.order import float_from_key, ordered_keys
>>> from recassay.data.times import row_times
>>> from recassay.split.partitions import WholeLog
>>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"bab"], "timestamp": [4, 9, 7]}))
>>> found = find_boundaries(WholeLog(log), lambda part: ordered_keys(row_times(part) * 1.0), lambda n: [0, n - 1])
>>> [float_from_key(boundary.key) for boundary in found]
[4.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import Keys
from recassay.data.interactions import Interactions
from recassay.split.draws import draw_ranks
from recassay.split.partitions import PartitionedLog, Rows, WholeLog

DIGIT = 16  # bits of a key that search pass over the log counts
CHUNK = 1 << 18  # keys whose digits are counted together, in the cache of the processor
FEW = 1 << 16  # at most this many keys are collected and sorted instead of counted

KeyFunction = Callable[[Interactions], Keys]


class Boundary(NamedTuple):
    """A position in the order of rows by sort key.

    Before it are the rows with a lower key and the first ``ties`` rows with the same ``key``.

    Rows with equal keys are ordered by time, rating and row number. They must be of one user, as rows with
    equal draws are.
    """

    rank: int
    key: int
    ties: int

    def before(self, log: Interactions, keys: Keys) -> Rows:
        """Return a mask of the rows of a log that come before the boundary; ``keys`` has the sort key of each row."""
        found = keys < np.uint64(self.key)
        if self.ties:
            same = np.flatnonzero(keys == np.uint64(self.key))
            one_group = np.zeros(same.size, np.int32)
            found[same[draw_ranks(log.take(same), one_group, keys[same]) < self.ties]] = True
        return found


@dataclass
class _Search:
    """A search for the key at one ``rank`` (from 0) in the ascending order of all keys.

    ``head`` are the leading bits of the key that are known so far, and ``rest`` is its rank among the keys with these
    leading bits.
    """

    rank: int
    head: int
    rest: int


def find_boundaries(log: PartitionedLog, keys: KeyFunction, wanted: Callable[[int], Sequence[int]]) -> list[Boundary]:
    """Return the boundaries at certain ranks (from 0) in the order of the sort keys of all rows.

    ``keys`` returns the sort keys of a log. ``wanted`` takes the number of keys and returns the ranks. Each pass over
    the log fixes 16 more bits of the keys, from the highest, until few keys are left. At a rank beyond the last key all
    rows are before the boundary.
    """
    if isinstance(log, WholeLog):
        keys = _computed_once(keys, log.log)
    span = log.total(partial(_span, keys))
    shift = -(-(span.low ^ span.high).bit_length() // DIGIT) * DIGIT
    ranks = wanted(span.n)
    searches = {rank: _Search(rank, span.low >> shift, rank) for rank in ranks if rank < span.n}
    left = span.n
    while searches and shift and left > FEW:
        shift -= DIGIT
        heads = sorted({search.head for search in searches.values()})
        counts = dict(zip(heads, log.total(partial(_digits, keys, heads, shift)), strict=True))
        left = sum(dict(_narrow(search, counts[search.head]) for search in searches.values()).values())
    heads = sorted({search.head for search in searches.values()})
    few = (
        np.sort(np.concatenate(log.total(partial(_few, keys, heads, shift))))
        if shift and heads
        else np.empty(0, np.uint64)
    )
    found = {rank: _boundary(search, few, shift) for rank, search in searches.items()}
    return [found.get(rank, Boundary(rank, span.high, span.n)) for rank in ranks]


def _computed_once(keys: KeyFunction, log: Interactions) -> KeyFunction:
    """Return a function with the result of ``keys(log)`` for this one log: every pass over a log in memory needs it."""
    found = keys(log)
    return lambda _: found


@dataclass(frozen=True)
class _Span:
    """The number of sort keys of a log, and the lowest and the highest key; the spans of several partitions add up."""

    n: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: _Span) -> _Span:
        if not (self.n and other.n):
            return self if self.n else other
        return _Span(self.n + other.n, min(self.low, other.low), max(self.high, other.high))


def _span(keys: KeyFunction, log: Interactions) -> _Span:
    found = keys(log)
    return _Span(found.size, int(found.min()), int(found.max())) if found.size else _Span()


def _digits(keys: KeyFunction, heads: Sequence[int], shift: int, log: Interactions) -> NDArray[np.int64]:
    """Return how many keys of a log begin with each of ``heads``, by the 16 bits that follow: (heads, 2^16).

    ``heads`` are leading bits, and ``shift`` is the number of bits of a key after those 16.
    """
    found, counts = keys(log), np.zeros((len(heads), 1 << DIGIT), np.int64)
    for begin in range(0, found.size, CHUNK):
        digits = found[begin : begin + CHUNK] >> np.uint64(shift)
        begins = digits >> np.uint64(DIGIT)
        for row, head in enumerate(heads):
            rows = np.flatnonzero(begins == np.uint64(head))
            if rows.size:
                last = (digits if rows.size == digits.size else digits[rows]) & np.uint64((1 << DIGIT) - 1)
                counts[row] += np.bincount(last.view(np.int64), minlength=1 << DIGIT)
    return counts


def _narrow(search: _Search, counts: NDArray[np.int64]) -> tuple[int, int]:
    """Extend the head of a search (the known leading bits of its key) in place by the next 16 bits.

    The bits are those of the key at the searched rank: ``counts`` are the numbers of keys with the old head, by their
    next 16 bits. Return the new head and the number of keys that begin with it.
    """
    ends = np.cumsum(counts)
    digit = int(np.searchsorted(ends, search.rest, side="right"))
    search.rest -= int(ends[digit] - counts[digit])
    search.head = search.head << DIGIT | digit
    return search.head, int(counts[digit])


def _few(keys: KeyFunction, heads: Sequence[int], shift: int, log: Interactions) -> list[Keys]:
    """Return, in a list of one array, the keys of a log whose leading bits are one of ``heads``.

    Lists of several partitions can be joined with ``+``. ``shift`` is the number of bits of a key after the leading
    ones.
    """
    found = keys(log)
    return [found[np.isin(found >> np.uint64(shift), np.array(heads, np.uint64))]]


def _boundary(search: _Search, few: NDArray[np.uint64], shift: int) -> Boundary:
    """Return the boundary that a search has found.

    With ``shift`` 0 the head of the search is the whole key. Otherwise ``shift`` bits are unknown, and the key is one
    of ``few``: all keys, ascending, that begin with the head of some search.
    """
    if not shift:
        return Boundary(search.rank, search.head, search.rest)
    rank = int(np.searchsorted(few, np.uint64(search.head << shift))) + search.rest
    return Boundary(search.rank, int(few[rank]), rank - int(np.searchsorted(few, few[rank])))
