"""The base class of drift detectors: a frozen value with parameters, which starts a :class:`Watch`, the running
detector.

To add a detector, write a dataclass with its parameters, ``initial_state`` and ``update``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.naming.named import Named
from recassay.results.outcomes import Outcomes, Played, outcomes_of

State = dict[str, NDArray[Any]]
DETECTOR = "detector"  # the key of the detector's text in a saved state


@dataclass(frozen=True)
class Alarm:
    """An alarm of a detector at an event of the stream: the mean loss has changed from ``before`` to ``after``.

    ``since`` is the event at which the change is estimated to have begun. ``kind`` is ``drift`` for a change, and
    ``warning`` for a possible one.

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
        """Return (event, text): where a figure of the stream marks the alarm, and the label of the mark."""
        sign = "" if self.kind == "drift" else " warns"
        return self.event, f"{self.detector}{sign}: loss {self.change} since event {self.since:,}"

    @property
    def change(self) -> str:
        """Return the mean loss before and after the change, as text."""
        before = "unknown" if math.isnan(self.before) else f"{self.before:.3f}"
        return f"{before} to {self.after:.3f}"

    @property
    def worse(self) -> bool:
        """Return whether the loss has risen; True if the mean before the change is unknown."""
        return not self.after < self.before


class Detector(Named):
    """A drift detector and its parameters, without state; :meth:`start` returns a running detector."""

    def initial_state(self) -> State:
        """Return the state, named arrays, of a detector that has seen no loss."""
        raise NotImplementedError

    def update(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Update the arrays of ``state`` in place with a block of losses at these events, and return the alarms."""
        raise NotImplementedError

    def start(self, state: Mapping[str, NDArray[Any]] | None = None) -> Watch:
        """Return a running detector, new or continued from a saved ``Watch.state``.

        Raise U141 if another detector saved it.
        """
        if state is None:
            return Watch(self, self.initial_state())
        saved_by = str(state.get(DETECTOR, "no detector"))
        if saved_by != str(self):
            what = f"{self} cannot continue from a state of {saved_by}"
            raise UsageError("U141", what, hint="start the detector that saved the state, or start without a state")
        return Watch(self, {name: array.copy() for name, array in state.items() if name != DETECTOR})


class Watch:
    """A running detector; pass it the loss of every scored event in order, one by one or in blocks of any size."""

    def __init__(self, detector: Detector, arrays: State) -> None:
        self.detector = detector
        self._arrays = arrays

    def on_score(self, event: int, loss: float) -> Alarm | None:
        """Return the alarm raised by the loss at an event of the stream, or None; a loss is 1 - metric, or an error."""
        found = self.on_scores([event], [loss])
        return found[0] if found else None

    def on_scores(
        self, events: Sequence[int] | NDArray[np.int64], losses: Sequence[float] | NDArray[np.float64]
    ) -> list[Alarm]:
        """Return the alarms raised by a block of losses at these events; they equal those of :meth:`on_score`."""
        return self.detector.update(self._arrays, np.asarray(events, np.int64), np.asarray(losses, np.float64))

    def state(self) -> State:
        """Return a copy of the state as arrays that can be saved; ``detector.start(state)`` continues from it."""
        return {DETECTOR: np.array(str(self.detector)), **{name: array.copy() for name, array in self._arrays.items()}}


def alarms(outcomes: Outcomes | Played, metric: str, detectors: Detector | Iterable[Detector]) -> tuple[Alarm, ...]:
    """Return every alarm that the detectors raise on the losses of a metric, in the order of the stream.

    >>> from recassay.drift import ADWIN, PageHinkley
    >>> hits = np.repeat([1.0, 0.0], 50)
    >>> outcomes = Outcomes("mine", np.arange(0, 200, 2), {"hit@10": hits}, events=200)
    >>> for alarm in alarms(outcomes, "hit@10", [PageHinkley(threshold=5), ADWIN()]):
    ...     print(*alarm.mark)
    110 PageHinkley(threshold=5): loss 0.000 to 1.000 since event 100
    156 ADWIN: loss 0.000 to 0.935 since event 96
    """
    played = outcomes_of(outcomes)
    losses = played.losses(metric)
    known = ~np.isnan(losses)
    events, losses = played.event[known], losses[known]
    every = [detectors] if isinstance(detectors, Detector) else detectors
    found = [alarm for detector in every for alarm in detector.start().on_scores(events, losses)]
    return tuple(sorted(found, key=lambda alarm: (alarm.event, alarm.detector)))
