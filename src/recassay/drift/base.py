"""What every drift detector is: a frozen value that starts a watch, which keeps its state in plain arrays.

To add one, write a dataclass with its parameters, the arrays of a fresh state, and what a block of losses does to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.named import Named

State = dict[str, NDArray[Any]]
WHOSE = "detector"  # the name under which a saved state says which detector left it


@dataclass(frozen=True)
class Alarm:
    """A detector says at an event of the stream that the mean loss has changed, from ``before`` to ``after``.

    ``since`` is the event at which it takes the change to have begun. A ``warning`` says that it may come to that.

    >>> Alarm(800, "drift", "ADWIN", since=731, before=0.8, after=0.95).mark
    (800, 'ADWIN: loss 0.800 to 0.950 since event 731')
    """

    event: int
    kind: Literal["drift", "warning"]
    detector: str
    since: int
    before: float
    after: float

    @property
    def mark(self) -> tuple[int, str]:
        """The alarm as a mark of a curve."""
        sign = "" if self.kind == "drift" else " warns"
        return self.event, f"{self.detector}{sign}: loss {self.moved} since event {self.since:,}"

    @property
    def moved(self) -> str:
        """From where to where the loss has moved, in words."""
        before = "unknown" if math.isnan(self.before) else f"{self.before:.3f}"
        return f"{before} to {self.after:.3f}"

    @property
    def worse(self) -> bool:
        """Whether the loss has risen, or nothing is known of before."""
        return not self.after < self.before


class Detector(Named):
    """A drift detector and its parameters."""

    def fresh(self) -> State:
        """The arrays of a watch that has seen nothing."""
        raise NotImplementedError

    def feed(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """What a block of losses does to the arrays, and the alarms it raises."""
        raise NotImplementedError

    def start(self, state: Mapping[str, NDArray[Any]] | None = None) -> Watch:
        """A watch that has seen nothing, or one that goes on from what ``Watch.state`` gave."""
        if state is None:
            return Watch(self, self.fresh())
        left_by = str(state.get(WHOSE, "nobody"))
        if left_by != str(self):
            raise UsageError("U197", f"{self} cannot go on from a state of {left_by}", hint=f"start {left_by}, or anew")
        return Watch(self, {name: part.copy() for name, part in state.items() if name != WHOSE})


class Watch:
    """A detector at work: hand it the loss of every scored event, in order, one by one or in blocks of any size."""

    def __init__(self, detector: Detector, arrays: State) -> None:
        self.detector = detector
        self._arrays = arrays

    def on_score(self, event: int, loss: float) -> Alarm | None:
        """The alarm that the loss at an event of the stream raises, or None. A loss is 1 - a metric, or an error."""
        found = self.on_scores([event], [loss])
        return found[0] if found else None

    def on_scores(
        self, events: Sequence[int] | NDArray[np.int64], losses: Sequence[float] | NDArray[np.float64]
    ) -> list[Alarm]:
        """The alarms that a block of losses raises; the same as of the same losses one by one."""
        return self.detector.feed(self._arrays, np.asarray(events, np.int64), np.asarray(losses, np.float64))

    def state(self) -> State:
        """A copy of all it knows, as plain arrays to be saved: ``detector.start(state)`` goes on with the same bits."""
        return {WHOSE: np.array(str(self.detector)), **{name: part.copy() for name, part in self._arrays.items()}}
