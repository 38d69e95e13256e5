"""P0xx: numbers that a profile does not reproduce."""

from __future__ import annotations

from recassay.checks.base import Facts, check


@check("P001", "The profile does not reproduce all of these numbers", "warning")
def not_reproduced(facts: Facts) -> str | None:
    """Report if the input has properties that the profile's library leaves open or gets wrong.

    The library may then print other numbers than this profile.
    """
    return "; ".join(facts.exclusions) or None
