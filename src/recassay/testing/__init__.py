"""Contract checks for your own metrics, models, splits and so on.

Each is one call, which raises AssertionError with the reason if a requirement is not met.

>>> from recassay import testing
>>> from recassay.metrics.registry import parse_metric
>>> testing.check_metric(parse_metric("recall@5"))
"""

from __future__ import annotations

from recassay.testing.check import check_check
from recassay.testing.format import check_format
from recassay.testing.metric import check_metric
from recassay.testing.profile import check_profile
from recassay.testing.recommender import check_recommender, checkerboard
from recassay.testing.split import check_split

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
