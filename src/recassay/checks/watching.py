"""W0xx: problems with the events of a live evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from recassay.checks.base import check, format_count, format_share
from recassay.results.finding import Severity

MUCH_WITHOUT_EXPOSURE, MUCH_LATE, MUCH_REFUSED = 0.05, 0.01, 0.001  # shares that make a warning of an info
MISMATCH = 0.001  # p-value below which an assignment is not what it should be
SILENT, LAG = 900.0, 900.0  # seconds
STANDARD_ERRORS = 4.0
MANY_TO_RELEARN = 100_000  # interactions that make a warning of an info


@check("W001", "Feedback without exposure", "warning", about="live")
def feedback_without_exposure(
    orphans: int, feedback: int = 0, orphans_before_the_exposure: int = 0, orphans_after_the_window: int = 0
) -> tuple[Severity, str]:
    """Report if feedback has no exposure: none with its request id, or none that showed the item within the window.

    Exposures may be logged in part, ids may differ between the two logs, or the window may be too short. Feedback
    before its exposure shows that the clocks of the two logs differ. The severity is warning if all this is more than
    5 % of the feedback, else info.
    """
    early, expired = orphans_before_the_exposure, orphans_after_the_window
    much = orphans > MUCH_WITHOUT_EXPOSURE * feedback
    detail = f"{format_share(orphans, feedback)} feedback events have no exposure"
    if early or expired:
        detail += f" with an open window: {early:,} came before it, {expired:,} after its window"
    return ("warning" if much else "info"), detail


@check("W002", "Shown items that are not in the table of items", "warning", about="live")
def unknown_items(items_unknown: int, items_shown: int = 0) -> str:
    """Report if items were shown that are not in the table of items: metrics of item features leave them out."""
    return f"{format_share(items_unknown, items_shown)} shown items"


@check("W003", "Lists that show an item twice", "warning", about="live")
def repeated_items(repeated_items: int, items_shown: int = 0) -> str:
    """Report if a list shows an item again. The first position counts, and the item is counted once."""
    return f"{format_share(repeated_items, items_shown)} shown items"


@check("W004", "Propensities that do not average to 1", "error", about="live")
def propensities_off(inverse_propensity: Mapping[str, tuple[float, float]]) -> str | None:
    """Report if the propensities of an arm are not those of its assignment; IPS is then biased.

    If a propensity is the probability with which a request went to its arm, the sum of 1 / propensity over the arm's
    exposures, divided by the number of exposures of all arms, is 1 but for chance. Reported is a ratio that differs
    from 1 by more than 4 standard errors.
    """
    off = {
        arm: mean
        for arm, (mean, error) in inverse_propensity.items()
        if error > 0 and abs(mean - 1) > STANDARD_ERRORS * error
    }
    return ", ".join(f"{arm}: {mean:.4f}" for arm, mean in sorted(off.items())) or None


@check("W005", "Events dated in the future", "warning", about="live")
def future_events(reasons: Mapping[str, tuple[int, str]]) -> str | None:
    """Report if events have a time later than the clock of this machine.

    They are excluded, and never move the watermark.
    """
    n, example = reasons.get("future", (0, ""))
    return f"{format_count(n, 'event')}, the first: {example}" if n else None


@check("W006", "An arm has stopped receiving exposures", "warning", about="live")
def silent_arm(silent: Mapping[str, float]) -> str | None:
    """Report if an arm has had no exposure for more than 15 minutes of event time, while others have."""
    stopped = {arm: seconds for arm, seconds in silent.items() if seconds > SILENT}
    if not stopped or len(stopped) == len(silent):
        return None
    return ", ".join(f"{arm} for {seconds / 60:,.0f} minutes" for arm, seconds in sorted(stopped.items()))


@check("W007", "Units are not split between arms as stated", "error", about="live")
def ratio_mismatch(assigned: Mapping[str, int], mismatch: float) -> str | None:
    """Report if the numbers of units by arm contradict the stated shares: a sample ratio mismatch.

    The p-value is valid at any time, however often you look. With a broken assignment the arms have different kinds of
    users, so their differences mean nothing until the cause is found. Units are users, or exposures, as the evaluation
    assigns them to arms.
    """
    if mismatch > MISMATCH:
        return None
    counts = ", ".join(f"{arm} {n:,}" for arm, n in sorted(assigned.items()))
    return f"{counts}; p = {mismatch:.2g}"


@check("W008", "Late events", "warning", about="live")
def late_events(bins: Mapping[str, int]) -> tuple[Severity, str] | None:
    """Report if events came after the watermark had passed them, so that no result counts them.

    They are in dead-letters.jsonl. The severity is warning if they are more than 1 % of the received events, else info.
    """
    late, received = bins.get("late", 0), bins.get("received", 0)
    severity: Severity = "warning" if late > MUCH_LATE * received else "info"
    return (severity, f"{format_share(late, received)} events") if late else None


@check("W009", "Malformed events", "warning", about="live")
def malformed_events(reasons: Mapping[str, tuple[int, str]], bins: Mapping[str, int]) -> tuple[Severity, str] | None:
    """Report if rows are not events. Each is in dead-letters.jsonl with its reason.

    The severity is warning if they are more than 0.1 % of the received rows, else info.
    """
    refused = {name: entry for name, entry in reasons.items() if name not in ("late", "future")}
    total = sum(n for n, _ in refused.values())
    if not total:
        return None
    name, (n, example) = max(refused.items(), key=lambda one: (one[1][0], one[0]))
    severity: Severity = "warning" if total > MUCH_REFUSED * bins.get("received", 0) else "info"
    return severity, f"{format_count(total, 'event')}; most often {name} ({n:,}), the first: {example}"


@check("W010", "Users in several arms", "warning", about="live")
def users_in_several_arms(exposures_of_users_in_another_arm: int, closed: int = 0) -> str:
    """Report if users were shown lists of another arm than that of their first exposure. The bounds leave these out."""
    return f"{format_share(exposures_of_users_in_another_arm, closed)} exposures"


@check("W011", "The results of an arm changed", "warning", about="live")
def arm_changed(alarms: Sequence[tuple[int, str, str, int, float, float]]) -> tuple[Severity, str]:
    """Report if a drift detector found that the mean loss of an arm changed.

    The severity is warning if the loss rose, else info. The detector reads the means of periods, so changes in the
    course of a day count, too.
    """
    worse = [alarm for alarm in alarms if alarm[5] > alarm[4]]
    time, arm, metric, since, before, after = (worse or list(alarms))[-1]
    detail = (
        f"{format_count(len(alarms), 'alarm')}, {len(worse):,} of a rise of the loss; the last: {arm}, {metric}, "
        f"{before:.4f} to {after:.4f} since {_moment(since)}, detected at {_moment(time)}"
    )
    return ("warning" if worse else "info"), detail


@check("W012", "Feedback on items that were not in the list", "info", about="live")
def feedback_not_shown(feedback_on_items_not_shown: int) -> str:
    """Report if feedback names a request whose list does not hold the item.

    It counts as relevant and not recommended.
    """
    return format_count(feedback_on_items_not_shown, "event")


@check("W013", "Results lag behind", "warning", about="live")
def lagging(lag: float) -> str | None:
    """Report if the newest event is more than 15 minutes older than this machine's clock, beyond the lateness."""
    return f"the newest event is {lag / 60:,.0f} minutes old" if lag > LAG else None


