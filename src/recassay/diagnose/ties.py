"""T0xx: order that the files leave open."""

from __future__ import annotations

from recassay.data.finding import Severity
from recassay.data.standings import TEST
from recassay.diagnose.base import Facts, Judging, check, several, share

TOP = 10  # places that matter to most readers
OFTEN = 0.1  # share of relevant items that ties may put in or out of them


@check("T001", "Ties decide part of the result", "warning")
def ties_matter(facts: Facts) -> tuple[Severity, str] | None:
    """Equal scores or ranks leave the order open; the mean lies anywhere between the worst order and the best."""
    met = facts.met
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


@check("T002", "Scores of the catalogue tie", "warning", about=Judging)
def catalogue_ties(facts: Judging) -> str | None:
    """For a tenth of the relevant items or more, ties leave open whether they are among the first 10 candidates.

    Means here are over all orders of ties. A program that takes one order, by item number say, prints another number.
    """
    unsure = {}
    for name, one in facts.standings.items():
        above, tied = one.above[TEST], one.tied[TEST]
        unsure[name] = (int(((above < TOP) & (above + tied >= TOP)).sum()), max(one.pairs, 1))
    told = {name: count for name, (count, pairs) in unsure.items() if count >= OFTEN * pairs}
    if not told:
        return None
    name = max(told, key=lambda one: unsure[one][0] / unsure[one][1])
    others = f"; so for {', '.join(other for other in told if other != name)}" if len(told) > 1 else ""
    return (
        f"{name} leaves open for {share(*unsure[name])} relevant items whether they are among the first {TOP}, because "
        f"other candidates have the same score{others}"
    )
