"""Target-set designs: which candidates a relevant item must beat, judged in closed form."""

from __future__ import annotations

from recassay.designs.expect import Judged, Outcome, expect
from recassay.designs.grammar import TITLES, Design, parse, parse_list

__all__ = ["TITLES", "Design", "Judged", "Outcome", "expect", "parse", "parse_list"]
