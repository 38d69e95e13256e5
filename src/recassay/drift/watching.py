"""Drift detectors applied to the outcomes of a stream that has been played."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recassay.drift.base import Alarm, Detector
from recassay.results.outcomes import Outcomes, Played, outcomes_of


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
