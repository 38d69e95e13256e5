"""C014 to C016: so many events are excluded that the mean may be about something else."""

from __future__ import annotations

from recassay.checks.base import RemovedRowsFacts, StreamFacts, check, format_share
from recassay.results.finding import Severity

MOST = 1 / 10  # share of the rows that could have been used
MOST_FIRST = 1 / 2  # share of the events after the warm-up; some are always the first of their user


@check("C014", "Many events of a stream were not scored", "warning", about=StreamFacts)
def left_out(facts: StreamFacts) -> str | None:
    """Report if more than a tenth of the events of known users are repeats or lack a prediction, and are not scored.

    With ``repeats="exclude"`` an event is not scored if its user had the item before. If users often return to items,
    only the remaining events are scored, and the best system may differ from that with ``repeats="allow"``. Events for
    which a system predicts no rating are excluded for this system only.
    """
    counts = facts.counts
    known = sum(counts.get(why, 0) for why in ("scored", "repeats", "unpredicted"))
    parts = []
    if counts.get("repeats", 0) > MOST * known:
        parts.append(
            f"{format_share(counts['repeats'], known)} events of known users were not scored, because the user "
            "had already consumed the item (repeats='exclude'); the order of systems may differ with repeats='allow'"
        )
    if counts.get("unpredicted", 0) > MOST * known:
        parts.append(
            f"{format_share(counts['unpredicted'], known)} events of known users have no prediction by this system, "
            "but were scored for others"
        )
    return "; ".join(parts) or None


@check("C015", "Most events of a stream are the first of their user", "info", about=StreamFacts)
def mostly_first(facts: StreamFacts) -> tuple[Severity, str] | None:
    """Report if more than half of the events after the warm-up are the first of their user, and are not scored.

    The mean is over returning users only, which may be a small share of all users. The severity is always info.
    """
    counts = facts.counts
    first, known = counts.get("first", 0), sum(counts.get(why, 0) for why in ("scored", "repeats", "unpredicted"))
    if first <= MOST_FIRST * (first + known):
        return None
    return "info", f"{format_share(first, first + known)} events are the first of their user, and were not scored"


@check("C016", "Filters or a split remove many rows", "info", about=RemovedRowsFacts)
def removed(facts: RemovedRowsFacts) -> str | None:
    """Report if filters or the split removed more than a tenth of the rows of a log.

    This is their purpose, but the results are about the remaining users and items only.
    """
    parts = []
    for who, (whole, reasons) in facts.by.items():
        gone = sum(reasons.values())
        if gone > MOST * whole:
            why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items() if count)
            parts.append(f"{who} removed {format_share(gone, whole)} rows ({why})")
    return "; ".join(parts) or None
