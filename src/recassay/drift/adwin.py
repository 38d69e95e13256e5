"""ADWIN, adaptive windowing (Bifet and Gavalda 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.drift._kernels import adwin
from recassay.drift.base import Alarm, Detector, State

ROWS = 48  # rows of buckets; bucket sizes double from row to row, so no stream can fill them all


@dataclass(frozen=True, repr=False)
class ADWIN(Detector):
    """A detector with the longest window of losses consistent with one mean; it drops the old part after a change.

    A window of n losses is split into n0 and n1, with h = 1 / (1/n0 + 1/n1) and d = delta / n. The means of both parts
    differ too much if their difference exceeds sqrt(2/h var ln(2/d)) + 2/(3h) ln(2/d), with the variance of the window
    (``bound="variance"``), or sqrt(ln(4/d) / (2h)) (``bound="hoeffding"``, for losses in [0, 1]).

    The window is stored in buckets whose sizes double, at most ``buckets`` of a size, and is split between buckets. So
    memory grows with the logarithm of its length. It is tested after every ``clock`` losses. An alarm reports any
    change of the mean, or with ``sees="rise"`` only rises.

    >>> losses = np.repeat([0.0, 1.0], 30)
    >>> [alarm.event for alarm in ADWIN(delta=0.05, buckets=100).start().on_scores(np.arange(60), losses)]
    [48]
    """

    name: ClassVar[str] = "ADWIN"
    delta: float = 0.002
    bound: Literal["variance", "hoeffding"] = "variance"
    buckets: int = 5
    clock: int = 1
    sees: Literal["change", "rise"] = "change"

    def validate(self) -> None:
        """Raise if ``delta`` is not a probability, or a count is below 1."""
        if not 0 < self.delta < 1:
            raise self.refuse("delta", "the probability of a false alarm must be between 0 and 1")
        for field in ("buckets", "clock"):
            if getattr(self, field) < 1:
                raise self.refuse(field, "it must be at least 1")

    def initial_state(self) -> State:
        """Return the state, named arrays, of a detector without buckets."""
        shape = (ROWS, self.buckets + 1)
        return {
            "sums": np.zeros(shape),
            "squares": np.zeros(shape),  # of deviations from the mean of the bucket
            "firsts": np.zeros(shape, np.int64),  # the event of the first loss of each bucket
            "filled": np.zeros(ROWS, np.int64),
            "seen": np.zeros(1, np.int64),
        }

    def update(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Add the losses at these events to ``state``, drop those from before a change of mean; return the alarms."""
        place, since, before, after = adwin(
            events,
            losses,
            state["sums"],
            state["squares"],
            state["firsts"],
            state["filled"],
            state["seen"],
            self.delta,
            self.bound == "hoeffding",
            self.clock,
        )
        return [
            Alarm(int(events[j]), "drift", str(self), int(since[k]), before[k], after[k])
            for k, j in enumerate(place.tolist())
            if self.sees == "change" or after[k] > before[k]
        ]
