"""What the page and the table of a live evaluation say."""

import pytest

import recassay as ra
from recassay.live.page import content_of, exhibits
from recassay.live.table import closing

OPTIONS = {"lateness": "10m", "idle": "1000d", "ahead": "1000d", "user_window": "1h"}


def shown(hours, arm):
    return [
        {"request_id": f"{arm}{hour}", "user_id": f"u{arm}{hour}", "items": ["a"], "time": 3600 * hour, "arm": arm}
        for hour in hours
    ]


def test_hours_without_exposures_of_an_arm_are_shaded_in_its_curve():
    found = ra.watch([shown(range(1, 9), "old"), shown([3, 4, 7, 8], "new")], "hit@1", **OPTIONS)
    (curve, _) = exhibits(found, found.to_dict())
    rows = curve.table.filter(arm="old").select("hour", "band").rows()
    assert curve.band == "band"
    assert [hour for hour, band in rows if band == "no exposures: new"] == [4, 5]  # after its first, hour 3
    assert "no exposures: new" in content_of(found, found.to_dict())
    (whole, _) = exhibits(again := ra.watch(shown(range(1, 9), "old"), "hit@1", **OPTIONS), again.to_dict())
    assert whole.band is None


def test_tables_that_go_on_later_are_judged_as_far_as_their_events_allow():
    found = ra.watch(shown(range(9), "old"), "hit@1", finish=False, **OPTIONS)
    assert found.watcher.bins()["judged"] == 8  # the windows of all but the newest exposure have ended
    assert closing(found.to_dict()) == "closed up to 1970-01-01 07:50:00 UTC"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"finished": True, "watermark": None}, "all windows are closed"),
        ({"finished": False, "watermark": None}, "no window is closed yet"),
        ({"finished": False, "watermark": 60_000_000}, "closed up to 1970-01-01 00:01:00 UTC"),
    ],
)
def test_what_is_closed_is_said_in_words(document, text):
    assert closing(document) == text


def test_the_page_of_a_finished_watch_has_no_lag():
    found = ra.watch(shown(range(3), "old"), "hit@1", **OPTIONS)
    assert "3 events received. All windows are closed." in content_of(found, {**found.to_dict(), "lag": 5.0})
    document = {**found.to_dict(), "lag": 5.0, "finished": False, "watermark": 60_000_000}
    assert "Closed up to 1970-01-01 00:01:00 UTC, 5 s behind." in content_of(found, document)
