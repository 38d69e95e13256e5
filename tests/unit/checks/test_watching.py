"""Checks of live events: each fires on what it is for, and none on sound events."""

import pytest

from recassay.checks import diagnose

SOUND = {
    "bins": {"received": 10_000, "late": 0},
    "feedback": 1_000,
    "items_shown": 50_000,
    "closed": 5_000,
    "assigned": {"old": 2_500, "new": 2_500},
    "inverse_propensity": {"old": (1.001, 0.001)},
    "silent": {"old": 1.0, "new": 2.0},
    "lag": 5.0,
}


FIRES = {
    "W001": (dict(SOUND, orphans=60), "warning", "60 of 1,000"),
    "W002": (dict(SOUND, items_unknown=5), "warning", "5 of 50,000"),
    "W003": (dict(SOUND, repeated_items=7), "warning", "7 of 50,000"),
    "W004": (dict(SOUND, inverse_propensity={"old": (1.2, 0.01)}), "error", "old: 1.2000"),
    "W005": (dict(SOUND, reasons={"future": (3, "line 8")}), "warning", "3 events, the first: line 8"),
    "W006": (dict(SOUND, silent={"old": 3_600.0, "new": 2.0}), "warning", "old for 60 minutes"),
    "W007": (dict(SOUND, mismatch=1e-5), "error", "new 2,500, old 2,500; p = 1e-05"),
    "W008": (dict(SOUND, bins={"received": 10_000, "late": 20}), "info", "20 of 10,000"),
    "W009": (dict(SOUND, reasons={"no items": (4, "line 2")}), "info", "most often no items (4), the first: line 2"),
    "W010": (dict(SOUND, exposures_of_users_in_another_arm=9), "warning", "9 of 5,000"),
    "W011": (dict(SOUND, alarms=((10**12, "new", "hit@10", 0, 0.2, 0.4),)), "warning", "1 of a rise of the loss"),
    "W012": (dict(SOUND, feedback_on_items_not_shown=2), "info", "2 events"),
    "W013": (dict(SOUND, lag=3_600.0), "warning", "60 minutes old"),
    "W014": (dict(SOUND, letters_dropped=11), "warning", "11 events"),
    "W015": (dict(SOUND, unstored=(40, "no state()")), "info", "40 interactions so far: no state()"),
    "W016": (dict(SOUND, undecidable={"hit@1: nwe > old": "no nwe"}), "warning", "hit@1: nwe > old: no nwe"),
}  # fmt: skip


def test_sound_events_have_no_finding():
    assert diagnose("live", **SOUND) == ()


@pytest.mark.parametrize("code", FIRES)
def test_a_check_fires_on_what_it_is_for_alone(code):
    facts, severity, words = FIRES[code]
    (found,) = diagnose("live", **facts)
    assert (found.code, found.severity) == (code, severity)
    assert words in found.detail
