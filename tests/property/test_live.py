"""Live evaluation against dicts and loops over one ordered list, and its bits against batches, partitions and kills."""

import json
import math
import os
import random
import shutil
from collections import Counter, defaultdict
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.live.clock import HOUR, MINUTE
from recassay.live.events import read_lines
from recassay.live.settings import WatchSettings
from recassay.live.sources import table_source
from recassay.live.watch import Loop
from recassay.live.watcher import Watcher

LONG = bool(os.environ.get("RECASSAY_LONG"))  # make test-all
SETTINGS = WatchSettings(
    metrics=("ndcg@5", "hit@5", "mrr@5", "precision@5", "recall@5"), window=30 * MINUTE, lateness=10 * MINUTE,
    remember=HOUR, every=MINUTE, user_window=HOUR, idle=1 << 60, ahead=1 << 60, segments=("arm",),
)  # fmt: skip

RETURNING = replace(SETTINGS, forget=3 * HOUR)
PAUSES = (0, 60, 1_000, 4_000, 12_000)  # seconds: users come back as new units


def micro(event):
    return round(event["time"] * 1_000_000)


def identity(event):
    if "items" in event:
        return ("exposure", event["request_id"])
    kind = event.get("kind", "click")
    if "request_id" in event:
        return ("feedback", event["request_id"], event["item_id"], kind)
    return ("feedback", event["user_id"], event["item_id"], kind, micro(event))


def by_time(event):
    """Exposures before feedback at one time, then by content."""
    texts = [event.get(name) for name in ("request_id", "user_id", "item_id")]
    rest = (event.get("kind", "click"), event.get("arm", "all"), "\x1f".join(event.get("items", [])))
    return (micro(event), "items" not in event, *((one is not None, one or "") for one in texts), *rest)


def replay(events):
    """Every exposure with its feedback, in order, and counts."""
    counts, kept_at, exposures, lone = Counter(received=len(events)), {}, [], []
    for event in sorted(events, key=by_time):
        name = identity(event)
        if name in kept_at and micro(event) - kept_at[name] <= SETTINGS.remember:
            counts["duplicate"] += 1
            continue
        kept_at[name] = micro(event)
        if "items" in event:
            exposures.append((event, []))
            came = [one for one in lone if 0 < micro(event) - micro(one) <= SETTINGS.window and belongs(one, event)]
            counts["orphans before the exposure"] += len(came)
            lone = [one for one in lone if one not in came]
            continue
        own = [one for one in exposures if belongs(event, one[0])]
        if own and micro(event) - micro(own[-1][0]) <= SETTINGS.window:
            own[-1][1].append(event)
            continue
        counts["orphans"] += 1
        if own and "request_id" in event and micro(event) - micro(own[-1][0]) <= SETTINGS.remember:
            counts["orphans after the window"] += 1
        else:
            lone.append(event)
    return exposures, counts


def belongs(feedback, exposure):
    if "request_id" in feedback:
        return feedback["request_id"] == exposure["request_id"]
    return feedback["user_id"] == exposure["user_id"] and feedback["item_id"] in exposure["items"]


def values(event, feedback, k=5):
    """Metrics of one exposure, from their definitions."""
    clicked = {one["item_id"] for one in feedback}
    items = list(dict.fromkeys(event["items"]))
    ranks = [rank for rank, item in enumerate(items[:k], 1) if item in clicked]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(clicked)) + 1))
    return {
        f"hit@{k}": float(bool(ranks)),
        f"mrr@{k}": 1 / ranks[0] if ranks else 0.0,
        f"precision@{k}": len(ranks) / k,
        f"recall@{k}": len(ranks) / len(clicked) if clicked else 0.0,
        f"ndcg@{k}": sum(1 / math.log2(rank + 1) for rank in ranks) / ideal if clicked else 0.0,
    }


