"""T0xx: order that the files leave open."""

from __future__ import annotations

from recassay.diagnose.base import Facts, check, several


@check("T001", "Ties decide part of the result", "warning")
def ties_matter(facts: Facts) -> tuple[str, str] | None:
    """Equal scores or ranks leave the order open; the mean lies anywhere between the worst order and the best."""
    met = facts.meeting.met
    moved = []
    for row in facts.rows:
        worst, best = facts.tie_bounds.get(row.metric, (row.mean, row.mean))
        if best - worst > 1e-12:
            moved.append((best - worst, row, worst, best))
    if not moved:
        return None
    gap, row, worst, best = max(moved, key=lambda one: one[0])
    matters = any(gap > (row.high - row.low) for gap, row, _, _ in moved)
    return (
        "warning" if matters else "info",
        f"{several(met.tied_rows, 'row')} of {several(met.tied_lists, 'list')} tie with the row above; {row.metric} is "
        f"{row.mean:.4f} and could be {worst:.4f} to {best:.4f} by the order of tied rows alone; ties='expected' takes the mean over all orders",
    )
