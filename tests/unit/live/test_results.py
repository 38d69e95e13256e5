"""Numbers of a watch beside its metrics: weighted clicks, and feedback that joins no exposure."""

import json

import pytest

import recassay as ra
from recassay.live.display import content_of, live_table
from recassay.live.events import read_lines
from recassay.live.results import Watched
from recassay.live.server import exposition
from recassay.live.watch import build_settings
from recassay.live.watcher import Watcher


def arm_of(events, **options):
    return ra.watch(events, "hit@1", **options).to_dict()["arms"]["all"]


def shown(name, propensity, time=100):
    return {"request_id": name, "user_id": name, "items": ["a", "b"], "time": time, "propensity": propensity}


def test_snips_is_over_the_lists_with_one_propensity():
    """IPS (1/0.5 + 0 + 1/0.1) / 3; SNIPS (1/0.5 + 0) / (1/0.5 + 1/0.25), without the list with two propensities."""
    clicks = [{"request_id": "one", "item_id": "a", "time": 101}, {"request_id": "each", "item_id": "b", "time": 101}]
    events = [shown("one", 0.5), shown("none", 0.25), shown("each", [0.5, 0.1]), *clicks]
    arm = arm_of(events)
    assert (arm["ips"], arm["snips"]) == (pytest.approx(4.0), pytest.approx(1 / 3))
    assert "snips" not in arm_of([shown("each", [0.5, 0.1]), clicks[1]])


def test_snips_goes_on_after_a_restart(tmp_path):
    events = [shown("one", 0.5), shown("none", 0.25, 86_400), shown("each", [0.5, 0.1], 2 * 86_400)]
    for n in (1, 2, 3):
        found = ra.watch(events[:n], "hit@1", output=tmp_path, finish=n == 3)
    assert found.to_dict()["arms"]["all"]["snips"] == 0.0
    single = found.watcher.tally.single.select()
    assert (single.counts[0, 1], float(single.total(0, 1))) == (2, 6.0)


UNJOINED = [  # shown at 1,000 and 4,000; a window is 30 minutes, and copies are remembered for an hour
    {"request_id": "first", "item_id": "a", "time": 998},  # before
    {"user_id": "first", "item_id": "b", "time": 999},  # before, by the user
    {"request_id": "first", "item_id": "b", "time": 1001},  # joined
    {"request_id": "first", "item_id": "a", "time": 2801, "kind": "buy"},  # after
    {"request_id": "first", "item_id": "b", "time": 4601, "kind": "buy"},  # too long after
    {"request_id": "last", "item_id": "a", "time": 2199},  # too long before
    {"request_id": "nothing", "item_id": "a", "time": 1001},
    {"user_id": "first", "item_id": "z", "time": 999},
]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_feedback_before_its_exposure_after_its_window_and_without_one_are_counted_apart(size):
    lists = [{"request_id": name, "user_id": name, "items": ["a", "b"], "time": time} for name, time in
             (("first", 1000), ("last", 4000))]  # fmt: skip
    events = sorted([*lists, *UNJOINED], key=lambda event: event["time"])
    watcher = Watcher(build_settings("hit@1", lateness=0))
    for begin in range(0, len(events), size):
        lines = [json.dumps(event).encode() for event in events[begin : begin + size]]
        watcher.take("log", read_lines(lines), 10**16)
        watcher.step(0)
        watcher.commit()
    watcher.finish()
    found = Watched(watcher)
    document = found.to_dict()
    assert document["unjoined"] == {"before exposure": 2, "after window": 1, "no exposure": 4}
    text = "eedback without an open window: before exposure 2, after window 1, no exposure 4"
    assert text in content_of(found, document)
    assert text in "".join(part.plain for part in live_table(found).renderables if hasattr(part, "plain"))
    metrics = exposition(document, {"sources": [], "notify": None})
    assert b'recassay_unjoined_feedback{reason="before exposure"} 2.0' in metrics
    (finding,) = [one for one in found.findings if one.code == "W001"]
    assert finding.detail.endswith("2 came before it, 1 after its window")
