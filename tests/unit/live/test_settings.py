"""Settings of a live evaluation that are refused."""

import math

import pytest

import recassay as ra
from recassay.live.clock import LONGEST, microseconds
from recassay.live.watch import build_settings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"segments": ["place", "place"]}, "segments must name each field once"),
        ({"segments": ["items"]}, "segments must be fields of one value"),
        ({"gains": {"click": math.nan}}, "gains must be numbers of at least 0"),
        ({"gains": {"click": -1.0}}, "gains must be numbers of at least 0"),
        ({"limits": {"hit@1": (1, 0)}}, "limits must have the lower number first"),
        ({"user_window": "99999999d"}, "user_window must be at most 10000d"),
        ({"window": 10**30}, "window must be at most 10000d"),
        ({"window": "9" * 400 + "d"}, "window must be at most 10000d"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, words):
    with pytest.raises(ra.UsageError, match=rf"U107.*{words}"):
        build_settings("hit@1", **given)


def test_the_longest_durations_are_computed_with():
    assert microseconds("10000d") == LONGEST
    longest = dict.fromkeys(("window", "lateness", "idle", "ahead", "remember", "user_window", "forget"), "10000d")
    events = [
        {"request_id": str(number), "user_id": "u", "items": ["a"], "time": time}
        for number, time in enumerate([0, 1_700_000_000, "9000-12-31"])
    ]
    assert ra.watch(events, "hit@1", **longest).watcher.bins()["judged"] == 2  # the last one lies in the future


def test_a_segment_may_have_any_name():
    shown = {"request_id": "r", "user_id": "u", "items": ["a"], "time": 1, "_items": "x", "number": 7, "arm": "new"}
    found = ra.watch([shown], "hit@1", segments=["_items", "number", "arm", "time"])
    assert sorted(found.to_dict()["segments"]) == ["_items=x", "arm=new", "number=7", "time=1"]
