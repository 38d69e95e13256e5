"""Sources of events: their interface, and a source whose events are in memory or generated while they are read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from recassay.live.clock import SECOND
from recassay.live.events import EventBatch, read_lines, read_table

BATCH = 50_000  # events of a partition that are taken at once
Content = Sequence[bytes] | pl.DataFrame  # lines of JSON, or a table


@dataclass(frozen=True, eq=False)
class Arrival:
    """New events of one partition: lines of JSON or a table, and the ``position`` from which the source continues."""

    partition: str
    content: Content
    position: Any

    def read(self, segments: Sequence[str], max_items: int, attached: Sequence[str] = ()) -> EventBatch:
        """Return the parsed events; ``segments`` are further fields, and lists of over ``max_items`` are refused.

        ``attached`` are names of models that make lists for interactions (attached models); if there are any, an
        interaction may come without a list.
        """
        if isinstance(self.content, pl.DataFrame):
            return read_table(self.content, segments, max_items, attached)
        return read_lines(self.content, segments, max_items, attached)


class Source:
    """A source of events that can be read again from a stored position; it has one or several ordered partitions.

    ``name`` is its path, or its address without secrets. ``problem`` says why it cannot be read now; it is "" if it
    can. ``unreachable`` says that its server does not answer, so that events may wait there. With ``follow`` the source
    waits for more events at its end. ``at_end`` says that it was read to its end, and no event can come.
    ``answered`` and ``heard`` are the wall times, in microseconds, when it was last read without a problem, and when
    its last event came (0: never).
    """

    name = ""
    problem = ""
    unreachable = False
    follow = True
    at_end = False
    answered = heard = 0

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after these stored positions (by partition), and return the names of the known partitions."""
        return [self.name]

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new events, waiting for them up to ``timeout`` seconds."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the source; by default there is nothing to close."""

    def status(self, now: int) -> dict[str, Any]:
        """Return a dict that says whether events can be read at wall time ``now``, and how long ago they last could.

        Its keys are ``source``, ``state`` (ok, waiting or ended), ``problem``, ``seconds since answer`` and ``seconds
        since event``.
        """
        state = "waiting" if self.problem else "ended" if self.at_end else "ok"
        return {
            "source": self.name, "state": state, "problem": self.problem,
            "seconds since answer": (now - self.answered) / SECOND,
            "seconds since event": (now - self.heard) / SECOND if self.heard else None,
        }  # fmt: skip


class BatchSource(Source):
    """A source with one partition, read from batches of events in memory, with at most ``rate`` events a second.

    ``batches`` returns the same batches in every call. A position is the number of events before it.
    """

    follow = False

    def __init__(self, name: str, batches: Callable[[], Iterable[Content]], rate: float | None = None) -> None:
        self.name, self.batches, self.rate = name, batches, rate

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after the stored position of the only partition, and return a list with the partition's name."""
        self.row = self.first = skip = int(positions.get(self.name, 0))
        self.began, self.rest = time.monotonic(), iter(self.batches())
        self.left: Content = []
        self._fill()
        while skip and not self.at_end:
            dropped = min(skip, len(self.left))
            self.left, skip = self.left[dropped:], skip - dropped
            self._fill()
        return [self.name]

    def _fill(self) -> None:
        """Take the next batch if no event is left of the last one; after the last batch set ``at_end``."""
        while not len(self.left) and not self.at_end:
            batch = next(self.rest, None)
            self.left, self.at_end = self.left if batch is None else batch, batch is None

    def poll(self, timeout: float) -> list[Arrival]:
        """Return the next events, as many as the rate allows; wait up to ``timeout`` seconds if it allows none."""
        limit = BATCH
        if self.rate:
            limit = int((time.monotonic() - self.began) * self.rate) - (self.row - self.first)
            if limit < 1:
                time.sleep(min(timeout, 0.1))
                return []
        content, self.left = self.left[:limit], self.left[limit:]
        self.row += len(content)
        self._fill()
        return [Arrival(self.name, content, self.row)] if len(content) else []


def table_source(events: pl.DataFrame | Sequence[Mapping[str, Any]], name: str) -> BatchSource:
    """Return a source that reads a table, or a list of dicts, of events in the order in which they came."""
    content = events if isinstance(events, pl.DataFrame) else [_line(event) for event in events]
    return BatchSource(name, lambda: [content])


def _line(event: Any) -> bytes:
    """Return an event as JSON; if that is impossible, a text that is not JSON, so that the event is malformed."""
    try:
        return json.dumps(event, default=str).encode()
    except Exception as error:  # of a circular reference, a key that is no text, or the object's own method
        return f"({type(event).__name__} that JSON cannot hold: {type(error).__name__})".encode()
