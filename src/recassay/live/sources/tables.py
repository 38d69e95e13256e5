"""Sources of events that are in memory: a table or a list of dicts, each of which is one partition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recassay.live.sources.base import BATCH, Arrival, Source


class TableSource(Source):
    """A source that reads a table, or a list of dicts, of events in the order in which they came."""

    def __init__(self, events: pl.DataFrame | Sequence[Mapping[str, Any]], name: str) -> None:
        self.events: pl.DataFrame | list[bytes] = (
            events if isinstance(events, pl.DataFrame) else [_line(one) for one in events]
        )
        self.name, self.row, self.follow = name, 0, False

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after the stored position of the only partition, and return a list with the partition's name."""
        self.row = positions.get(self.name, 0)
        return [self.name]

    def poll(self, timeout: float) -> list[Arrival]:
        """Return the next events, without waiting."""
        content = self.events[self.row : self.row + BATCH]
        self.row += len(content)
        return [Arrival(self.name, content, self.row)] if len(content) else []

    def ended(self) -> list[str]:
        """Return the name of the partition if all events were read, else an empty list."""
        return [self.name] if self.row >= len(self.events) else []


def _line(event: Any) -> bytes:
    """Return an event as JSON; for what JSON cannot hold a text that is not JSON, so that the event is malformed."""
    try:
        return json.dumps(event, default=str).encode()
    except Exception as error:  # of a circular reference, a key that is no text, or the object's own method
        return f"({type(event).__name__} that JSON cannot hold: {type(error).__name__})".encode()
