"""The interface of a source of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from recassay.live.events.durations import SECOND
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


class Source:
    """A source of events that can be read again from a stored position; it has one or several ordered partitions.

    ``name`` is its path, or its address without secrets. ``problem`` says why it cannot be read now; it is "" if it
    can. ``unreachable`` says that its server does not answer, so that events may wait there. With ``follow`` the source
    waits for more events at its end. ``answered`` and ``heard`` are the wall times, in microseconds, when it was last
    read without a problem, and when its last event came (0: never).
    """

    name = ""
    problem = ""
    unreachable = False
    follow = True
    answered = heard = 0

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after these stored positions (by partition), and return the names of the known partitions."""
        raise NotImplementedError

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new events, waiting for them up to ``timeout`` seconds."""
        raise NotImplementedError

    def ended(self) -> list[str]:
        """Return the names of the partitions from which no more events can come; by default none."""
        return []

    def acknowledge(self) -> None:
        """Tell the source that everything polled so far is stored; by default positions in the state suffice."""

    def close(self) -> None:
        """Close the source; by default nothing is open."""

    def status(self, now: int) -> dict[str, Any]:
        """Return whether events can be read at wall time ``now``, and how long ago they last could, as a document."""
        state = "waiting" if self.problem else "ended" if self.ended() else "ok"
        return {
            "source": self.name, "state": state, "problem": self.problem,
            "seconds since answer": (now - self.answered) / SECOND,
            "seconds since event": (now - self.heard) / SECOND if self.heard else None,
        }  # fmt: skip
