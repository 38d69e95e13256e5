"""Metrics of whole lists on a stream: diversity, novelty, surprise, and metrics that divide by the length of a list.

The lists of a block are aligned with the items of their events, as a run is with a truth, and measured by the same
methods as any run. The popularity of an item counts the events before the current one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.streams.event_block import EventBlock
from recassay.engine.streams.history import History
from recassay.engine.streams.popularity import BlockPopularity, PopularityHistory
from recassay.errors import InputError
from recassay.metrics.align import align
from recassay.metrics.base import CatalogueMetric, truth_statistics_for
from recassay.metrics.beyond.base import ItemPopularity
from recassay.metrics.beyond.surprise import Serendipity, Unexpectedness
from recassay.metrics.context import Context, bind

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Values = NDArray[np.float64]


def _one_event() -> Truth:
    """Return a truth with one query, which has one item of gain 1: that of any single event."""
    return Truth.from_frame(pl.DataFrame({"user_id": [0], "item_id": [0]}))


class ListedMetrics:
    """The metrics of whole lists on a stream, with the popularity of items up to the current block."""

    def __init__(self, metrics: Mapping[str, Any], items: Features | None) -> None:
        statistics = truth_statistics_for(metrics.values(), _one_event())
        self.metrics = {heading: one.resolve(statistics) for heading, one in metrics.items()}
        self.items = items
        surprises = [one for one in metrics.values() if isinstance(one, Unexpectedness | Serendipity)]
        sizes = {one.k if one.m is None else one.m for one in surprises}
        self.popularity = PopularityHistory(sorted(size for size in sizes if size is not None))
        self.unmatched: dict[str, InputError | None] = {}

    def __call__(self, moments: Moments) -> dict[str, Values]:
        """Return the value of each metric for the lists of some events (``moments``), by metric heading."""
        alignment = align(moments.run, moments.truth, whole=False)
        timed = {heading: one for heading, one in self.metrics.items() if hasattr(one, "bind_at")}
        bind(
            (one for heading, one in self.metrics.items() if heading not in timed), alignment, Context(None, self.items)
        )
        for one in timed.values():
            alignment.bound[one] = one.bind_at(moments)
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
class Moments:
    """The lists of some events of a block, with the items and popularity known right before each event.

    ``rows`` are the positions of these events in the block, and ``events`` their numbers in the stream.
    """

    events: Int64
    rows: Int64  # of the block
    users: Int32
    items: Int32
    lists: Int32  # stream codes, -1 behind the end of a list
    ids: pl.Series  # of items, by code
    n_before: Int64  # items that the user had before each event
    history: History
    block: BlockPopularity

    @classmethod
    def of(cls, block: EventBlock, lists: Int32, rows: Int64, ids: pl.Series, history: History) -> Moments:
        """Return the ``lists`` of the events at ``rows`` of a block, with what is known right before each event.

        ``ids`` is the id of each item code, and ``history`` has the items that each user has consumed.
        """
        assert block.popularity is not None, "these events have metrics of lists"
        numbers = block.batch.event_numbers[rows]
        return cls(
            numbers, rows, block.users[rows], block.items[rows], lists, ids, block.n_before[rows], history,
            block.popularity,
        )  # fmt: skip

    @property
    def run(self) -> Run:
        """Return the lists as a run whose queries are the numbers of the events."""
        row, rank = np.nonzero(self.lists >= 0)
        items = self.ids.gather(self.lists[row, rank])
        table = pl.DataFrame({"user_id": self.events[row], "item_id": items, "rank": (rank + 1).astype(np.int32)})
        return Run.from_frame(table, "stream")

    @property
    def truth(self) -> Truth:
        """Return a truth in which the item of each event is the only relevant one."""
        return Truth.from_frame(pl.DataFrame({"user_id": self.events, "item_id": self.ids.gather(self.items)}))

    def _listed(self) -> tuple[Int64, Int32]:
        """Return two arrays, with an entry per recommended item: the row of its event, and the item code."""
        row, rank = np.nonzero(self.lists >= 0)
        return row, self.lists[row, rank]

    def popularity(self) -> ItemPopularity:
        """Return the popularity of each recommended item right before its event."""
        row, items = self._listed()
        at = self.rows[row]
        counts = self.block.at(at, items)
        rarest = np.ones(counts.size)
        for event in np.unique(row[counts == 0]):  # an item that nobody has taken yet
            rarest[row == event] = self.block.least(int(self.rows[event]))
        known = np.array([int((self.block.counts > 0).sum())])
        n_items = known + self._new_items()[at]
        return ItemPopularity(
            counts.astype(np.float64), self.block.users[at].astype(np.float64), self.block.pairs[at].astype(np.float64),
            n_items.astype(np.float64), rarest,
        )  # fmt: skip

    def _new_items(self) -> Int64:
        """Return, for each event of the block and for its end, how many items the block had introduced before.

        An item is introduced by the first event of the stream with that item.
        """
        items = self.block.items
        new = np.zeros(items.size, np.int64)
        first = np.unique(items, return_index=True)[1]
        new[first[self.block.counts[items[first]] == 0]] = 1
        return np.append(0, np.cumsum(new))

    def listed_unexpected(self, m: int) -> Bool:
        """Return, for each recommended item, whether it is new to the user and not one of the m most popular then."""
        row, items = self._listed()
        owned = np.zeros(items.size, np.bool_)
        ends = np.searchsorted(row, np.arange(self.events.size + 1))
        for event, (user, n_before) in enumerate(zip(self.users.tolist(), self.n_before.tolist(), strict=True)):
            part = slice(ends[event], ends[event + 1])
            owned[part] = np.isin(items[part], self.history.first_items(user, n_before))
        return np.asarray(~(owned | self.block.is_popular(self.rows[row], items, m)))

    def chosen_unexpected(self, m: int) -> Bool:
        """Return, for each event, whether its item is new to the user and not among the m most popular items then."""
        repeated = np.zeros(self.items.size, np.bool_)
        for event, (user, n_before) in enumerate(zip(self.users.tolist(), self.n_before.tolist(), strict=True)):
            repeated[event] = bool((self.history.first_items(user, n_before) == self.items[event]).any())
        return np.asarray(~(repeated | self.block.is_popular(self.rows, self.items, m)))


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
