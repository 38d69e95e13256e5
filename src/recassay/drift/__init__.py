"""Drift detectors: they watch the losses of a stream and raise an alarm when the mean loss has changed.

>>> from recassay import drift
>>> watch = drift.PageHinkley(delta=0.05, threshold=1, least=1).start()
>>> [alarm.event for alarm in watch.on_scores(range(12), [0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1])]
[6]
>>> drift.parse("ADWIN(delta=0.01)")
ADWIN(delta=0.01)
"""

from __future__ import annotations

from recassay.drift.base import Alarm, Detector, Watch, alarms
from recassay.drift.detectors import ADWIN, PageHinkley
from recassay.naming.registry import Registry

REGISTRY: Registry[type[Detector]] = Registry("drift detector", "recassay.drift", Detector, group="recassay.detectors")
parse = REGISTRY.parse

__all__ = ["ADWIN", "Alarm", "Detector", "PageHinkley", "Watch", "alarms", "parse"]
__dir__ = __all__.copy  # what `dir` lists
