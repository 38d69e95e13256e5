"""V0xx: changes of the loss of a system while a stream ran."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from recassay.checks.base import DriftFacts, check, format_count
from recassay.results.finding import Severity

if TYPE_CHECKING:
    from recassay.drift.base import Alarm


@check("V001", "Results changed while the stream ran", "warning", about=DriftFacts)
def drifted(facts: DriftFacts) -> tuple[Severity, str] | None:
    """Report if a drift detector found that the mean loss of a system on a stream changed.

    The severity is warning if the loss rose, else info. One mean over such a stream mixes different periods. Mere
    warnings of a detector are not reported.
    """
    found = drifts(facts)
    if not found:
        return None
    worse = [alarm for alarm in found if alarm.worse]
    shown = worse[0] if worse else found[0]
    detectors = len({alarm.detector for alarm in found})
    who = shown.detector if detectors == 1 else f"{detectors} detectors, among them {shown.detector},"
    detail = (
        f"{who} raised {format_count(len(found), 'alarm')} on the loss by {facts.metric} of {facts.scored:,} events, "
        f"{len(worse):,} of a rise; the first {'rise' if worse else 'change'} was detected at event {shown.event:,}: "
        f"{shown.change} since about event {shown.since:,}"
    )
    return ("warning" if worse else "info"), detail


@check("V002", "Detectors of different kinds agree on a change", "warning", about=DriftFacts)
def agreed(facts: DriftFacts) -> str | None:
    """Report if two different detectors found the same change: each dates its beginning before the alarm of the other.

    A single detector raises false alarms: ADWIN with a probability of about delta, Page-Hinkley with an unknown one.
    Two detectors that work differently are rarely wrong together.
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
    first, second = pairs[0]
    since = max(first.since, second.since)
    way = "rise" if first.worse else "fall"
    more = f"; {len(pairs) - 1:,} more such" if len(pairs) > 1 else ""
    return (
        f"{first.detector} and {second.detector} detected a {way} of the loss that began at about event {since:,}, at "
        f"events {first.event:,} and {second.event:,}{more}"
    )


def drifts(facts: DriftFacts) -> list[Alarm]:
    """Return the alarms of drift, without mere warnings of a detector, in the order of the stream."""
    return sorted((alarm for alarm in facts.alarms if alarm.kind == "drift"), key=lambda alarm: alarm.event)
