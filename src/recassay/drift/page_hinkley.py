"""Page and Hinkley's test for an increase of the mean (Page 1954, Hinkley 1971)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.drift._kernels import page_hinkley
from recassay.drift.base import Alarm, Detector, State

STATE = 8  # numbers: count, sum, cumulative sum, its minimum; count, sum and event at the minimum; warned


@dataclass(frozen=True, repr=False)
class PageHinkley(Detector):
    """A detector of a rising mean: it sums the deviations of losses from their running mean.

    With the running mean of all n losses since the last alarm, m_n = f m_(n-1) + (x_n - mean_n - delta). An alarm is
    raised if n >= least and m_n - min(0, m_1 .. m_n) > threshold (``form="classic"``, as in river). The other form uses
    s_n = max(0, f s_(n-1) + x_n - mean_n - delta) >= threshold (``form="cusum"``, cut off at 0). With fading f = 1 the
    two differ only in > and >=. After an alarm the detector restarts. With ``warn_at`` below the threshold it raises
    one warning when the sum reaches it. It detects only rises of the loss.

    >>> watch = PageHinkley(delta=0.05, threshold=1, least=1, warn_at=0.6).start()
    >>> found = watch.on_scores([3, 5, 8, 9, 11, 12, 13], [0, 0, 1, 0, 0, 1, 1])
    >>> [(alarm.event, alarm.kind, alarm.since) for alarm in found]
    [(8, 'warning', 8), (13, 'drift', 8)]
    """

    name: ClassVar[str] = "PageHinkley"
    delta: float = 0.005
    threshold: float = 50.0
    fading: float = 1.0
    least: int = 30
    form: Literal["classic", "cusum"] = "classic"
    warn_at: float | None = None

    def validate(self) -> None:
        """Raise if a threshold or the fading factor is out of range."""
        if self.threshold <= 0:
            raise self.refuse("threshold", "it must be above 0")
        if not 0 < self.fading <= 1:
            raise self.refuse("fading", "it must be above 0 and at most 1")
        if self.warn_at is not None and not 0 < self.warn_at < self.threshold:
            raise self.refuse("warn_at", "a warning comes before an alarm", "choose it between 0 and threshold")

    def initial_state(self) -> State:
        """Return the state of a detector that has seen no loss: sums of 0."""
        return {"numbers": np.zeros(STATE)}

    def update(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Add the losses at these events to the sums in ``state``, in place, and return the alarms."""
        place, drift, since, before, after = page_hinkley(
            events,
            losses,
            state["numbers"],
            float(self.delta),
            float(self.threshold),
            float(self.fading),
            self.least,
            self.form == "cusum",
            np.inf if self.warn_at is None else float(self.warn_at),
        )
        return [
            Alarm(int(events[j]), "drift" if drift[k] else "warning", str(self), int(since[k]), before[k], after[k])
            for k, j in enumerate(place.tolist())
        ]
