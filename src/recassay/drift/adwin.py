"""Adaptive windowing (Bifet and Gavalda 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.drift._kernels import adwin
from recassay.drift.base import Alarm, Detector, State

ROWS = 48  # of buckets, each with twice the losses of those of the row before: more than any stream can fill


@dataclass(frozen=True, repr=False)
class ADWIN(Detector):
    """Keeps as long a window of losses as may have one mean: where two parts of it differ too much, the old one goes.

    For a window of n losses, split into n0 and n1, with h = 1 / (1/n0 + 1/n1) and d = delta / n, too much is more than
    sqrt(2/h var ln(2/d)) + 2/(3h) ln(2/d) by the variance of the window (``bound="variance"``), or more than
    sqrt(ln(4/d) / (2h)) (``bound="hoeffding"``, for losses in [0, 1]). The window is kept in buckets whose sizes
    double, at most ``buckets`` of a size, and is split between buckets: memory grows with the logarithm of its length.
    It is looked at after every ``clock`` losses. An alarm tells of any change of the mean, for the better too, or with
    ``sees="rise"`` of rises alone.

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
        """A chance, and counts of at least 1."""
        if not 0 < self.delta < 1:
            raise self.refuse("delta", "it is a chance of a false alarm, between 0 and 1")
        for field in ("buckets", "clock"):
            if getattr(self, field) < 1:
                raise self.refuse(field, "it is at least 1")

    def fresh(self) -> State:
        """No bucket is filled."""
        shape = (ROWS, self.buckets + 1)
        return {
            "sums": np.zeros(shape),
            "squares": np.zeros(shape),  # of deviations from the mean of the bucket
            "firsts": np.zeros(shape, np.int64),  # the event of the first loss of each bucket
            "filled": np.zeros(ROWS, np.int64),
            "seen": np.zeros(1, np.int64),
        }

    def feed(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Fill buckets, and drop those that have another mean than what came after them."""
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
