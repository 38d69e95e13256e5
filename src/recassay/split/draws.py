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


DIGIT = 16  # bits of the number of a range of keys
CHUNK = 1 << 18  # keys that are counted together, in the cache of the processor

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


def find_boundaries(log: PartitionedLog, keys: KeyFunction, wanted: Callable[[int], Sequence[int]]) -> list[Boundary]:
    """Return the boundaries at certain ranks (from 0) in the order of the sort keys of all rows.

    ``keys`` returns the sort keys of a log. ``wanted`` takes the number of keys and returns the ranks. One pass over
    the log counts the keys in 2^16 equal ranges from the lowest to the highest key, and another collects those in the
    ranges that hold a boundary. At a rank beyond the last key all rows are before the boundary.
    """
    if isinstance(log, WholeLog):
        keys = _computed_once(keys, log.log)
    span = log.total(partial(_span, keys))
    shift = max((span.low ^ span.high).bit_length() - DIGIT, 0)
    counts = log.total(partial(_counts, keys, span.low >> shift, shift))
    ends = np.cumsum(counts)
    ranks = wanted(span.n)
    ranges = {rank: int(np.searchsorted(ends, rank, side="right")) for rank in ranks if rank < span.n}
    heads = [(span.low >> shift) + number for number in sorted(set(ranges.values()))]
    few = np.sort(np.concatenate(log.total(partial(_few, keys, heads, shift)))) if shift and heads else None

    def boundary(rank: int) -> Boundary:
        if rank >= span.n:
            return Boundary(rank, span.high, span.n)
        number = ranges[rank]
        key, ties = (span.low >> shift) + number, rank - int(ends[number] - counts[number])
        if few is None:  # a range is a single key
            return Boundary(rank, key, ties)
        place = int(np.searchsorted(few, np.uint64(key << shift))) + ties
        return Boundary(rank, int(few[place]), place - int(np.searchsorted(few, few[place])))

    return [boundary(rank) for rank in ranks]


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


def _counts(keys: KeyFunction, first: int, shift: int, log: Interactions) -> NDArray[np.int64]:
    """Return how many keys of a log are in each of 2^16 ranges: those that begin with ``first``, ``first`` + 1, ...

    A key begins with its bits above the lowest ``shift``.
    """
    counts, found = np.zeros(1 << DIGIT, np.int64), keys(log)
    for begin in range(0, found.size, CHUNK):
        number = (found[begin : begin + CHUNK] >> np.uint64(shift)) - np.uint64(first)
        counts += np.bincount(number.view(np.int64), minlength=counts.size)
    return counts


def _few(keys: KeyFunction, heads: Sequence[int], shift: int, log: Interactions) -> list[Keys]:
    """Return, in a list of one array, the keys of a log that begin with one of ``heads``.

    Lists of several partitions can be joined with ``+``. A key begins with its bits above the lowest ``shift``.
    """
    found = keys(log)
    return [found[np.isin(found >> np.uint64(shift), np.array(heads, np.uint64))]]
