"""What a study has in the place of a fold where a stream is played: all of a log, in the order of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from recassay.data.interactions import Interactions
from recassay.engine.stream.source import Batch, Source, digest
from recassay.protocols.prequential import Prequential
from recassay.split.base import Cut

SOON = 100  # on a trial a model learns, or is made anew, after so many events at most


@dataclass(frozen=True, repr=False)
class Whole(Cut):
    """What stands in the place of a split: a stream is not split, every event is test first and training then."""

    name: ClassVar[str] = "whole"


@dataclass(frozen=True, eq=False)
class StreamFold:
    """A log that is played, and what is asked of it; ``tuned_on`` first events are there to choose settings by."""

    log: Interactions
    protocol: Prequential
    dataset: str
    tuned_on: int = 0
    number: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)

    @property
    def train(self) -> Interactions:
        """All of it is learnt."""
        return self.log

    @property
    def how(self) -> dict[str, Any]:
        """What is asked of it."""
        return {"split": str(Whole()), "protocol": str(self.protocol), "tuned_on": self.tuned_on}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of its events, and of the order of those at one time."""
        rows = np.arange(len(self.log))
        return f"{self.log.fingerprint}-{digest(Batch(self.log, rows, None, np.zeros(rows.size, np.bool_))):x}"

    @cached_property
    def _in_order(self) -> Interactions:
        return next(Source(self.log, self.protocol).batches()).log

    def first(self, events: int, protocol: Prequential) -> StreamFold:
        """The first so many events, of which something else may be asked."""
        log = self._in_order.take(np.arange(min(events, len(self.log)))).compact()
        return dataclasses.replace(self, log=log, protocol=protocol, tuned_on=0)


def on_trial(protocol: Prequential, events: int) -> Prequential:
    """What is asked of so few events that a warm-up, or the time until a model is made anew, would take them all."""
    warmup = min(protocol.warmup, events // 2)
    spans = {name: min(getattr(protocol, name), SOON) for name, span in protocol.regime.items() if not span.of_time}
    until = None if protocol.learn_until is None else max(warmup, min(protocol.learn_until, events // 2))
    return dataclasses.replace(protocol, warmup=warmup, learn_until=until, score_every=1.0, **spans)
