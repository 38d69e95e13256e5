"""Numbers of a watch beside its metrics: weighted clicks, and feedback that joins no exposure."""

import pytest

import recassay as ra


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
