"""C014, C015, V0xx and G0xx: unscored events of a stream, changes of its loss, and what sequences lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from recassay.checks.base import check, diagnose, format_count, format_id, format_share
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold
from recassay.results.finding import Finding, Severity
from recassay.results.outcomes import Outcomes, Played, outcomes_of

if TYPE_CHECKING:
    from recassay.drift.base import Alarm, Detector

MOST = 1 / 10  # share of the rows that could have been used
MOST_FIRST = 1 / 2  # share of the events after the warm-up; some are always the first of their user


def unscored_findings(outcomes: Outcomes | Played) -> tuple[Finding, ...]:
    """Return findings about the events of a stream that were not scored for a system."""
    scored = outcomes_of(outcomes)
    return diagnose("stream", system=scored.system, counts=scored.counts)


def drift_findings(
    outcomes: Outcomes | Played, metric: str, detectors: Detector | Iterable[Detector]
) -> tuple[Finding, ...]:
    """Return findings about the alarms that detectors raise over the losses of a system under a metric on a stream."""
    from recassay.drift import alarms  # late: only streams have detectors, and these have kernels of their own

    scored = outcomes_of(outcomes)
    raised = alarms(scored, metric, detectors)
    return diagnose("drift", system=scored.system, metric=metric, scored=len(scored), alarms=raised)


@check("C014", "Many events of a stream were not scored", "warning", about="stream")
def left_out(counts: Mapping[str, int]) -> str | None:
    """Return a warning if more than a tenth of the events of known users are not scored.

    These are repeats, or lack a prediction. With ``repeats="exclude"`` an event is not scored if its user had the item
    before. If users often return to items, only the remaining events are scored, and the best system may differ from
    that with ``repeats="allow"``. Events for which a system predicts no rating are excluded for this system only.
    """
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


@check("C015", "Most events of a stream are the first of their user", "info", about="stream")
def mostly_first(counts: Mapping[str, int]) -> tuple[Severity, str] | None:
    """Return a warning if more than half of the events after the warm-up are the first of their user.

    They are not scored. The mean is over returning users only, which may be a small share of all users. The severity is
    always info.
    """
    first, known = counts.get("first", 0), sum(counts.get(why, 0) for why in ("scored", "repeats", "unpredicted"))
    if first <= MOST_FIRST * (first + known):
        return None
    return "info", f"{format_share(first, first + known)} events are the first of their user, and were not scored"


@check("V001", "Results changed while the stream ran", "warning", about="drift")
def drifted(alarms: Iterable[Alarm], metric: str, scored: int) -> tuple[Severity, str] | None:
    """Return a warning if a drift detector found that the mean loss of a system on a stream changed.

    The severity is warning if the loss rose, else info. One mean over such a stream mixes different periods. Mere
    warnings of a detector are not reported.
    """
    changes = drifts(alarms)
    if not changes:
        return None
    worse = [alarm for alarm in changes if alarm.worse]
    shown = worse[0] if worse else changes[0]
    detectors = len({alarm.detector for alarm in changes})
    who = shown.detector if detectors == 1 else f"{detectors} detectors, among them {shown.detector},"
    detail = (
        f"{who} raised {format_count(len(changes), 'alarm')} on the loss by {metric} of {scored:,} events, "
        f"{len(worse):,} of a rise; the first {'rise' if worse else 'change'} was detected at event {shown.event:,}: "
        f"{shown.change} since about event {shown.since:,}"
    )
    return ("warning" if worse else "info"), detail


@check("V002", "Detectors of different kinds agree on a change", "warning", about="drift")
def agreed(alarms: Iterable[Alarm]) -> str | None:
    """Return a warning if two different detectors found the same change of the mean loss.

    Each of them dates the beginning of the change before the alarm of the other. A single detector raises false alarms:
    ADWIN with a probability of about delta, Page-Hinkley with an unknown one. Two detectors that work differently are
    rarely wrong together.
    """
    pairs = [
        (one, other)
        for one, other in combinations(drifts(alarms), 2)
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


def drifts(alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return the alarms of drift, without mere warnings of a detector, in the order of the stream."""
    return sorted((alarm for alarm in alarms if alarm.kind == "drift"), key=lambda alarm: alarm.event)


@check("G001", "Test items that never occur in training", "info", about="sequence fold")
def never_trained(fold: SequenceFold) -> str | None:
    """Return a warning if test sequences contain, after the first event, items that occur in no training sequence.

    They are scored like all items. A model that gives them probability 0 has infinite perplexity. ``seq_diversity`` and
    ``seq_novelty`` measure what they contribute to diversity and novelty.
    """
    expected = fold.test.references.items
    unseen = fold.counts[expected] == 0
    if not unseen.any():
        return None
    first = fold.test.item_vocabulary.decode(expected[[int(np.argmax(unseen))]])[0]
    return (
        f"{format_share(int(np.count_nonzero(unseen)), unseen.size)} events after the first of a test sequence are of "
        f"items that are in no training sequence, such as {format_id(first)}"
    )


@check("G002", "Pairs of items without a given similarity", "info", about="similarities")
def unlisted_pairs(given: int, pairs: int) -> str | tuple[Severity, str] | None:
    """Return a warning if recommended sequences hold pairs of items without a given similarity, which counts as 0.

    Two such items count as entirely different. With few given similarities ``seq_diversity`` mostly shows how few were
    given. The severity is warning if less than half of the ``pairs`` have one, else info.
    """
    if given == pairs:
        return None
    text = (
        f"{format_share(given, pairs)} pairs of items that occur together in a recommended sequence have a "
        "given similarity; all other pairs count as entirely different"
    )
    return ("warning", text) if 2 * given < pairs else text


@check("G003", "Test sequences without a generated item", "warning", about="generated sequences")
def empty_sequences(generated: Generated) -> str | None:
    """Return a warning if a system generated nothing for some test sequences.

    Its file may be cut off, or it skipped some first items. Such a sequence hits nothing, so it lowers precision.
    Metrics that are undefined without items leave it out.
    """
    empty = generated.lengths == 0
    if not empty.any():
        return None
    share = format_share(int(np.count_nonzero(empty)), empty.size)
    return f"'{generated.name}' has no item for {share} test sequences, such as number {int(np.argmax(empty))} (from 0)"
