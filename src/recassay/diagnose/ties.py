"""T0xx: order that the files leave open."""

from __future__ import annotations

from recassay.data.finding import Severity
from recassay.diagnose.base import Facts, check, several


@check("T001", "Ties decide part of the result", "warning")
def ties_matter(facts: Facts) -> tuple[Severity, str] | None:
    """Equal scores or ranks leave the order open; the mean lies anywhere between the worst order and the best."""
    met = facts.meeting.met
    means = {row.metric: row.mean for row in facts.rows}
    moved = {metric: ties for metric, ties in facts.tie_ranges.items() if ties.best - ties.worst > 1e-12}
    if not moved:
        return None
    metric, widest = max(moved.items(), key=lambda one: one[1].best - one[1].worst)
    matters = any(ties.best - ties.worst > 2 * ties.reach for ties in moved.values())
    return (
        "warning" if matters else "info",
        f"{several(met.tied_rows, 'row')} of {several(met.tied_lists, 'list')} tie with the row above; {metric} is "
        f"{means[metric]:.4f} and could be {widest.worst:.4f} to {widest.best:.4f} by the order of tied rows alone; "
        "ties='expected' takes the mean over all orders",
    )
