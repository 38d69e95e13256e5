"""The interface of a source of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from recassay.live.events.schema import EventBatch, read_lines, read_table

BATCH = 50_000  # events of a partition that are taken at once


@dataclass(frozen=True, eq=False)
class Arrival:
    """New events of one partition: lines of JSON or a table, and the ``position`` from which the source continues."""

    partition: str
    content: Sequence[bytes] | pl.DataFrame
    position: Any

    def read(self, segments: Sequence[str], max_items: int, attached: Sequence[str] = ()) -> EventBatch:
        """Return the parsed events; ``segments`` are further fields, and lists of over ``max_items`` are refused.

        ``attached`` are names of models that make lists for interactions (attached models); if there are any, an
        interaction may come without a list.
        """
        if isinstance(self.content, pl.DataFrame):
            return read_table(self.content, segments, max_items, attached)
        return read_lines(self.content, segments, max_items, attached)


class Source(Protocol):
    """A source of events that can be read again from a stored position; it has one or several ordered partitions."""

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after these stored positions (by partition), and return the names of the known partitions."""

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new events, waiting for them up to ``timeout`` seconds."""

    def ended(self) -> list[str]:
        """Return the names of the partitions from which no more events can come."""

    def behind(self) -> int | None:
        """Return how much is still unread in the source (bytes or events), or None if it is not known."""

    def acknowledge(self) -> None:
        """Tell the source that everything polled so far is stored."""

    def close(self) -> None:
        """Close the source."""
