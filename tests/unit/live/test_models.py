"""Models judged on the same interactions, against loops over the events."""

import json
import math
import random

import numpy as np
import pytest

import recassay as ra
from recassay.comparison.over_time.windows import signed_mcnemar, windows
from recassay.live.clock import HOUR
from recassay.live.display import content_of, live_table
from recassay.stats.anytime import anytime_bounds

METRICS = ("hit@3", "mrr@3")
OPTIONS = {"lateness": "10m", "idle": "1000d", "ahead": "1000d"}


def interactions(n, seed):
    """Interactions of users with the lists of two models, and some of the second model only."""
    draw, events, now = random.Random(seed), [], 1_700_000_000
    for number in range(n):
        now += draw.choice([1, 30, 600])
        item, user = f"i{draw.randrange(12)}", f"u{draw.randrange(9)}"
        taken = {"event": "interaction", "user_id": user, "item_id": item, "time": now}
        for model, size in (("als", 9), ("pop", 6)):
            pool = [f"i{at}" for at in range(12) if at < size or draw.random() < 0.2]
            if model == "pop" or number % 10:
                events.append({**taken, "arm": model, "items": draw.sample(pool, 4)})
        if draw.random() < 0.05:
            events.append(dict(events[-1]))
    return events


def of_loops(events):
    """Values of each model by interaction, in order of time, each event once."""
    found = {}
    for event in events:
        ranks = [rank for rank, item in enumerate(event["items"][:3], 1) if item == event["item_id"]]
        key = (event["time"], event["user_id"], event["item_id"])
        found.setdefault(key, {})[event["arm"]] = {"hit@3": float(bool(ranks)), "mrr@3": 1 / ranks[0] if ranks else 0.0}
    return dict(sorted(found.items()))


def test_means_pairs_and_bounds_are_those_of_loops():
    events = interactions(400, seed=1)
    wanted = of_loops(events)
    found = ra.watch(events, METRICS, **OPTIONS)
    document = found.to_dict()["models"]
    copies = len(events) - sum(map(len, wanted.values()))
    assert found.watcher.bins() == {"received": len(events), "judged": len(events) - copies, "pending": 0,
                                    "duplicate": copies, "late": 0, "malformed": 0}  # fmt: skip
    assert copies > 5
    for model in ("als", "pop"):
        own = [one[model]["mrr@3"] for one in wanted.values() if model in one]
        assert document["means"][model]["mrr@3"] == {"mean": pytest.approx(math.fsum(own) / len(own)), "n": len(own)}
    both = [(one["als"], one["pop"]) for one in wanted.values() if len(one) == 2]
    for row in document["comparisons"]:
        a, b = (np.array([one[at][row["metric"]] for one in both]) for at in (0, 1))
        assert (row["a"], row["b"], row["n"]) == ("als", "pop", len(both))
        assert (row["only_a"], row["only_b"]) == ((a > b).sum(), (b > a).sum())
        behind = windows(window=len(both), scored=len(both), events=len(both)).over(np.arange(len(both)))
        assert row["signed"] == signed_mcnemar(a, b, behind).signed[-1]
        bounds = anytime_bounds(a - b)
        for name, one in (("difference", bounds.mean), ("low", bounds.low), ("high", bounds.high)):
            assert row[name] == pytest.approx(one[-1])


def test_hours_have_their_own_counts():
    events = interactions(300, seed=2)
    found = ra.watch(events, "hit@3", **OPTIONS)
    rows = found.to_dict()["models"]["over_time"]
    both = {key: one for key, one in of_loops(events).items() if len(one) == 2}
    hours = sorted({key[0] * 1_000_000 // HOUR * HOUR for key in both})
    assert [row["begin"] for row in rows] == hours
    assert sum(row["n"] for row in rows) == len(both)
    for row in rows:
        own = [one for key, one in both.items() if row["begin"] <= key[0] * 1_000_000 < row["begin"] + HOUR]
        assert row["only_a"] == sum(one["als"]["hit@3"] > one["pop"]["hit@3"] for one in own)
        assert row["better"] in (0, np.sign(row["signed"]))


def test_bits_do_not_depend_on_order_batches_and_interruptions(tmp_path):
    events = interactions(120, seed=3)
    shown = [
        {"request_id": str(n), "user_id": f"u{n}", "items": ["i1"], "time": 1_700_000_000 + 50 * n} for n in range(60)
    ]
    mixed = sorted(events + shown, key=lambda event: event["time"])
    whole = ra.watch(mixed, METRICS, **OPTIONS)
    random.Random(1).shuffle(events)
    parts = [shown, sorted(events[::2], key=lambda one: one["time"]), sorted(events[1::2], key=lambda one: one["time"])]
    assert ra.watch(parts, METRICS, **OPTIONS).to_dict()["models"] == whole.to_dict()["models"]
    path = tmp_path / "events.jsonl"
    for begin in range(0, len(mixed), 40):  # a watch that is started again and again
        with path.open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in mixed[begin : begin + 40])
        last = begin + 40 >= len(mixed)
        again = ra.watch(str(path), METRICS, output=tmp_path / "state", finish=last, **OPTIONS)
    assert again.to_dict()["models"] == whole.to_dict()["models"]
    assert again.watcher.bins() == whole.watcher.bins()
    assert again.summary().equals(whole.summary())


def test_page_and_terminal_show_the_models():
    found = ra.watch(interactions(200, seed=4), "hit@3", **OPTIONS)
    page = content_of(found, found.to_dict())
    assert all(text in page for text in ("Models on interactions", "als − pop", "Who is ahead in hit@3", "<svg"))
    tables = live_table(found).renderables
    assert any("models" in [column.heading for column in one.table.columns] for one in tables if hasattr(one, "table"))


def test_a_value_outside_the_stated_limits_is_refused():
    with pytest.raises(ra.InputError, match="I384"):
        ra.watch(interactions(20, seed=5), "mrr@3", limits={"mrr@3": (0.0, 0.1)}, **OPTIONS)
