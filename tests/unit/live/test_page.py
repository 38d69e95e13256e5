"""What the page and the table of a live evaluation say."""

import io

import pytest
from rich.console import Console

import recassay as ra
from recassay.live.display import closing, content_of, exhibits, live_table, moment, verdict

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


def both(new, old, **options):
    """The results of exposures of two arms, a user each; the first ``new`` and ``old`` of 40 have a click."""
    events = []
    for arm, hits in (("new", new), ("old", old)):
        lists = shown(range(1, 41), arm)
        events += lists + [
            {"request_id": one["request_id"], "item_id": "a", "time": one["time"] + 1} for one in lists[:hits]
        ]
    return ra.watch(
        sorted(events, key=lambda event: event["time"]), "hit@1", **{**OPTIONS, "unit": "exposure", **options}
    )


def printed(found):
    console = Console(width=200, file=io.StringIO())
    console.print(live_table(found))
    return console.file.getvalue()


def test_both_differences_and_the_bound_of_a_rule_are_shown_in_table_page_and_document():
    found = both(30, 20, until="hit@1: new > old")
    document = found.to_dict()
    [row], [rule] = document["comparisons"], document["rules"]
    assert row["difference"] == 0.25
    assert rule["difference"] == row["difference"]
    assert rule["low"] > row["low"]  # one side at the whole level
    for text in (printed(found), content_of(found, document)):
        for value in (row["difference"], row["adjusted"], row["low"], rule["low"]):
            assert f"{value:.4f}" in text
    assert "adjusted" in printed(found)
    assert "At least" not in printed(found)


def test_a_decision_is_shown_with_the_bound_of_its_rule_then_and_now():
    found = both(40, 0, until="hit@1: new > old")
    document = found.to_dict()
    [rule] = document["rules"]
    then = rule["decided"]
    assert then["n"] < rule["units"] == 80
    before, now = (
        f"a difference of 1.0000 (adjusted {one['adjusted']:.4f}), at least {one['low']:.4f}." for one in (then, rule)
    )
    when = f"at {moment(then['time'])} after {then['n']} exposures"
    assert verdict(document) == f"Decided: hit@1: new > old, {when}: {before} Now, after 80 exposures: {now}"
    assert rule["low"] > then["low"] > 0


def test_the_control_arm_comes_second():
    [row] = both(30, 20, control="new").to_dict()["comparisons"]
    assert (row["a"], row["b"], row["difference"]) == ("old", "new", -0.25)


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({"until": "hit@1: new > old"}, None),
        ({"until": "hit@1: nwe > old"}, "hit@1: nwe > old: no exposure of nwe has come (arms: new, old)"),
        (
            {"until": "hit@1: nwe > old", "finish": False},
            "hit@1: nwe > old: no exposure of nwe has come (arms: new, old)",
        ),
        ({"until": "hit@1: nwe > old", "finish": False, "shares": {"nwe": 0.01}}, None),  # it may still come
        ({"control": "older"}, "--control older: no exposure of older has come (arms: new, old)"),
        ({"until": "dcg@1: new > old"}, "dcg@1: new > old: dcg@1 has no limits"),
        ({"until": "dcg@1: new > old", "limits": {"dcg@1": (0, 1)}}, None),
    ],
)
def test_a_rule_that_nothing_can_decide_is_a_finding(options, detail):
    found = [finding.detail for finding in both(30, 20, **options).findings if finding.code == "W016"]
    assert found == ([] if detail is None else [detail])


def test_a_rule_about_models_is_a_finding():
    event = {"event": "interaction", "user_id": "u", "item_id": "a", "time": 1, "arm": "als", "items": ["a"]}
    events = [{**event, "time": time} for time in (1, 9000)]
    found = ra.watch(events, "hit@1", until="hit@1: als > pop", finish=False, **OPTIONS)
    assert [finding.code for finding in found.findings] == ["W016"]
