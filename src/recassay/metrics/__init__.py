"""Metrics: a folder for each family of metrics, with a file for each metric or a few related ones.

The classes here are those that metrics of one's own inherit from. They are imported when they are first used, because
every module of a family imports this one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recassay.metrics.base import Accuracy, CatalogueMetric, Metric, UnitMetric
    from recassay.metrics.beyond.base import ListMetric
    from recassay.metrics.credit import Credit, NoFormula
    from recassay.metrics.registry import parse_metric
    from recassay.metrics.sequence.base import SequenceMetric

_HOMES = {
    "Accuracy": "base",
    "CatalogueMetric": "base",
    "Credit": "credit",
    "ListMetric": "beyond.base",
    "Metric": "base",
    "NoFormula": "credit",
    "SequenceMetric": "sequence.base",
    "UnitMetric": "base",
    "parse_metric": "registry",
}

__all__ = [
    "Accuracy",
    "CatalogueMetric",
    "Credit",
    "ListMetric",
    "Metric",
    "NoFormula",
    "SequenceMetric",
    "UnitMetric",
    "parse_metric",
]
__dir__ = __all__.copy  # what `dir` lists


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recassay.metrics' has no attribute {name!r}")
    return getattr(importlib.import_module(f"recassay.metrics.{_HOMES[name]}"), name)
