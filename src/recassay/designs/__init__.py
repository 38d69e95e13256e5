"""Target-set designs: which candidates a relevant item must beat, judged in closed form."""

from __future__ import annotations

from recassay.designs.expect import Judged, Outcome, expect
from recassay.designs.grammar import PARTS, TITLES, Design, parameters_of, parse, parse_list

__all__ = ["PARTS", "TITLES", "Design", "Judged", "Outcome", "expect", "parameters_of", "parse", "parse_list"]
