"""Metrics of whole lists on a stream: diversity, novelty, surprise, and metrics that divide by the length of a list.

The lists of a block are aligned with the items of their events, as a run is with a truth, and measured by the same
methods as any run. The popularity of an item counts the events before the current one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.data.features import Features
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.streams.schedule import History
from recassay.errors import InputError
from recassay.metrics.align import align
from recassay.metrics.base import CatalogueMetric, truth_statistics_for
from recassay.metrics.beyond.base import ItemPopularity
from recassay.metrics.beyond.surprise import Serendipity, Unexpectedness
from recassay.metrics.context import Context, bind
from recassay.models.incremental.base import grown


class ListedMetrics:
    """The metrics of whole lists on a stream, with the popularity of items up to the current block."""

    def __init__(self, metrics: Mapping[str, Any], items: Features | None) -> None:
        one_event = Truth.from_frame(pl.DataFrame({"user_id": [0], "item_id": [0]}))
        statistics = truth_statistics_for(metrics.values(), one_event)
        self.metrics = {heading: one.resolve(statistics) for heading, one in metrics.items()}
        self.items = items
        surprises = [one for one in metrics.values() if isinstance(one, Unexpectedness | Serendipity)]
        sizes = {one.k if one.m is None else one.m for one in surprises}
        self.popularity = PopularityHistory(sorted(size for size in sizes if size is not None))
        self.unmatched: dict[str, InputError | None] = {}

    def __call__(self, moments: Moments) -> dict[str, Float]:
        """Return the value of each metric for the lists of some events (``moments``), as a dict by heading."""
        alignment = align(moments.run, moments.truth, whole=False)
        timed = [metric for metric in self.metrics.values() if hasattr(metric, "bind_at")]
        bind((one for one in self.metrics.values() if one not in timed), alignment, Context(None, self.items))
        for metric in timed:
            alignment.bound[metric] = metric.bind_at(moments)
        for code, error in alignment.unmatched.items():
            self.unmatched[code] = None if self.unmatched.get(code, error) is None else error
        lists = alignment.block(0, alignment.match.size)
        return {heading: one.checked(lists) for heading, one in self.metrics.items()}

    def finish(self) -> None:
        """Raise the error noted while the stream was played if none of the listed items has features."""
        for error in self.unmatched.values():
            if error is not None:
                raise error


@dataclass(frozen=True, eq=False)
class BlockPopularity:
    """The popularity of items (how many users have taken each) before each event of a block.

    A block is a number of consecutive events of the stream, and a row is the position of an event in it. ``counts`` is
    the popularity of each item at the start of the block. ``items`` are the items of the events, as numbers by first
    appearance in the stream. ``is_first`` marks the events in which a user takes an item for the first time; only these
    change popularity. ``n_pairs``, ``n_users`` and ``n_items`` are the numbers of distinct (user, item) pairs, users
    and items before each row and at the end. ``tops[m]`` are the ``m`` most popular items at the start.
    """

    counts: Int64
    items: Int32
    is_first: Bool
    n_pairs: Int64
    n_users: Int64
    n_items: Int64
    order: Int32  # rank of each item's id: ties of popularity are in this order
    tops: Mapping[int, tuple[int, ...]]

    def _key(self, items: NDArray[Any], rows: Int64) -> Int64:
        """Return each pair (item, row) as one number; the numbers have the order of items and then of rows."""
        return np.asarray(items.astype(np.int64) * (self.items.size + 1) + rows)

    @functools.cached_property
    def _keys(self) -> Int64:
        """Return, as sorted numbers, the pairs (item, row) of events in which a user first takes an item."""
        rows = np.flatnonzero(self.is_first)
        return np.sort(self._key(self.items[rows], rows))

    def at(self, rows: Int64, items: Int32) -> Int64:
        """Return, for each i, how many users had taken ``items[i]`` before row ``rows[i]`` of the block."""
        before = np.searchsorted(self._keys, self._key(items, rows))
        since = np.searchsorted(self._keys, self._key(items, np.zeros_like(rows)))
        return np.asarray(self.counts[items] + before - since)

    def least(self, row: int) -> int:
        """Return the smallest popularity of any item that some user had taken before a row of the block."""
        items = np.arange(self.counts.size, dtype=np.int32)
        counts = self.at(np.full(items.size, row), items)
        return int(counts[counts > 0].min(initial=np.iinfo(np.int64).max))

    def is_popular(self, rows: Int64, items: Int32, m: int) -> Bool:
        """Return, for each i, whether ``items[i]`` was among the ``m`` most popular items before row ``rows[i]``."""
        keys, changes, _ = self.top(m)
        until = np.searchsorted(keys, self._key(items, rows), side="right")
        since = np.searchsorted(keys, self._key(items, np.zeros_like(rows)))
        return np.asarray(np.isin(items, self.tops[m]) + changes[until] - changes[since] > 0)

    @functools.cache  # noqa: B019 - a block is short-lived
    def top(self, m: int) -> tuple[Int64, Int64, tuple[int, ...]]:
        """Return (changes, sums before each change, set at the end) of the ``m`` most popular items in the block.

        The first array has the changes in ascending order: pairs (item, row from which the change holds), each pair as
        one number. A change is 1 for an item that enters the set and -1 for one that leaves it; the second array has
        the sums of the changes before each. The last result is the set at the end.
        """
        members, counts, moves = list(self.tops[m]), self.counts.copy(), list[tuple[int, int, int]]()
        for row in np.flatnonzero(self.is_first).tolist():
            item = int(self.items[row])
            counts[item] += 1
            if item in members or m == 0:
                continue
            if len(members) == m:
                weakest = min(members, key=lambda member: (counts[member], -self.order[member]))
                if (counts[item], -self.order[item]) < (counts[weakest], -self.order[weakest]):
                    continue
                members.remove(weakest)
                moves.append((weakest, row + 1, -1))
            members.append(item)
            moves.append((item, row + 1, 1))
        items, rows, change = np.array(moves, np.int64).reshape(-1, 3).T
        keys = self._key(items, rows)
        order = np.argsort(keys, kind="stable")
        return keys[order], np.append(0, np.cumsum(change[order])), tuple(members)


class PopularityHistory:
    """The number of users of each item up to the current block, and the m most popular items for each m in ``sizes``.

    It is counted from the stream, whatever the model has learned. Popularity is needed at any row of a block, so the
    counts at the start of the block are kept, with the events that change them.

    >>> history = PopularityHistory([1])
    >>> users, items = np.array([0, 0, 1, 2], np.int32), np.array([0, 1, 1, 1], np.int32)
    >>> known = np.array([0, 1, 2, 2, 2])
    >>> block = history.block(items, np.ones(4, bool), np.arange(2, dtype=np.int32), known, known)
    >>> rows, items = np.array([0, 2, 2, 3]), np.array([1, 0, 1, 1], np.int32)
    >>> block.at(rows, items).tolist(), block.is_popular(rows, items, 1).tolist()
    ([0, 1, 1, 2], [False, True, False, True])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.counts, self.n_pairs = np.zeros(0, np.int64), 0
        self.tops: dict[int, tuple[int, ...]] = dict.fromkeys(sizes, ())

    def block(self, items: Int32, is_first: Bool, order: Int32, n_users: Int64, n_items: Int64) -> BlockPopularity:
        """Return the popularity before each of the next events, which take ``items``.

        ``is_first`` marks the events of a user's first with an item, and ``order`` is the rank of each item's id. The
        numbers of users and items are those before each event, and at the end.
        """
        n_pairs = self.n_pairs + np.append(0, np.cumsum(is_first))
        counts = grown(self.counts, order.size)
        return BlockPopularity(counts, items, is_first, n_pairs, n_users, n_items, order, dict(self.tops))

    def advance(self, block: BlockPopularity) -> None:
        """Add the events of a block to the counts."""
        self.counts = block.counts + np.bincount(block.items[block.is_first], minlength=block.counts.size)
        self.n_pairs, self.tops = int(block.n_pairs[-1]), {m: block.top(m)[2] for m in self.tops}


