"""The join of exposures (shown lists) with feedback by event time.

Accepted events wait until the watermark has passed them. They are then released in one order that depends on their
content alone (:func:`in_order`), so results depend neither on batches nor on partitions. A released event that repeats
an earlier one is a duplicate. An exposure stays open for its window, takes the feedback that belongs to it, and is
closed when the watermark has passed the end of its window.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.columns import text_hashes
from recassay.live.clock import BEGINNING
from recassay.live.events import EXPOSURE, INTERACTION, columns
from recassay.live.keys import ABSENT, KeyMap

LONE = {"time": pl.Int64, "request_id": pl.String, "user_id": pl.String, "item_id": pl.String}
TAKEN = {"number": pl.Int64, "item_id": pl.String, "kind": pl.String, "value": pl.Float64, "time": pl.Int64}
MOST_FRAMES = 64  # that are kept apart; more are concatenated


class Closed(NamedTuple):
    """Exposures (shown lists) whose feedback windows have ended, in order of time, and their feedback.

    The column ``at`` of ``feedback`` is the row of its exposure in ``exposures``.
    """

    exposures: pl.DataFrame
    feedback: pl.DataFrame


@dataclass
class Join:
    """Events that wait for the watermark, open exposures with their feedback, and keys that identify duplicates.

    An exposure (a shown list) is open until the watermark has passed the end of its feedback window.

    ``window`` is how long after an exposure its feedback counts, and ``remember``, at least as long, is how far apart
    two copies of an event may be, in microseconds. ``segments`` are the names of columns of exposures.
    """

    window: int
    remember: int
    segments: tuple[str, ...] = ()
    watermark: int = BEGINNING
    waiting: list[pl.DataFrame] = field(default_factory=list)
    first: int = 0  # number of the first open exposure; numbers ascend in the order of release

    def __post_init__(self) -> None:
        self.open: list[pl.DataFrame] = []  # exposures, ascending by time
        self.past: list[pl.DataFrame] = []  # numbers and times of closed exposures, as long as copies are remembered
        self.taken: list[pl.DataFrame] = []  # feedback of open exposures
        self.lone = pl.DataFrame(schema=LONE)  # feedback whose exposure may be dated later
        self.next = self.first
        self.seen, self.by_request = KeyMap(), KeyMap()

    @property
    def n_open(self) -> int:
        """Return the number of exposures whose feedback window is open."""
        return sum(frame.height for frame in self.open)

    @property
    def n_pending(self) -> int:
        """Return the number of events that wait for the watermark or belong to an exposure with an open window."""
        return sum(frame.height for frame in (*self.waiting, *self.open, *self.taken))

    def accept(self, events: pl.DataFrame) -> None:
        """Add events that are not late; they wait until the watermark passes them."""
        if events.height:
            self.waiting.append(events)

    def release(self, watermark: int) -> tuple[pl.DataFrame, Counter[str]]:
        """Process all waiting events before the watermark: drop duplicates, open exposures, and match feedback.

        Return (events without duplicates, counts by name: of duplicates, and those of :meth:`replay`).
        """
        self.watermark = watermark
        passed, self.waiting = parted(self.waiting, "time", watermark)
        if not passed:
            return pl.DataFrame(schema=columns(self.segments)), Counter()
        events = in_order(pl.concat(passed))
        repeated = self.repeated(events)
        kept = events.filter(~repeated) if repeated.any() else events
        return kept, Counter({"duplicate": int(repeated.sum()), **self.replay(kept)})

    def repeated(self, events: pl.DataFrame) -> NDArray[np.bool_]:
        """Return a mask of the events that are copies of an event at most :attr:`remember` microseconds older.

        Copies have equal :func:`identity_of`. Events must come in order of time.
        """
        times = events["time"].to_numpy()
        identity = events.select(identity_of(events).alias("i"))["i"]
        hashes, every, oldest = text_hashes(identity), np.ones(times.size, np.bool_), int(times[0]) - self.remember
        found = self.seen.visit(*hashes, every, times, span=self.remember, floor=oldest)
        return np.asarray(found != ABSENT)

    def replay(self, kept: pl.DataFrame) -> dict[str, int]:
        """Open the exposures (shown lists) among ``kept``, match feedback with open ones, and count the rest of it.

        "orphans" are the feedback events that belong to no exposure with an open window. "orphans after the window" are
        those of them that came after the window of the exposure with their request id, if that was shown within the
        time that copies are remembered. "orphans before the exposure" are feedback events, of this or an earlier call,
        whose exposure came now and is dated later: the clocks of the two logs differ.
        """
        if (kept["event"] == INTERACTION).any():
            kept = kept.filter(pl.col("event") != INTERACTION)
        is_exposure = (kept["event"] == EXPOSURE).to_numpy()
        exposures = kept.filter(pl.Series(is_exposure)) if not is_exposure.all() else kept
        numbers = self.next + np.cumsum(is_exposure) - 1
        if exposures.height:
            self.open.append(exposures.with_columns(pl.Series("number", numbers[is_exposure])))
            self.next += exposures.height
        requests = kept["request_id"].fill_null("")
        known = int(self.past[0]["number"][0]) if self.past else self.first
        found = self.by_request.visit(*text_hashes(requests), is_exposure, numbers, span=-1, floor=known)
        if exposures.height == kept.height:
            return {"orphans before the exposure": self._early(exposures)}
        number = pl.Series("number", np.where((requests == "").to_numpy(), ABSENT, found))
        feedback = kept.with_columns(number).filter(pl.Series(~is_exposure)).select(*LONE, "kind", "value", "number")
        unnamed = feedback["request_id"].is_null()
        if unnamed.any():
            named = self._by_user(feedback.filter(unnamed).drop("number"))
            feedback = pl.concat([feedback.filter(~unnamed), named.select(feedback.columns)])
        opened, times = self._times(feedback["number"].to_numpy()), feedback["time"].to_numpy()
        inside = (opened > BEGINNING) & (opened <= times) & (times - opened <= self.window)
        expired = ~inside & (opened > BEGINNING) & (times - opened <= self.remember)
        if inside.any():
            self.taken.append(feedback.filter(pl.Series(inside)).select(*TAKEN))
        self.lone = pl.concat([self.lone, feedback.filter(pl.Series(~(inside | expired))).select(*LONE)])
        return {
            "orphans": int((~inside).sum()), "orphans after the window": int(expired.sum()),
            "orphans before the exposure": self._early(exposures),
        }  # fmt: skip

    def _early(self, exposures: pl.DataFrame) -> int:
        """Return how many feedback events in :attr:`lone` belong to ``exposures`` dated later, and drop them."""
        if not (self.lone.height and exposures.height):
            return 0
        lone, shown = self.lone.with_row_index("row"), pl.col("time").alias("shown")
        named = lone.join(exposures.select("request_id", shown), on="request_id")
        lists = exposures.select("user_id", pl.col("items").alias("item_id"), shown)
        unnamed = lone.filter(pl.col("request_id").is_null())
        unnamed = unnamed.join(
            lists.join(unnamed, on="user_id", how="semi").explode("item_id"), on=["user_id", "item_id"]
        )
        pairs = pl.concat([one.select("row", pl.col("shown") - pl.col("time")) for one in (named, unnamed)])
        early = pairs.filter(pl.col("shown").is_between(1, self.window)).select(pl.col("row").unique())
        self.lone = lone.join(early, on="row", how="anti").drop("row")
        return early.height

    def _times(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time of each exposure, from its number; :data:`BEGINNING` if it does not exist or is long past."""
        found = np.full(numbers.size, BEGINNING, np.int64)
        for frame in (*self.past, *self.open):
            begin = int(frame["number"][0])
            inside = (numbers >= begin) & (numbers < begin + frame.height)
            found[inside] = frame["time"].to_numpy()[numbers[inside] - begin]
        return found

    def _by_user(self, feedback: pl.DataFrame) -> pl.DataFrame:
        """Return feedback without request ids with a new column ``number``, the number of the exposure it belongs to.

        That is the user's latest exposure that showed the item; :data:`ABSENT` if there is none within the window.
        """
        rows = feedback.with_row_index("row")
        users = feedback.select("user_id").unique()
        parts = [frame.select("number", "time", "user_id", "items") for frame in self.open]
        if not parts:
            return feedback.with_columns(pl.lit(ABSENT).alias("number"))
        shown = pl.concat(parts).join(users, on="user_id", how="semi").explode("items")
        shown = shown.rename({"items": "item_id", "time": "shown"})
        pairs = rows.select("row", "user_id", "item_id", "time").join(shown, on=["user_id", "item_id"])
        inside = pairs.filter((pl.col("shown") <= pl.col("time")) & (pl.col("time") - pl.col("shown") <= self.window))
        latest = inside.group_by("row").agg(pl.col("number").max())
        return rows.join(latest, on="row", how="left", maintain_order="left").with_columns(
            pl.col("number").fill_null(ABSENT)
        )

    def close(self) -> Closed:
        """Return the exposures whose window ended before the watermark, with their feedback, and drop them."""
        border = self.watermark - self.window
        self.lone = self.lone.filter(pl.col("time") >= border)
        closed, self.open = parted(self.open, "time", border)
        past = [*self.past, *(frame.select("number", "time") for frame in closed)]
        past = [frame for frame in past if int(frame["time"][-1]) >= self.watermark - self.remember]
        self.past = [pl.concat(past)] if len(past) > MOST_FRAMES else past
        begin, self.first = self.first, int(closed[-1]["number"][-1]) + 1 if closed else self.first
        taken, self.taken = parted(self.taken, "number", self.first)
        return self._exposures_with_feedback(closed, taken, begin)

    def pending(self) -> Closed:
        """Return the open exposures with their feedback so far, as if their windows ended now."""
        return self._exposures_with_feedback(self.open, self.taken, self.first)

    def _exposures_with_feedback(self, exposures: list[pl.DataFrame], taken: list[pl.DataFrame], begin: int) -> Closed:
        """Return exposures and feedback (``taken``), each as one table; ``begin`` is the first exposure's number."""
        feedback = pl.concat([pl.DataFrame(schema=TAKEN), *taken]).sort("number", "time", "item_id", "kind", "value")
        rows = feedback.select((pl.col("number") - begin).alias("at"), "item_id", "kind", "value")
        return Closed(pl.concat(exposures or [pl.DataFrame(schema=columns(self.segments))]), rows)


