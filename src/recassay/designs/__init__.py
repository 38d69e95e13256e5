"""Target-set designs: which candidates a relevant item is ranked against, with exact expectations of metrics."""

from __future__ import annotations

from recassay.designs.expect import DesignResult, MetricOutcome, expect
from recassay.designs.grammar import Design, parse, parse_list

__all__ = [
    "Design",
    "DesignResult",
    "MetricOutcome",
    "expect",
    "parse",
    "parse_list",
]
__dir__ = __all__.copy  # what `dir` lists
