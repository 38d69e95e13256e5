"""Contract checks for your own metrics, models, splits and so on.

Each is one call, which raises AssertionError with the reason if a requirement is not met.

>>> from recassay import testing
>>> from recassay.metrics.registry import parse_metric
>>> testing.check_metric(parse_metric("recall@5"))
"""

from __future__ import annotations

from recassay.testing.contracts import check_check, check_format, check_metric, check_profile, check_split
from recassay.testing.recommender import check_recommender, checkerboard

__all__ = [
    "check_check",
    "check_format",
    "check_metric",
    "check_profile",
    "check_recommender",
    "check_split",
    "checkerboard",
]
__dir__ = __all__.copy  # what `dir` lists
