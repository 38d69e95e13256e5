"""Logs in partitions, facts about a whole log that add up over them, and random draws that depend on ids.

A partition has all rows of some users: a log in memory is one partition, a log on a cluster is many. The label of a row
depends on the rows of its own user and on facts about all rows that add up over partitions: how often an item occurs,
when the log begins, which draw is the thousandth. A draw depends on the seed, the name of its purpose, and the ids of
user and item. So the order of rows does not change a split, and a partition draws what the whole log would.

>>> import polars as pl
>>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"bab"]}))
>>> WholeLog(log).total(item_counts).values.tolist()
[1, 2]
>>> found = find_boundaries(WholeLog(log), lambda part: np.array([7, 4, 9], np.uint64), lambda n: [0, n - 1])
>>> [boundary.key for boundary in found]
[4, 9]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, mix, pair_keys, value_keys
from recassay.columnar.order import Keys, positions_in_groups
from recassay.columnar.times import HasTimes, TimeScale
from recassay.columnar.vocabulary import Vocabulary, concat_ids
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.rng import derive_seed

Found = TypeVar("Found")
Rows = NDArray[np.bool_]
Side = Literal["user", "item"]


class PartitionedLog(Protocol):
    """A log whose rows are in partitions, each with all rows of some users: in memory or on a cluster."""

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of all times by magnitude, which reveal wrong units."""

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """Apply ``look`` to every partition and return the sum of the results.

        Each partition has all rows of some users, or with ``whole="item"`` all rows of some items.
        """

    def where(self, keep: Callable[[Interactions], Rows]) -> PartitionedLog:
        """Return the log with only the rows that ``keep`` selects.

        ``keep`` takes a log and returns a mask or the numbers of its rows; it is pickled and sent to the workers.
        """

    def bare(self) -> PartitionedLog:
        """Return the log without its times and ratings, which takes less memory and is enough to count rows."""


class RemoteLog(PartitionedLog, HasTimes, Protocol):
    """A log that is not in memory, such as one on Spark, and is split where it is stored."""

    def cut(self, split: Any) -> tuple[Any, ...]:
        """Return the folds that a split makes of the log, as logs that are not in memory either."""

    def filtered(self, filters: Sequence[Any]) -> Any:
        """Return the log after several filters, applied in order, with the number of removed rows by reason."""

    def sequences(self, sequencer: Any) -> Any:
        """Return the sequences that a rule such as :class:`~recassay.split.sessions.Sessions` makes of the log."""


@dataclass(frozen=True)
class WholeLog:
    """A log in memory, as a partitioned log with one partition."""

    log: Interactions

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""
        return self.log.time_scale

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """Return ``look(log)``: a log in memory is a single partition, with all rows of every user and every item."""
        return look(self.log)

    def where(self, keep: Callable[[Interactions], Rows]) -> WholeLog:
        """Return the log with only the rows that ``keep`` selects."""
        return WholeLog(self.log.take(keep(self.log)))

    def bare(self) -> WholeLog:
        """Return the log without its times and ratings."""
        return WholeLog(replace(self.log, timestamps=None, ratings=None))


@dataclass(frozen=True, eq=False)
class ItemSums:
    """One or several sums per item, such as of its events, that add up over partitions of a log.

    ``values`` has a row per item of the vocabulary ``items``. An item that a partition lacks counts 0 there.

    >>> one, other = (Vocabulary.dense(pl.Series(ids))[0] for ids in (["a", "c"], ["b", "c"]))
    >>> both = ItemSums(one, np.array([1, 2])) + ItemSums(other, np.array([5, 7]))
    >>> both.items.ids.to_list(), both.values.tolist()
    (['a', 'b', 'c'], [1, 5, 9])
    """

    items: Vocabulary
    values: NDArray[Any]

    def __add__(self, other: ItemSums) -> ItemSums:
        together, codes = Vocabulary.dense(concat_ids([ids_of(self.items), ids_of(other.items)]))
        values = np.zeros((together.size, *self.values.shape[1:]), self.values.dtype)
        np.add.at(values, codes, np.concatenate([self.values, other.values]))
        return ItemSums(together, values)

    def of(self, log: Interactions) -> NDArray[Any]:
        """Return the sums of a log's items, in the order of the log's item codes; 0 for an item without sums."""
        codes = log.item_vocabulary.translate(np.arange(log.n_items, dtype=np.int32), self.items)
        found = np.zeros((log.n_items, *self.values.shape[1:]), self.values.dtype)
        known = codes >= 0
        found[known] = self.values[codes[known]]
        return found

    def only(self, which: Rows) -> ItemSums:
        """Return the sums of some items: those where ``which``, with a value per item, is true."""
        return ItemSums(Vocabulary(ids_of(self.items).filter(pl.Series(which))), self.values[which])