def user_means(judged, metric):
    """By arm the mean of each unit: a user's exposures in the hour after the first one, in its arm; 3 hours end it."""
    units, lists, by_arm = {}, defaultdict(list), defaultdict(list)
    for event, found in judged:
        user, arm, time = event["user_id"], event["arm"], micro(event)
        if user not in units or time >= units[user][0] + RETURNING.forget:
            units[user] = (time, arm)
        begin, own = units[user]
        if time < begin + SETTINGS.user_window and arm == own:
            lists[user, begin, arm].append(found[metric])
    for (_, _, arm), own in lists.items():
        by_arm[arm].append(sum(own) / len(own))
    return by_arm


def make_events(n, seed, pauses=(0, 1, 3, 10, 60)):
    """Exposures and feedback with ties, repeats, feedback without a request or an exposure, and users in two arms."""
    draw, events, now = random.Random(seed), [], 1_700_000_000.0
    for number in range(n):
        now += draw.choice(pauses)
        items = [f"i{draw.randrange(30)}" for _ in range(draw.randrange(8))]
        user = f"u{draw.randrange(max(3, n // 5))}"
        arm = "new" if (int(user[1:]) + (draw.random() < 0.02)) % 2 else "old"
        events.append({"request_id": f"r{number}", "user_id": user, "items": items, "time": now, "arm": arm})
        for item in items:
            if draw.random() < 0.2:
                feedback = {"item_id": item, "time": now + draw.choice([1, 5, 60, 600, 5000])}
                feedback |= {"request_id": f"r{number}"} if draw.random() < 0.7 else {"user_id": user}
                events.append(feedback | ({"kind": "buy"} if draw.random() < 0.3 else {}))
        if draw.random() < 0.1:
            events.append(dict(draw.choice(events)))
        if draw.random() < 0.05:
            events.append({"request_id": f"r{draw.randrange(n)}", "item_id": "zz", "time": now})
        if draw.random() < 0.05:  # the same request again, with another list
            events.append({**draw.choice([one for one in events if "items" in one]), "items": ["i1"]})
    return events


def watched(events, seed, folder=None, partitions=1, kills=False, options=SETTINGS, sizes=(1, 3, 20, 100)):
    """Watch events within the lateness, in random batches and partitions; a kill loses what is not committed."""
    draw, slack = random.Random(seed), options.lateness / 1e6 * 0.99
    parts = [[] for _ in range(partitions)]
    for event in sorted(events, key=lambda event: event["time"] + draw.random() * slack):
        draw.choice(parts).append(json.dumps(event).encode())

    def start():
        watcher = Watcher(options, folder)
        for part in range(partitions):
            watcher.clock.expect(str(part), 0)
        at = [watcher.positions.get(str(part), 0) for part in range(partitions)]
        for part in range(partitions):
            watcher.clock.partitions[str(part)].ended = at[part] >= len(parts[part])
        return watcher, at

    watcher, at = start()
    while left := [part for part in range(partitions) if at[part] < len(parts[part])]:
        part = draw.choice(left)
        lines = parts[part][at[part] : at[part] + draw.choice(sizes)]
        at[part] += len(lines)
        watcher.take(str(part), read_lines(lines, SETTINGS.segments), 0, position=at[part])
        if at[part] >= len(parts[part]):
            watcher.clock.partitions[str(part)].ended = True
        if draw.random() < 0.7:
            watcher.step(0)
            watcher.commit()
        elif kills and draw.random() < 0.5:
            watcher.close()
            watcher, at = start()
    watcher.step(0)
    watcher.finish()
    watcher.commit()
    return watcher


def bits(watcher):
    """Everything that a watch knows, as text."""
    tally = watcher.tally
    sums = [
        [list(period), store.rows[period].to_bytes().hex()]
        for store in (tally.sums, tally.single, tally.unit_sums, tally.assigned)
        for period in sorted(store.rows)
    ]
    counts = {name: n for name, n in tally.counts.items() if n}
    parts = [
        sums,
        str(asdict(tally.evidence)),
        watcher.bins(),
        {name: n for name, n in watcher.counts.items() if n and name.startswith(("orphans", "feedback"))},
        counts,
        tally.positions.tolist(),
        tally.alarms,
        tally.versions,
    ]
    return json.dumps(parts, sort_keys=True)


