"""V0xx: what changed while a stream ran."""

from __future__ import annotations

from itertools import combinations

from recassay.data.finding import Severity
from recassay.diagnose.base import Watched, check, several
from recassay.drift.base import Alarm


@check("V001", "Results changed while the stream ran", "warning", about=Watched)
def drifted(facts: Watched) -> tuple[Severity, str] | None:
    """A drift detector says that the mean loss of a system on a stream changed: it is a warning if it rose, else info.

    One mean over such a stream is a mean of different things. Warnings of a detector are no finding.
    """
    found = drifts(facts)
    if not found:
        return None
    worse = [alarm for alarm in found if alarm.worse]
    told = worse[0] if worse else found[0]
    detectors = len({alarm.detector for alarm in found})
    who = told.detector if detectors == 1 else f"{detectors} detectors, among them {told.detector},"
    detail = (
        f"{who} raised {several(len(found), 'alarm')} on the loss by {facts.metric} of {facts.scored:,} events, "
        f"{len(worse):,} of a rise; the first {'rise' if worse else 'change'} is told at event {told.event:,}: "
        f"{told.moved} since about event {told.since:,}"
    )
    return ("warning" if worse else "info"), detail


@check("V002", "Detectors of different kinds agree on a change", "warning", about=Watched)
def agreed(facts: Watched) -> str | None:
    """Two different detectors tell of the same change: what one says to have begun, the other has not yet told of.

    A single detector raises false alarms: ADWIN with a chance of about delta, Page-Hinkley with none that is known. Two
    that work differently are rarely wrong together.
    """
    pairs = [
        (one, other)
        for one, other in combinations(drifts(facts), 2)
        if one.detector != other.detector
        and max(one.since, other.since) <= min(one.event, other.event)
        and one.worse == other.worse
    ]
    if not pairs:
        return None
    one, other = pairs[0]
    first = max(one.since, other.since)
    way = "rise" if one.worse else "fall"
    more = f"; {len(pairs) - 1:,} more such" if len(pairs) > 1 else ""
    return (
        f"{one.detector} and {other.detector} tell of a {way} of the loss that began at about event {first:,}, at "
        f"events {one.event:,} and {other.event:,}{more}"
    )


def drifts(facts: Watched) -> list[Alarm]:
    """Alarms that are no mere warnings, in the order of the stream."""
    return sorted((alarm for alarm in facts.alarms if alarm.kind == "drift"), key=lambda alarm: alarm.event)
