"""What a cut must know of a whole log that nobody sees whole.

A log may be in parts, each of which has all rows of some users: on one machine it is one part, on a cluster there are
many. The part of a fold that a row is in depends on the rows of its own user, and on facts about all rows that add up
over parts: how often an item occurs, when the log begins, which lot is the thousandth (:mod:`.borders`).

>>> import polars as pl
>>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"bab"]}))
>>> Whole(log).total(item_counts).values.tolist()
[1, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.time_kind import HasTimes
from recassay.data.vocabulary import Vocabulary, stacked
from recassay.errors import UsageError

Found = TypeVar("Found")
Rows = NDArray[np.bool_]
Side = Literal["user", "item"]


class InParts(Protocol):
    """A log in parts."""

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """The sum of what is found in each part; parts are of whole users, or of whole items if asked for."""

    def where(self, keep: Callable[[Interactions], Rows]) -> InParts:
        """The log of the rows that are kept; what tells them is sent to where they are."""

    def bare(self) -> InParts:
        """The log without times and ratings, for those who only count."""


class Elsewhere(InParts, HasTimes, Protocol):
    """A log that is not in memory, and is divided where it is."""

    def cut(self, split: Any) -> tuple[Any, ...]:
        """The folds."""

    def filtered(self, filters: Sequence[Any]) -> Any:
        """What one filter after the other leaves of it."""

    def sequences(self, sequencer: Any) -> Any:
        """The sequences it becomes."""


@dataclass(frozen=True)
class Whole:
    """A log in one part."""

    log: Interactions

    def total(self, look: Callable[[Interactions], Found], whole: Side = "user") -> Found:
        """What is found in the one part, which has all users and all items."""
        return look(self.log)

    def where(self, keep: Callable[[Interactions], Rows]) -> Whole:
        """The log of the rows that are kept."""
        return Whole(self.log.take(keep(self.log)))

    def bare(self) -> Whole:
        """The log without times and ratings."""
        return Whole(replace(self.log, timestamps=None, ratings=None))


@dataclass(frozen=True, eq=False)
class ByItem:
    """Numbers of items, which add up; an item that a part does not have counts 0 there.

    >>> one, other = (Vocabulary.dense(pl.Series(ids))[0] for ids in (["a", "c"], ["b", "c"]))
    >>> both = ByItem(one, np.array([1, 2])) + ByItem(other, np.array([5, 7]))
    >>> both.items.ids.to_list(), both.values.tolist()
    (['a', 'b', 'c'], [1, 5, 9])
    """

    items: Vocabulary
    values: NDArray[Any]

    def __add__(self, other: ByItem) -> ByItem:
        together, codes = Vocabulary.dense(stacked([ids_of(self.items), ids_of(other.items)]))
        values = np.zeros((together.size, *self.values.shape[1:]), self.values.dtype)
        np.add.at(values, codes, np.concatenate([self.values, other.values]))
        return ByItem(together, values)

    def of(self, log: Interactions) -> NDArray[Any]:
        """The numbers of the items of a log, by their codes there."""
        codes = log.item_vocabulary.translate(np.arange(log.n_items, dtype=np.int32), self.items)
        found = np.zeros((log.n_items, *self.values.shape[1:]), self.values.dtype)
        known = codes >= 0
        found[known] = self.values[codes[known]]
        return found

    def only(self, which: Rows) -> ByItem:
        """Some of the items."""
        return ByItem(Vocabulary(ids_of(self.items).filter(pl.Series(which))), self.values[which])


def item_counts(log: Interactions) -> ByItem:
    """How often each item occurs."""
    return ByItem(log.item_vocabulary, log.item_events)


def elsewhere(log: Any, where: str) -> Elsewhere:
    """A log that is not in memory; U225 for what is no log at all."""
    if not hasattr(type(log), "total"):
        what = f"a {type(log).__module__.partition('.')[0]} {type(log).__name__} is no log"
        hint = "ra.spark_log(...) makes one of a Spark table, ra.read_interactions(...) of any other"
        raise UsageError("U225", what, where=where, hint=hint)
    found: Elsewhere = log
    return found


def not_here(why: str, how: str, where: str) -> UsageError:
    """The error for what is asked of all rows at once, where they are in parts."""
    return UsageError("U225", f"{why}, and these are in parts", where=where, hint=f"bring them to this machine: {how}")


def ids_of(vocabulary: Vocabulary) -> pl.Series:
    """The ids of a log, ascending."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return vocabulary.ids
