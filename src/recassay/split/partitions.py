"""Logs in partitions, and facts about a whole log that add up over them.

A partition has all rows of some users: a log in memory is one partition, a log on a cluster is many. The label of a row
depends on the rows of its own user and on facts about all rows that add up over partitions: how often an item occurs,
when the log begins, which draw is the thousandth (:mod:`.draws`).

>>> import polars as pl
>>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"bab"]}))
>>> WholeLog(log).total(item_counts).values.tolist()
[1, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.time_kind import HasTimes
from recassay.columnar.time_scale import TimeScale
from recassay.columnar.vocabulary import Vocabulary, concat_ids
from recassay.data.interactions import Interactions
from recassay.errors import UsageError

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
    """Return the error U225 for an operation that needs all rows in memory, on a log in partitions.

    ``why`` says what needs all rows, and ``how`` is the expression that loads them.
    """
    return UsageError(
        "U225", f"{why}, and the rows are in partitions", where=where, hint=f"load them into memory: {how}"
    )


def ids_of(vocabulary: Vocabulary) -> pl.Series:
    """Return the ids of a log's vocabulary, ascending."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return vocabulary.ids