@dataclass(frozen=True, eq=False)
class Moments:
    """The lists of some events of a block, with the items and popularity known right before each event.

    ``rows`` are the positions of these events in the block, and ``numbers`` their numbers in the stream.
    """

    numbers: Int64
    rows: Int64  # of the block
    users: Int32
    items: Int32
    n_before: Int64  # items that the user had before each event
    lists: Int32  # stream codes, -1 behind the end of a list
    ids: pl.Series  # of items, by code
    history: History
    block: BlockPopularity

    @functools.cached_property
    def listed(self) -> tuple[Int64, Int32]:
        """Return two arrays, with an entry per recommended item: the index of its event, and the item code."""
        event, rank = np.nonzero(self.lists >= 0)
        return event, self.lists[event, rank]

    @property
    def run(self) -> Run:
        """Return the lists as a run whose queries are the numbers of the events."""
        event, rank = np.nonzero(self.lists >= 0)
        items = self.ids.gather(self.lists[event, rank])
        table = pl.DataFrame({"user_id": self.numbers[event], "item_id": items, "rank": (rank + 1).astype(np.int32)})
        return Run.from_frame(table, "stream")

    @property
    def truth(self) -> Truth:
        """Return a truth in which the item of each event is the only relevant one."""
        return Truth.from_frame(pl.DataFrame({"user_id": self.numbers, "item_id": self.ids.gather(self.items)}))

    def popularity(self) -> ItemPopularity:
        """Return the popularity of each recommended item right before its event."""
        event, items = self.listed
        at, block = self.rows[event], self.block
        counts = block.at(at, items)
        rarest = np.ones(counts.size)
        for number in np.unique(event[counts == 0]):  # an item that nobody has taken yet
            rarest[event == number] = block.least(int(self.rows[number]))
        known = (counts, block.n_users[at], block.n_pairs[at], block.n_items[at])
        n_taken, n_users, n_pairs, n_items = (column.astype(np.float64) for column in known)
        return ItemPopularity(n_taken, n_users, n_pairs, n_items, rarest)

    def listed_unexpected(self, m: int) -> Bool:
        """Return, for each recommended item, whether it is new to the user and not one of the m most popular then."""
        return self._unexpected(*self.listed, m)

    def chosen_unexpected(self, m: int) -> Bool:
        """Return, for each event, whether its item is new to the user and not among the m most popular items then."""
        return self._unexpected(np.arange(self.items.size), self.items, m)

    def _unexpected(self, event: Int64, items: Int32, m: int) -> Bool:
        """Return, for each of ``items``, whether it is new to its user and not one of the m most popular items then.

        ``event`` has the index of the event that each item belongs to, ascending.
        """
        owned = np.zeros(items.size, np.bool_)
        ends = np.searchsorted(event, np.arange(self.numbers.size + 1))
        for number, (user, n_before) in enumerate(zip(self.users.tolist(), self.n_before.tolist(), strict=True)):
            part = slice(ends[number], ends[number + 1])
            owned[part] = np.isin(items[part], self.history.first_items(user, n_before))
        return np.asarray(~(owned | self.block.is_popular(self.rows[event], items, m)))


