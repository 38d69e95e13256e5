"""A block of events that are processed together, and the reasons why events are not scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.engine.streams.popularity import BlockPopularity
from recassay.engine.streams.source import Batch
from recassay.engine.streams.values import UpcomingItems

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

# Names of counts, which results carry:
EVENT_REASONS = ("scored", "first", "repeats", "warmup", "sampled_out", "unpredicted")  # every event has exactly one
OTHER_COUNTS = ("again", "unseen", "short", "learnt", "moved")
UNLEARNED = "unlearned"  # scored events of users whom the model had not learned; only with known="stream"
GIVEN = "given"  # events that are given to the model and not scored; only with given=N or all_but=N
ALARM_COUNTS = ("alarms", "renewed", "forgotten", "relearnt")  # only with a drift detector


@dataclass(frozen=True, eq=False)
class EventBlock:
    """A block of consecutive events that are processed together; users and items are codes of the stream.

    Arrays have an entry per event, except ``rows``, the positions of the events that are queries. ``repeated`` marks
    events with an item that the user had before, and ``n_before`` counts those items. ``low`` and ``high`` are the
    smallest and largest value so far, to which predicted ratings are clipped. ``upcoming`` has the items that users
    take later, for relaxed matching; the block begins at event ``begin`` of its batch.
    """

    batch: Batch
    users: Int32
    items: Int32
    values: Float
    repeated: Bool  # whether the user had consumed the item before
    rows: Int64  # the positions of the events that are queries
    upcoming: UpcomingItems | None  # what users take later, for match="future" and "window"
    begin: int  # the block's first row in its batch
    low: Float  # the smallest value before each event: predicted ratings are clipped to it
    high: Float  # the largest
    n_before: Int64  # items that the user had before each event
    popularity: BlockPopularity | None  # for metrics of whole lists


def list_table(block: EventBlock, lists: Int32, rows: Int64, ids: pl.Series) -> pl.DataFrame:
    """Return the lists of some events of a block as a table with the columns event, rank and item_id.

    ``lists`` (rows, places) are item codes, -1 behind the end of a list, ``rows`` the positions of their events in the
    block, and ``ids`` the item id of each code.
    """
    row, rank = np.nonzero(lists >= 0)
    events, ranks = block.batch.event_numbers[rows[row]], (rank + 1).astype(np.int32)
    return pl.DataFrame({"event": events, "rank": ranks, "item_id": ids.gather(lists[row, rank])})


def known_items(block: EventBlock, before: int, rows: Int64) -> Int64:
    """Return how many different items had occurred before each of ``rows`` (positions in the block).

    ``before`` is the number of items that had occurred before the block.
    """
    return np.asarray(np.maximum.accumulate(np.append(before, block.items.astype(np.int64) + 1))[rows])
