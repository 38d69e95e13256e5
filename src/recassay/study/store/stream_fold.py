"""The fold of a study of streams: the whole log, in order of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.engine.streams.source import Batch, StreamSource, digest
from recassay.protocols.prequential import Prequential
from recassay.split.base import Cut

DRY_RUN_SPAN = 100  # events; the longest batch, delay or refit interval of a dry run


@dataclass(frozen=True, repr=False)
class WholeStream(Cut):
    """The split of a stream, which leaves it whole: every event is first used for testing, then for training.

    ``protocol`` says by which of several protocols; it is empty if the stream has only one.
    """

    name: ClassVar[str] = "whole"

    protocol: str = ""


@dataclass(frozen=True, eq=False)
class StreamFold:
    """A log and the protocol by which systems are tested on it event by event.

    The first ``tuned_on`` events only serve to choose settings of models. ``items`` are features of items, for metrics
    of lists. ``removed`` are the numbers of removed events by reason.
    """

    log: Interactions
    protocol: Prequential
    dataset: str
    tuned_on: int = 0
    number: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    items: Features | None = None
    split: str = str(WholeStream())

    @property
    def train(self) -> Interactions:
        """Return the whole log, because systems learn from every event."""
        return self.log

    @property
    def how(self) -> dict[str, Any]:
        """Return how the fold was made: the name of the split, the protocol, and the number of events for tuning."""
        return {"split": self.split, "protocol": str(self.protocol), "tuned_on": self.tuned_on}

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of the events, their order (by time, then by row) and the item features."""
        rows = np.arange(len(self.log))
        features = "" if self.items is None else f"-{self.items.fingerprint}"
        order = digest(Batch(self.log, rows, None, np.zeros(rows.size, np.bool_)))
        return f"{self.log.fingerprint}-{order:x}{features}"

    @cached_property
    def _in_order(self) -> Interactions:
        return next(StreamSource(self.log, self.protocol).batches()).log

    def first(self, events: int, protocol: Prequential) -> StreamFold:
        """Return a fold of the first ``events`` events in order of time, with another protocol and without tuning."""
        log = self._in_order.take(np.arange(min(events, len(self.log)))).compact()
        return dataclasses.replace(self, log=log, protocol=protocol, tuned_on=0)


def dry_run_protocol(protocol: Prequential, events: int) -> Prequential:
    """Return the protocol shortened for a dry run on ``events`` events: a shorter warm-up and shorter intervals."""
    warmup = min(protocol.warmup, events // 2)
    spans = {
        name: min(getattr(protocol, name), DRY_RUN_SPAN) for name, span in protocol.regime.items() if not span.of_time
    }
    until = None if protocol.learn_until is None else max(warmup, min(protocol.learn_until, events // 2))
    return dataclasses.replace(protocol, warmup=warmup, learn_until=until, score_every=1.0, **spans)