def catalogue_over_time(
    lists: pl.DataFrame, events: Int64, metric: CatalogueMetric, window: int, known: Int64, step: int
) -> pl.DataFrame:
    """Return a metric of the catalogue, such as coverage, over the lists of the last ``window`` scored events.

    The table has the columns event and the metric, with a row every ``step`` events. ``lists`` has a row per event and
    rank, ``events`` are the numbers of the scored events, and ``known`` is the size of the catalogue at each of them.
    """
    chosen = lists.filter(pl.col("rank") <= metric.k) if metric.k else lists
    codes = chosen["item_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n_codes = int(codes.max(initial=-1)) + 1
    ends = np.searchsorted(chosen["event"].to_numpy(), events, side="right")
    starts = np.append(0, ends[:-1])
    rows = []
    for last in range(window - 1, events.size, step):
        exposure = np.bincount(codes[starts[last - window + 1] : ends[last]], minlength=n_codes)
        size = max(int(known[last]), int((exposure > 0).sum()))
        shown = np.sort(exposure)[::-1][:size]
        padded = np.pad(shown, (0, size - shown.size)).astype(np.int64)
        rows.append((int(events[last]), metric.measure(padded)))
    return pl.DataFrame(rows, ["event", str(metric)], orient="row", schema_overrides={str(metric): pl.Float64})