def parted(frames: list[pl.DataFrame], column: str, border: int) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Return two lists of tables: rows with a number below ``border`` in ``column``, and the other rows."""
    below, left = [], []
    for frame in frames:
        mask = frame[column] < border
        if mask.all():
            below.append(frame)
        elif mask.any():
            below.append(frame.filter(mask))
            left.append(frame.filter(~mask))
        else:
            left.append(frame)
    return below, [pl.concat(left)] if len(left) > MOST_FRAMES else left


def identity_of(events: pl.DataFrame) -> pl.Expr:
    """Return an expression that has the same value for copies of one event, and different values for others.

    The value is the event id if there is one. Otherwise it is, for an exposure, the request id; for feedback, request,
    item and kind, or without a request id user, item, kind and time; for an interaction, model, user, item and time.
    """

    def text(first: str, *names: str) -> pl.Expr:
        return pl.concat_str(pl.lit(first), *names, separator="\x1f")

    feedback = pl.coalesce(text("f", "request_id", "item_id", "kind"), text("u", "user_id", "item_id", "kind", "time"))
    own = (
        pl.when(pl.col("event") == EXPOSURE).then("x" + pl.col("request_id"))
        .when(pl.col("event") == INTERACTION).then(text("n", "arm", "user_id", "item_id", "time"))
        .otherwise(feedback)
    )  # fmt: skip
    if events["event_id"].null_count() == events.height:
        return own
    return pl.when(pl.col("event_id").is_not_null()).then("i" + pl.col("event_id")).otherwise(own)


def in_order(events: pl.DataFrame) -> pl.DataFrame:
    """Return events in an order that depends on their content only.

    They are sorted by time, then exposures before feedback, then by every other column.

    >>> rows = {"time": [5, 5, 1], "event": [1, 0, 1], "item_id": ["a", "b", "c"]}
    >>> in_order(pl.DataFrame(rows))["item_id"].to_list()
    ['c', 'b', 'a']
    """
    times = events["time"].to_numpy()
    order = np.argsort(times, kind="stable")
    ascending = times[order]
    tied = np.zeros(order.size, np.bool_)
    same = ascending[1:] == ascending[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    if tied.any():
        rows = order[tied]
        keys = [
            pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("\x1f") if kind.is_nested() else pl.col(name)
            for name, kind in events.schema.items()
        ]
        sorting = events[rows].with_row_index("row").sort("time", "event", *keys, nulls_last=False, maintain_order=True)
        order[tied] = rows[sorting["row"].to_numpy()]
    return events if np.array_equal(order, np.arange(order.size)) else events[order]
