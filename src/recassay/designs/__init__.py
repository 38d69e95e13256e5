"""Target-set designs: which candidates a relevant item is ranked against, with exact expectations of metrics."""

from __future__ import annotations

from recassay.designs.expect import DesignResult, MetricOutcome, expect
from recassay.designs.grammar import DEPARTURES, PARTS, TITLES, Design, parameters_of, parse, parse_list

__all__ = [
    "DEPARTURES",
    "PARTS",
    "TITLES",
    "Design",
    "DesignResult",
    "MetricOutcome",
    "expect",
    "parameters_of",
    "parse",
    "parse_list",
]
