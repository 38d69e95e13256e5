"""The journal of a watch: the deliveries that it set aside because of the clock, which a replay sets aside again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.errors import UsageError
from recassay.live.clock import BEGINNING, Mask
from recassay.live.events import EventBatch, contents
from recassay.live.sources import Arrival, Source
from recassay.live.state import FILE, StateFile


class Journal:
    """The deliveries that a watch, whose state is in ``folder``, set aside as late or future-dated.

    A queue may deliver an event twice: once on time, and once late. ``left`` has, for each event of the journal, how
    many of its next deliveries are future-dated, then accepted, then late. Deliveries of one event are equal, so this
    order gives the results of the watch for any order of the archive. Raise U253 if the folder has no state.
    """

    def __init__(self, folder: str | Path) -> None:
        if not (Path(folder) / FILE).is_file():
            raise UsageError("U253", f"there is no {FILE}", where=str(folder), hint="give the folder of a live watch")
        state = StateFile(Path(folder))
        try:
            self.aside = state.aside()
        finally:
            state.close()
        self.times = np.unique(np.array([json.loads(content)["time"] for content in self.aside], np.int64))
        self.left: dict[str, dict[str, int]] = {}

    def count(
        self, sources: Iterable[Source], read: Callable[[Arrival], EventBatch], positions: Mapping[str, Any],
        newest: Mapping[str, int], done: Mapping[str, Mapping[str, int]],
    ) -> int:  # fmt: skip
        """Count the deliveries that ``sources`` have after ``positions``; the replay then reads the sources again.

        ``newest`` is the latest time of each partition before, and ``done`` has the deliveries that the replay set
        aside before an interruption. Return how far an accepted event is behind an earlier one of its partition, in
        microseconds. Raise U254 for a source that cannot be read twice.
        """
        copies: Counter[str] = Counter()
        distances: dict[str, int] = {}  # of events of the journal
        disorder = 0
        for source in sources:
            if source.follow:
                source.close()
                raise UsageError(
                    "U254", "a replay with a journal reads events twice, and a stream or standard input only once",
                    where=source.name, hint="write the events to a file first",
                )  # fmt: skip
            (name,) = source.start(positions)
            latest = newest.get(name, BEGINNING)
            while arrivals := source.poll(0.0):
                for events in (read(arrival).events for arrival in arrivals):
                    named, times = self._named(events), events["time"].to_numpy()
                    moving = times.copy()
                    moving[[row for row, content in named if "future" in self.aside[content]]] = BEGINNING
                    reached = np.maximum.accumulate(np.append(latest, moving))
                    latest, behind = int(reached[-1]), reached[1:] - times
                    for row, content in named:
                        copies[content] += 1
                        distances[content] = max(distances.get(content, 0), int(behind[row]))
                        behind[row] = 0
                    disorder = max(disorder, int(behind.max(initial=0)))
            source.close()
        for content, reasons in self.aside.items():
            future, late = (reasons.get(name, 0) - done.get(content, {}).get(name, 0) for name in ("future", "late"))
            accepted = copies[content] - future - late
            self.left[content] = {"future": future, "accepted": accepted, "late": late}
            disorder = max(disorder, distances[content] if accepted > 0 else 0)
        return disorder

    def masks(self, events: pl.DataFrame) -> tuple[Mask, Mask, Mask]:
        """Return masks of the events of the next batch that are late, that are future-dated, and that move no clock.

        Copies of a future-dated event move no clock, so the order of the archive does not matter.
        """
        late, future, unmoving = (np.zeros(events.height, np.bool_) for _ in range(3))
        for row, content in self._named(events):
            left = self.left[content]
            stage = next((name for name, n in left.items() if n > 0), "accepted")
            left[stage] -= 1
            late[row], future[row], unmoving[row] = stage == "late", stage == "future", "future" in self.aside[content]
        return late, future, unmoving

    def _named(self, events: pl.DataFrame) -> list[tuple[int, str]]:
        """Return the rows of the events that the journal has, and each of these events as text."""
        rows = np.flatnonzero(np.isin(events["time"].to_numpy(), self.times))
        pairs = zip(rows.tolist(), contents(events[rows]), strict=True)
        return [(row, content) for row, content in pairs if content in self.aside]