def test_means_are_those_of_dicts_and_loops():
    events = make_events(300, seed=1)
    exposures, counts = replay(events)
    watcher = watched(events, seed=0)
    assert watcher.bins() == {
        "received": len(events), "judged": len(events) - counts["duplicate"], "pending": 0,
        "duplicate": counts["duplicate"], "late": 0, "malformed": 0,
    }  # fmt: skip
    assert counts["duplicate"] > 20
    for name in ("orphans", "orphans after the window", "orphans before the exposure"):
        assert watcher.counts[name] == counts[name] > 1
    judged = [(event, values(event, feedback)) for event, feedback in exposures]
    for arm in ("new", "old"):
        sums, units = watcher.tally.sums.select(arm=arm), watcher.tally.unit_sums.select(arm=arm)
        for at, metric in enumerate(SETTINGS.metrics):
            own = [found[metric] for event, found in judged if event["arm"] == arm]
            assert sums.counts[0, at] == len(own)
            assert float(sums.total(0, at)) == pytest.approx(math.fsum(own), rel=1e-12)
            assert float(sums.squares(0, at)) == pytest.approx(math.fsum(one**2 for one in own), rel=1e-12)
            means = user_means(judged, metric)[arm]
            assert units.counts[0, at] == len(means)
            assert float(units.total(0, at)) == pytest.approx(math.fsum(means), rel=1e-12)
        assert float(watcher.tally.sums.select(segment=f"arm={arm}").counts[0, 0]) == sums.counts[0, 0]


@settings(max_examples=30 if LONG else 6)
@given(st.integers(0, 1 << 30), st.integers(1, 4), st.booleans(), st.sampled_from([40, 150]))
def test_bits_do_not_depend_on_batches_partitions_order_and_kills(tmp_path_factory, seed, partitions, kills, n):
    events = make_events(n, seed)
    folder = tmp_path_factory.mktemp("state") / "state" if kills else None
    found = watched(events, seed + 1, folder, partitions, kills)
    assert bits(found) == bits(watched(events, seed + 2))
    found.close()


@settings(max_examples=30 if LONG else 6)
@given(st.integers(0, 1 << 30), st.sampled_from([(1,), (2, 7), (50,), (1000,)]), st.booleans())
def test_users_who_return_are_the_same_units_for_any_batch_size(tmp_path_factory, seed, sizes, kills):
    events = make_events(120, seed, PAUSES)
    folder = tmp_path_factory.mktemp("state") / "state" if kills else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recassay.live.watcher.SMALL_LOG", 0)  # the table of units is stored often
        found = watched(events, seed + 1, folder, kills=kills, options=RETURNING, sizes=sizes)
    assert bits(found) == bits(watched(events, seed + 2, options=RETURNING, sizes=(1,)))
    exposures, _ = replay(events)
    judged = [(event, values(event, feedback)) for event, feedback in exposures]
    for arm in ("new", "old"):
        units, means = found.tally.unit_sums.select(arm=arm), user_means(judged, "hit@5")[arm]
        assert units.counts[0, 1] == len(means) > len({event["user_id"] for event in events if event.get("arm") == arm})
        assert float(units.total(0, 1)) == pytest.approx(math.fsum(means), rel=1e-12)
    found.close()


def test_a_user_who_returns_twice_in_one_batch_is_three_units_without_the_exposures_of_each_other():
    days = (0, 31, 62, 93)
    shown = [{"request_id": str(day), "user_id": "ann", "items": ["a"], "time": day * 86_400 + 1} for day in days]
    clicks = [{"request_id": str(day), "item_id": "a", "time": day * 86_400 + 2} for day in (0, 62)]
    row = ra.watch(sorted(shown + clicks, key=lambda event: event["time"]), "hit@1").summary().row(0, named=True)
    assert (row["unit_mean"], row["units"]) == (0.5, 4)


