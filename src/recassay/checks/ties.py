"""T0xx: effects of tied scores or ranks."""

from __future__ import annotations

from recassay.checks.base import DesignFacts, Facts, check, format_count, format_share
from recassay.data.standings import TEST
from recassay.results.finding import Severity

TOP = 10  # positions that matter to most readers
OFTEN = 0.1  # share of relevant items that ties may move into or out of the first 10


@check("T001", "Ties decide part of the result", "warning")
def ties_matter(facts: Facts) -> tuple[Severity, str] | None:
    """Report if equal scores or ranks leave the order of rows open, and a mean depends on that order.

    The mean lies between those of the worst and the best order. The severity is warning if these two are further apart
    than the width of the mean's interval, else info.
    """
    met = facts.met
    means = {row.metric: row.mean for row in facts.rows}
    moved = {metric: ties for metric, ties in facts.tie_ranges.items() if ties.best - ties.worst > 1e-12}
    if not moved:
        return None
    metric, widest = max(moved.items(), key=lambda pair: pair[1].best - pair[1].worst)
    matters = any(ties.best - ties.worst > 2 * ties.reach for ties in moved.values())
    return (
        "warning" if matters else "info",
        f"{format_count(met.tied_rows, 'row')} of {format_count(met.tied_lists, 'list')} tie with the row above; "
        f"{metric} is "
        f"{means[metric]:.4f} and could be {widest.worst:.4f} to {widest.best:.4f} by the order of tied rows alone; "
        "ties='expected' takes the mean over all orders",
    )


@check("T002", "Many candidates have tied scores", "warning", about=DesignFacts)
def catalogue_ties(facts: DesignFacts) -> str | None:
    """Report if ties decide for 10 % of the relevant items or more whether they are among the first 10 candidates.

    Means are over all orders of ties. A program that uses one order, such as by item number, prints another value.
    """
    unsure = {}
    for name, standings in facts.standings.items():
        above, tied = standings.above[TEST], standings.tied[TEST]
        unsure[name] = (int(((above < TOP) & (above + tied >= TOP)).sum()), max(standings.pairs, 1))
    tied_often = {name: count for name, (count, pairs) in unsure.items() if count >= OFTEN * pairs}
    if not tied_often:
        return None
    name = max(tied_often, key=lambda name: unsure[name][0] / unsure[name][1])
    others = f"; also {', '.join(other for other in tied_often if other != name)}" if len(tied_often) > 1 else ""
    return (
        f"for {format_share(*unsure[name])} relevant items ties decide whether {name} ranks them among the first "
        f"{TOP}, "
        f"because other candidates have the same score{others}"
    )
