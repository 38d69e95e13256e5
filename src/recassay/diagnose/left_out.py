"""C014 to C016: events that a rule leaves out, so many that the mean is one of something else."""

from __future__ import annotations

from recassay.data.finding import Severity
from recassay.diagnose.base import Removed, Streamed, check, share

MOST = 1 / 10  # of what could have counted
MOST_FIRST = 1 / 2  # of the events after the warm-up: some must be the first of their user


@check("C014", "Many events of a stream were left out of the mean", "warning", about=Streamed)
def left_out(facts: Streamed) -> str | None:
    """More than a tenth of the events of known users were not scored: repeats, or events without a prediction.

    With ``repeats="exclude"`` an event is not scored if its user had the item before. Where users come back to what
    they know, this asks about the rest only: which system is best at it may be another one than with
    ``repeats="allow"``. Events for which a system predicts no rating are left out for this system alone.
    """
    counts = facts.counts
    known = sum(counts.get(why, 0) for why in ("scored", "repeats", "unpredicted"))
    parts = []
    if counts.get("repeats", 0) > MOST * known:
        parts.append(
            f"{share(counts['repeats'], known)} events of known users were not scored, as the user had had the item "
            "(repeats='exclude'); the order of systems may be another one with repeats='allow'"
        )
    if counts.get("unpredicted", 0) > MOST * known:
        parts.append(
            f"{share(counts['unpredicted'], known)} events of known users have no prediction of this system, and are "
            "in the means of others"
        )
    return "; ".join(parts) or None


@check("C015", "Most events of a stream are the first of their user", "info", about=Streamed)
def mostly_first(facts: Streamed) -> tuple[Severity, str] | None:
    """More than half of the events after the warm-up are the first of their user, about whom nothing is known yet.

    They are not scored. The mean is over users who come back, which may be few of all.
    """
    counts = facts.counts
    first, asked = counts.get("first", 0), sum(counts.get(why, 0) for why in ("scored", "repeats", "unpredicted"))
    if first <= MOST_FIRST * (first + asked):
        return None
    return "info", f"{share(first, first + asked)} events are the first of their user, and were not scored"


@check("C016", "Filters or a split leave out many rows", "info", about=Removed)
def removed(facts: Removed) -> str | None:
    """More than a tenth of the rows of a log are in no part of a study: filters or the split left them out.

    That is what they are for. The results are about the users and items that are left.
    """
    parts = []
    for who, (whole, reasons) in facts.by.items():
        gone = sum(reasons.values())
        if gone > MOST * whole:
            why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items() if count)
            parts.append(f"{who} left out {share(gone, whole)} rows ({why})")
    return "; ".join(parts) or None