def test_merged_periods_do_not_depend_on_when_commits_are_made():
    start = 1_700_006_400  # a whole hour
    events = [
        {"request_id": str(n), "user_id": f"u{n}", "items": ["a"], "time": start + 600 * n} for n in range(6 * 60)
    ]
    options = WatchSettings(metrics=("hit@1",), user_window=HOUR, idle=1 << 60, ahead=1 << 60)
    found = []
    for stops in ((), (6 * 60 - 1,)):
        watcher, begin = Watcher(options), 0
        for end in (*stops, len(events)):
            lines = [json.dumps(event).encode() for event in events[begin:end]]
            watcher.take("a", read_lines(lines), 0)
            watcher.step(0)
            watcher.commit()
            begin = end
        found.append(bits(watcher))
    assert found[0] == found[1]


FIELDS = ("request_id", "user_id", "items", "item_id", "time", "kind", "propensity", "value", "event")
THINGS = ("a", "", None, 7, -1, 1e18, 1.5, True, [], ["a"], ["a", None], [["a"]], {"a": 1}, "x" * 2000, "nan",
          "2023-11-14T22:13:20Z",
          0.5, [0.5], ["0.5"], "exposure", "feedback", "interaction", 1_700_000_000, 9e11)  # fmt: skip


def malformed(draw):
    kind = draw.randrange(6)
    if kind == 0:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(30))).replace(b"\n", b" ")
    if kind == 1:
        return json.dumps(draw.choice(THINGS)).encode()
    event = {name: draw.choice(THINGS) for name in FIELDS if draw.random() < 0.6}
    text = json.dumps(event).encode()
    return text[: draw.randrange(len(text))] if kind == 2 else text


