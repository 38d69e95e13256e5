"""P0xx: what a profile promises."""

from __future__ import annotations

from recassay.diagnose.base import Facts, check


@check("P001", "The profile does not reproduce all of this", "warning")
def not_reproduced(facts: Facts) -> str | None:
    """The input holds what the profile's library leaves open or gets wrong, so it may print other numbers."""
    return "; ".join(facts.exclusions) or None