@check("W014", "Dead letters counted but not kept", "warning", about="live")
def letters_dropped(letters_dropped: int) -> str:
    """Report if the file of dead letters has reached its largest size: later ones are counted but not kept."""
    return format_count(letters_dropped, "event")


@check("W015", "Attached models learn everything again after a restart", "warning", about="live")
def unstored_models(unstored: tuple[int, str]) -> tuple[Severity, str] | None:
    """Report if an attached model cannot be stored: after a restart, all models learn all interactions so far again.

    This takes longer the longer the evaluation runs. Results do not change. A class of your own is stored if it has
    ``state()`` and ``load_state(state)``. The severity is warning for more than 100,000 interactions, else info.
    """
    n, why = unstored
    severity: Severity = "warning" if n > MANY_TO_RELEARN else "info"
    return (severity, f"{format_count(n, 'interaction')} so far: {why}") if why else None


@check("W016", "A rule that nothing can decide", "warning", about="live")
def undecidable_rule(undecidable: Mapping[str, str]) -> str:
    """Report if a rule, or ``control``, names an arm of which no exposure has come, or a rule a metric without limits.

    Such a rule never fires. An arm is missing if the events have ended, or once its share of the units would be ten.
    """
    return "; ".join(f"{name}: {why}" for name, why in undecidable.items())


def _moment(time: int) -> str:
    return datetime.fromtimestamp(time / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")