def test_every_line_of_a_fuzz_is_in_one_bin(tmp_path):
    draw, n = random.Random(5), 100_000 if LONG else 1_500
    lines = [malformed(draw) for _ in range(n // 2)]
    for event in sorted(make_events(n // 4, seed=5), key=lambda event: event["time"]):
        event["time"] += draw.choice([0] * 20 + [-9_000, 200_000_000])  # late; in the future
        lines.append(json.dumps(event).encode())
    long = {"request_id": "big", "user_id": "u", "items": ["i"] * 1_000_001, "time": 1_700_000_000}
    lines.append(json.dumps(long).encode())
    watcher = Watcher(WatchSettings(metrics=("hit@5",)), tmp_path)
    for begin in range(0, len(lines), 1000):
        watcher.take("a", read_lines(lines[begin : begin + 1000]), 1_800_000_000_000_000)
        watcher.step(1_800_000_000_000_000)
        watcher.commit()
    bins = watcher.bins()
    assert bins["received"] == len(lines) == sum(bins.values()) - bins["received"]
    assert min(bins[name] for name in ("judged", "duplicate", "late", "malformed")) > 10
    assert {"too-large", "future", "not-json", "wrong-type", "bad-time", "late"} <= set(watcher.reasons)
    watcher.close()
    letters = (tmp_path / "dead-letters.jsonl").read_text(encoding="utf-8").split("\n")  # events may have U+2028
    assert len(letters) - 1 == bins["malformed"] + bins["late"]


SHOWN = {"request_id": "r", "user_id": "u", "items": ["i1", "i2"], "time": 1_700_000_000}
BROKEN = {  # by the reason why it is malformed
    "not-json": lambda event: json.dumps(event).encode()[:-1],
    "wrong-type": lambda event: {**event, "items": "i1"},
    "unknown-event": lambda event: {**event, "event": "purchase"},
    "no-time": lambda event: {**event, "time": None},
    "bad-time": lambda event: {**event, "time": "soon"},
    "no-request": lambda event: {**event, "request_id": None},
    "no-user": lambda event: {**event, "user_id": ""},
    "null-item": lambda event: {**event, "items": ["i1", None]},
    "too-many-items": lambda event: {**event, "items": ["i1"] * 101},
    "too-large": lambda event: {**event, "items": ["i" * (1 << 21)] * 2},
    "long-id": lambda event: {**event, "user_id": "u" * 1025},
    "bad-propensity": lambda event: {**event, "propensity": 1.5},
    "future": lambda event: {**event, "time": 1_900_000_000},
}


def labelled(n, draw):
    """Lines in order of arrival, each with the bin that it belongs to, and the reason if it is not judged."""
    newest = 1_700_000_000
    lines = [(json.dumps({**SHOWN, "request_id": "first", "time": newest}).encode(), "judged", None)]
    unclicked = []
    for number in range(n):
        event = {**SHOWN, "request_id": f"r{number}", "user_id": f"u{number % 50}", "time": newest + 10}
        kind, reason = draw.choice(["new", "new", "click", "early", "again", "late", "broken"]), None
        if kind == "click" and unclicked:
            one = unclicked.pop()
            event = {"request_id": one["request_id"], "item_id": "i1", "time": one["time"] + 1}
        elif kind == "early":  # out of order, within the lateness
            event["time"] = newest - draw.randrange(1, 590)
        elif kind == "again" and unclicked:
            event = draw.choice(unclicked[-5:])
        elif kind == "late":
            event["time"] = newest - draw.randrange(700, 100_000)
        elif kind == "broken":
            reason = draw.choice([one for one in BROKEN if one != "too-large" or draw.random() < 0.02])
            event = BROKEN[reason](event)
        else:
            unclicked.append(event)
            kind = "new"
        place = {"again": "duplicate", "broken": "malformed"}.get(kind, "judged")
        if kind != "broken":
            if event["time"] < newest - 600:
                place, reason = "late", "late"
            newest = max(newest, event["time"])
        lines.append((event if isinstance(event, bytes) else json.dumps(event).encode(), place, reason))
    return lines


@settings(max_examples=2 if LONG else 8)
@given(st.integers(0, 1 << 30))
def test_every_event_of_a_fuzz_is_in_the_bin_that_it_was_made_for(seed):
    draw = random.Random(seed)
    lines = labelled(50_000 if LONG else 250, draw)
    watcher = Watcher(WatchSettings(metrics=("hit@5",), lateness=10 * MINUTE, max_items=100))
    wall, begin = 1_800_000_000_000_000, 0
    while begin < len(lines):
        end = begin + draw.choice([1, 7, 100, 3000])
        watcher.take("a", read_lines([line for line, _, _ in lines[begin:end]], max_items=100), wall)
        watcher.step(wall)
        watcher.commit()
        begin = end
    watcher.finish()
    watcher.commit()
    wanted = Counter(place for _, place, _ in lines)
    names = ("judged", "duplicate", "late", "malformed")
    assert watcher.bins() == {"received": len(lines), "pending": 0, **{name: wanted[name] for name in names}}
    reasons = Counter(reason for _, _, reason in lines if reason)
    assert {name: n for name, (n, _) in watcher.reasons.items()} == reasons


def test_what_becomes_of_a_line_does_not_depend_on_its_neighbours():
    draw = random.Random(6)
    lines = [malformed(draw) for _ in range(300)]
    whole = read_lines(lines)
    rows = whole.events.rows()
    alone = [read_lines([line]) for line in lines]
    assert rows == [row for one in alone for row in one.events.rows()]
    assert [(one.row, one.reason) for one in whole.refused] == [
        (at, one.refused[0].reason) for at, one in enumerate(alone) if one.refused
    ]


def test_an_event_on_time_whose_second_delivery_is_late_counts_in_a_replay(tmp_path):
    shown = [{"request_id": str(n), "user_id": f"u{n}", "items": ["a"], "time": 1000 * n + 1000} for n in range(3)]
    click = {"request_id": "0", "item_id": "a", "time": 1005}
    arrived = [shown[0], click, *shown[1:], click]
    live = ra.watch(arrived, "hit@1", output=tmp_path / "live")
    for archive in (arrived, sorted(arrived, key=lambda event: event["time"]), [shown, [click, click]]):
        again = ra.watch(archive, "hit@1", journal=tmp_path / "live")
        assert again.summary()["mean"].to_list() == [1 / 3]
        assert bits(again.watcher) == bits(live.watcher)
    assert live.watcher.bins()["late"] == 1


GUARDED = replace(SETTINGS, lateness=MINUTE, idle=2 * MINUTE, ahead=5 * MINUTE)
OFTEN = 2000 if LONG else 20


def deliveries(draw, n, partitions):
    """Deliveries (wall time, partition, event) in order: late, twice, out of order, clocks apart, sources away."""
    apart = [draw.choice([0, 0, -1500, 400]) for _ in range(partitions)]  # seconds: what the clocks of sources say
    begin, end = sorted(draw.uniform(0, 20 * n) for _ in range(2))
    away = draw.sample(range(partitions), draw.randrange(partitions + 1))  # between begin and end
    found, start = [], 1_700_000_000.0
    for made in make_events(n, draw.randrange(1 << 30)):
        part = draw.randrange(partitions)
        event = {**made, "time": made["time"] + apart[part]}
        for _ in range(1 + (draw.random() < 0.15)):
            wall = (
                event["time"]
                - apart[part]
                + draw.expovariate(1 / 30)
                + (draw.random() < 0.05) * draw.choice([900, 9000])
            )
            if part in away and begin <= wall - start < end:
                wall = start + end + draw.random()
            found.append((wall, part, event))
            part = draw.choice([part, draw.randrange(partitions)])
    return sorted(found, key=lambda one: one[:2])


def watched_live(arrived, draw, folder, partitions, kills):
    """Watch deliveries at their wall times, with commits, kills and silent times in between."""
    watcher, at, committed, now = None, 0, 0, 0
    while at < len(arrived):
        if watcher is None:
            watcher, at = Watcher(GUARDED, folder), committed
            for part in range(partitions):
                watcher.clock.expect(str(part), int(arrived[at][0] * 1e6))
        chosen = arrived[at : at + draw.choice([1, 5, 30])]
        at += len(chosen)
        if draw.random() < 0.5:  # the clock goes on until the first of these events comes
            watcher.step(int(chosen[0][0] * 1e6))
        now = int(chosen[-1][0] * 1e6)
        for part in range(partitions):
            lines = [json.dumps(event).encode() for _, own, event in chosen if own == part]
            if lines:
                watcher.take(str(part), read_lines(lines, GUARDED.segments), now)
        if draw.random() < 0.6:
            watcher.step(now)
            watcher.commit()
            committed = at
        elif kills and draw.random() < 0.5:
            watcher.close()
            watcher, at = None, committed
    watcher.finish()
    watcher.commit()
    return watcher


@settings(max_examples=OFTEN)
@given(st.integers(0, 1 << 30), st.integers(1, 3), st.sampled_from([10, 25, 50]), st.booleans())
def test_a_replay_of_the_journal_has_the_bits_of_the_watch(tmp_path_factory, seed, partitions, n, kills):
    folder, draw = tmp_path_factory.mktemp("live"), random.Random(seed)
    arrived = deliveries(draw, n, partitions)
    live = watched_live(arrived, draw, folder, partitions, kills)
    live.close()
    events = [event for _, _, event in arrived]
    dealt = [[], []]
    for event in events:
        draw.choice(dealt).append(event)
    others = (
        [[event for _, own, event in arrived if own == part] for part in range(partitions)],
        dealt,
        [sorted(events, key=lambda event: event["time"])],
        [draw.sample(events, len(events))],
    )
    for archive in ([events], draw.choice(others)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("recassay.live.sources.BATCH", draw.choice([3, 20, 1000]))
            again = Watcher(GUARDED, journal=folder)
            again.count_deliveries([table_source(part, str(at)) for at, part in enumerate(archive)])
            sources = [table_source(part, str(at)) for at, part in enumerate(archive)]
            Loop(again, sources, finish=True, interval=0.0).run()
        assert bits(again) == bits(live)
        assert {name: count for name, (count, _) in again.reasons.items()} == {
            name: count for name, (count, _) in live.reasons.items()
        }
        again.close()
    shutil.rmtree(folder)


def test_a_replay_with_a_journal_goes_on_after_an_interruption(tmp_path):
    shown = [{"request_id": str(n), "user_id": f"u{n}", "items": ["a"], "time": 1000 * n + 1000} for n in range(3)]
    click = {"request_id": "0", "item_id": "a", "time": 1005}
    arrived = [shown[0], click, shown[1], click, shown[2], click]
    live = ra.watch(arrived, "hit@1", output=tmp_path / "live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recassay.live.sources.BATCH", 1)
        for _ in range(len(arrived) + 1):  # each ends after the commit of one event
            again = Watcher(live.watcher.settings, tmp_path / "again", journal=tmp_path / "live")
            again.count_deliveries([table_source(arrived, "table")])
            Loop(again, [table_source(arrived, "table")], lambda _: True, finish=True, interval=0.0).run()
            again.close()
    assert bits(again) == bits(live.watcher)
    assert live.watcher.bins()["late"] == 2


def test_a_slow_replay_of_several_files_calls_no_event_late():
    archive = [[{"request_id": f"{part} {n}", "user_id": "u", "items": ["a"], "time": n} for n in range(0, 9000, 900)]
               for part in range(2)]  # fmt: skip
    wall = iter(range(0, 1 << 60, HOUR))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recassay.live.sources.BATCH", 3)
        watcher = Watcher(GUARDED)
        sources = [table_source(part, str(at)) for at, part in enumerate(archive)]
        Loop(watcher, sources, finish=True, interval=0.0, clock=lambda: next(wall)).run()
    assert watcher.bins()["late"] == 0


@settings(max_examples=50 if LONG else 10)
@given(
    st.integers(0, 1 << 30), st.lists(st.sampled_from(["arm", "policy", "kind", "event", "time", "device", "reason"]))
)
def test_late_dead_letters_are_read_as_the_events_that_they_were(tmp_path_factory, seed, segments):
    draw, names = random.Random(seed), tuple(dict.fromkeys(segments))
    events = [
        {
            **event,
            "time": event["time"] - draw.choice([0, 1e6 + 1 / 7, 8e8]),
            **draw.choice(
                [{}, {"policy": "p"}, {"kind": "click"}, {"device": 7}, {"reason": "\u2028"}, {"value": 0.1}]
            ),
            **({"propensity": draw.choice([0.5, [0.25] * len(event["items"])])} if event.get("items") else {}),
        }
        for event in make_events(30, seed)
    ]
    events += [{"event": "interaction", "user_id": "u", "item_id": "a", "items": [], "time": 1e9}]
    folder = tmp_path_factory.mktemp("late")
    watcher = Watcher(replace(SETTINGS, segments=names), folder)
    lines = [json.dumps(event).encode() for event in [{**events[0], "time": 1.71e9}, *events]]
    watcher.take("a", read_lines(lines, names), 1 << 60)
    watcher.step(1 << 60)
    watcher.finish()
    watcher.commit()
    watcher.close()
    assert watcher.counts["late"] == len(events)
    path = folder / "dead-letters.jsonl"
    letters = path.read_bytes().splitlines()
    assert read_lines(letters, names).events.equals(read_lines(lines[1:], names).events)
    again = ra.watch(path, "hit@1", lateness="10000d", segments=names)
    assert (
        again.watcher.bins()["received"]
        == len(events)
        == again.watcher.bins()["judged"] + again.watcher.bins()["duplicate"]
    )


def test_two_clicks_of_the_same_kind_on_one_item_are_one():
    shown = {"request_id": "r", "user_id": "u", "items": ["a"], "time": 100}
    click = {"request_id": "r", "item_id": "a", "time": 101}
    found = ra.watch([shown, click, {**click, "time": 105}], "hit@1")
    assert found.watcher.bins()["duplicate"] == 1
    assert np.array_equal(found.watcher.tally.positions[1, 0, :2], [1, 0])
