"""Random numbers that depend on ids, never on row positions, and the order of rows that they give.

A draw depends on the seed, the name of its purpose, and the ids of user and item. So the order of rows in a file does
not change a split, and a partition of the log draws what the whole log would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, mix, pair_keys, value_keys
from recassay.columnar.order import Keys, positions_in_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.rng import derive_seed
from recassay.split.partitions import PartitionedLog, Rows, WholeLog

Draws = NDArray[np.uint64]
SLACK = 1e-9  # so that 0.2 * 5 counts as 1 despite rounding errors


def vocabulary_keys(vocabulary: Vocabulary) -> Draws:
    """Return a 64-bit hash of each id of a log's vocabulary."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return id_keys(vocabulary.ids)


def user_draws(log: Interactions, seed: int, name: str) -> Draws:
    """Return a 64-bit random number for each user, derived from (seed, name, user id)."""
    return mix(mix(vocabulary_keys(log.user_vocabulary)) ^ np.uint64(derive_seed(seed, name, "user") % 2**64))


def row_draws(log: Interactions, seed: int, name: str) -> Draws:
    """Return a 64-bit random number for each row, derived from (seed, name, user id, item id).

    Rows of the same user and item get the same number.
    """
    users, items = vocabulary_keys(log.user_vocabulary), vocabulary_keys(log.item_vocabulary)
    return pair_keys(log.users, log.items, users, items, derive_seed(seed, name, "pair"))


def uniform(draws: Draws) -> NDArray[np.float64]:
    """Return draws as numbers strictly between 0 and 1.

    >>> uniform(np.array([0, 2**64 - 1], np.uint64)).tolist() == [2.0**-53, 1 - 2.0**-53]
    True
    """
    return ((draws >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def draw_ranks(log: Interactions, groups: NDArray[np.int32], draws: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank 0, 1, ... of each row within its group, by its draw; equal draws are ranked by time, then rating.

    ``groups`` is the group of each row, such as its user, and ``draws`` the random number of each row.
    """
    keys: list[NDArray[Any]] = [draws]  # the last key decides first
    if log.timestamps is not None:
        keys.insert(0, value_keys(log.timestamps))
    if log.ratings is not None:
        keys.insert(0, log.ratings)
    return positions_in_groups(groups, *keys)


def events_per_user(log: Interactions) -> NDArray[np.int64]:
    """Return the number of rows of each user."""
    return np.bincount(log.users, minlength=log.n_users)


def round_down(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return values rounded down, after adding a slack of 1e-9 against rounding errors."""
    whole: NDArray[np.int64] = np.floor(values + SLACK).astype(np.int64)
    return whole


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