def item_counts(log: Interactions) -> ItemSums:
    """Return the number of rows of each item of a log."""
    return ItemSums(log.item_vocabulary, log.item_events)


def require_remote_log(log: Any, where: str) -> RemoteLog:
    """Return ``log`` if it is a log that is not in memory; raise U225, naming ``where``, for any other object."""
    if not hasattr(type(log), "total"):
        what = f"a log is needed, and this is of type {type(log).__name__}"
        hint = "ra.read_interactions(...) makes one of a path, a table or a dict, ra.spark_log(...) of a Spark table"
        raise UsageError("U225", what, where=where, hint=hint)
    found: RemoteLog = log
    return found


def needs_memory_error(why: str, how: str, where: str) -> UsageError:
    """Return the error U225 for an operation that needs all rows of a partitioned log in memory.

    ``why`` says what needs all rows, and ``how`` is the expression that loads them.
    """
    return UsageError(
        "U225", f"{why}, and the rows are in partitions", where=where, hint=f"load them into memory: {how}"
    )


def ids_of(vocabulary: Vocabulary) -> pl.Series:
    """Return the ids of a log's vocabulary, ascending."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return vocabulary.ids


Draws = NDArray[np.uint64]
SLACK = 1e-9  # so that 0.2 * 5 counts as 1 despite rounding errors


def vocabulary_keys(vocabulary: Vocabulary) -> Draws:
    """Return a 64-bit hash of each id of a log's vocabulary."""
    return id_keys(ids_of(vocabulary))


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
    return np.asarray(np.floor(values + SLACK).astype(np.int64))


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
    shift = max(((span.low or 0) ^ (span.high or 0)).bit_length() - DIGIT, 0)
    lowest = (span.low or 0) >> shift
    counts = log.total(partial(_count_high_bits, keys, lowest, shift))
    ends = np.cumsum(counts)
    ranks = wanted(span.n)
    ranges = {rank: int(np.searchsorted(ends, rank, side="right")) for rank in ranks if rank < span.n}
    heads = [lowest + number for number in sorted(set(ranges.values()))]
    few = np.sort(np.concatenate(log.total(partial(_keys_with_heads, keys, heads, shift)))) if shift and heads else None

    def boundary(rank: int) -> Boundary:
        if rank >= span.n:
            return Boundary(rank, span.high or 0, span.n)
        number = ranges[rank]
        key, ties = lowest + number, rank - int(ends[number] - counts[number])
        if few is None:  # a range is a single key
            return Boundary(rank, key, ties)
        place = int(np.searchsorted(few, np.uint64(key << shift))) + ties
        return Boundary(rank, int(few[place]), place - int(np.searchsorted(few, few[place])))

    return [boundary(rank) for rank in ranks]


def _computed_once(keys: KeyFunction, log: Interactions) -> KeyFunction:
    """Return a function that returns ``keys(log)``, computed only once for this log: every pass needs these keys."""
    found = keys(log)
    return lambda _: found


@dataclass(frozen=True)
class Extent:
    """The number of some values, such as times, and the lowest and the highest; the extents of partitions add up.

    >>> Extent.of(np.array([3, 1])) + Extent.of(np.array([])) + Extent.of(np.array([7]))
    Extent(n=3, low=1, high=7)
    """

    n: int = 0
    low: Any = None
    high: Any = None

    @classmethod
    def of(cls, values: NDArray[Any]) -> Extent:
        """Return the extent of values, as numbers of Python."""
        return cls(values.size, values.min().item(), values.max().item()) if values.size else cls()

    def __add__(self, other: Extent) -> Extent:
        if not (self.n and other.n):
            return self if self.n else other
        return Extent(self.n + other.n, min(self.low, other.low), max(self.high, other.high))


def _span(keys: KeyFunction, log: Interactions) -> Extent:
    return Extent.of(keys(log))


def _count_high_bits(keys: KeyFunction, first: int, shift: int, log: Interactions) -> NDArray[np.int64]:
    """Return how many keys of a log have the high bits ``first``, ``first`` + 1, ...: 2^16 counts.

    The high bits of a key are those above the lowest ``shift``.
    """
    counts, found = np.zeros(1 << DIGIT, np.int64), keys(log)
    for begin in range(0, found.size, CHUNK):
        number = (found[begin : begin + CHUNK] >> np.uint64(shift)) - np.uint64(first)
        counts += np.bincount(number.view(np.int64), minlength=counts.size)
    return counts


def _keys_with_heads(keys: KeyFunction, heads: Sequence[int], shift: int, log: Interactions) -> list[Keys]:
    """Return, in a list of one array, the keys of a log whose high bits are one of ``heads``.

    Lists of several partitions can be joined with ``+``. The high bits of a key are those above the lowest ``shift``.
    """
    found = keys(log)
    return [found[np.isin(found >> np.uint64(shift), np.array(heads, np.uint64))]]
