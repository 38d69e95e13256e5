"""Streams: the walk over blocks equals a plain loop over events, bit for bit, whatever the regime and the cuts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.columnar.identity import mix
from recassay.engine.streams.run import Checkpoint, _learn_counts, play_stream
from recassay.models.incremental import ISGD, Recent, StreamPopular, StreamRandom
from recassay.models.incremental.base import initial_factors
from recassay.protocols.prequential import Prequential
from recassay.rng import derive_seed
from recassay.split.partitions import uniform

from ..examples import examples

f4 = np.float32


class PlainPopular:
    """Counts of events."""

    def __init__(self, model):
        self.counts = {}

    def learn(self, user, item):
        self.counts[item] = self.counts.get(item, 0.0) + 1.0

    def score(self, user, item):
        return self.counts[item]


class PlainRecent(PlainPopular):
    """Numbers of last events."""

    def __init__(self, model):
        self.last, self.events = {}, 0

    def learn(self, user, item):
        self.events += 1
        self.last[item] = float(self.events)

    def score(self, user, item):
        return self.last[item]


class PlainRandom(PlainPopular):
    """What is mixed from user and item."""

    def __init__(self, model):
        self.salt = derive_seed(model.seed, "stream random") % 2**64

    def learn(self, user, item):
        pass

    def score(self, user, item):
        value = np.array([self.salt ^ (user << 32 | item)], np.uint64) - np.uint64(0x9E3779B97F4A7C15)
        return float(int(mix(value)[0]) >> 11) / 2**53


class PlainISGD(PlainPopular):
    """One pair at a time, in plain numbers of single precision."""

    def __init__(self, model):
        self.model, self.users, self.items, self.queue = model, {}, {}, []

    def factors(self, table, what, code):
        if code not in table:
            m = self.model
            table[code] = list(initial_factors(m.seed, what, 0, 1024, m.factors, m.deviation)[code])
        return table[code]

    def learn(self, user, item):
        p, q = self.factors(self.users, "ISGD user", user), self.factors(self.items, "ISGD item", item)
        if self.model.negatives:
            if item in self.queue:
                self.queue.remove(item)
            for _ in range(min(self.model.negatives, len(self.queue))):
                oldest = self.queue.pop(0)
                self.move(p, self.items[oldest], f4(0), sequential=True, both=False)
                self.queue.append(oldest)
            self.queue.append(item)
        self.move(p, q, f4(1), sequential=self.model.update == "sequential")

    def move(self, p, q, target, *, sequential, both=True):
        rate, of_user, of_item = f4(self.model.rate), f4(self.model.reg_user), f4(self.model.reg_item)
        for _ in range(self.model.iterations):
            error = target - self.product(p, q)
            for f in range(len(p)):
                old = p[f]
                p[f] = old + rate * (error * q[f] - of_user * old)
                if both:
                    q[f] = q[f] + rate * (error * (p[f] if sequential else old) - of_item * q[f])

    def product(self, p, q):
        total = f4(0)
        for one, other in zip(p, q, strict=True):
            total = f4(total + one * other)
        return total

    def score(self, user, item):
        p, q = self.factors(self.users, "ISGD user", user), self.factors(self.items, "ISGD item", item)
        return -abs(f4(1) - self.product(p, q))


def learnt_before(protocol, place, times):
    """How many events are learned before the query of an event."""
    found = revealed_before(protocol, place, times)
    return found if protocol.learn_until is None else min(found, protocol.learn_until)


def revealed_before(protocol, place, times):
    """How many events could have been learnt."""
    warmup = protocol.warmup
    if place < warmup:
        return 0
    [(kind, span)] = protocol.regime.items() or [("", None)]
    if span is None:
        found = place
    elif not span.of_time:
        size = int(span.size)
        found = place - size if kind == "delay" else warmup + (place - warmup) // size * size
    elif kind == "delay":
        found = sum(1 for time in times[:place] if time <= times[place] - span.size)
    else:
        window = [math.floor((time - times[0]) / span.size) for time in times]
        found = next(e for e in range(place + 1) if window[e] == window[place])
    return max(found, warmup)


def codes(events):
    """Users and items by first appearance."""
    code_of_user, code_of_item = {}, {}
    for user, item in events:
        code_of_user.setdefault(user, len(code_of_user))
        code_of_item.setdefault(item, len(code_of_item))
    return code_of_user, code_of_item


def plain(make, events, times, protocol, often=None):
    """Rows (event, position, list, worth, auc), and counts: the whole protocol in one readable loop."""
    model, learnt, origin = make(), 0, 0
    code_of_user, code_of_item = codes(events)
    everything, history, known_users, known_items = set(code_of_item), {}, set(), set()
    watch, alarm, taught = protocol.watching and protocol.watching.start(), None, set()
    shown, rows, counts = {}, [], {}
    lots = uniform(
        mix(mix(np.arange(len(events), dtype=np.uint64)) ^ np.uint64(derive_seed(protocol.seed, "scored") % 2**64))
    )

    def count(why):
        counts[why] = counts.get(why, 0) + 1

    for place, (user, item) in enumerate(events):
        until = learnt_before(protocol, place, times)
        known_users.update(user for user, _ in events[learnt:until])
        if alarm is not None and protocol.on_alarm != "log":
            revealed = revealed_before(protocol, place, times)
            origin = max(0, revealed - protocol.keep) if protocol.on_alarm == "refit" else revealed
            model, known_items, taught = make(), set(), set()
            code_of_user, code_of_item = codes(events[origin:])
            lessons, learnt = range(origin, revealed), until
            watch = protocol.watching.start()
            counts["relearnt"] = counts.get("relearnt", 0) + sum(1 if often is None else often[n] for n in lessons)
            count("renewed")
        else:
            lessons = range(learnt, until)
        if until > learnt and "refit" in protocol.regime:
            model, lessons = make(), range(origin, until)
        for number in lessons:
            one, other = events[number]
            for _ in range(1 if often is None else often[number]):
                model.learn(code_of_user[one], code_of_item[other])
            taught.add(one)
            known_items.add(other)
        learnt, alarm = until, None
        had = history.setdefault(user, set())
        exclude = protocol.repeats == "exclude"
        own = [number for number, (other, _) in enumerate(events) if other == user]
        if place < protocol.warmup:
            count("warmup")
        elif own.index(place) < protocol.given or (protocol.all_but and place < own[-protocol.all_but :][0]):
            count("given")
        elif user not in known_users:
            count("first")
        elif exclude and item in had:
            count("repeats")
        elif lots[place] >= protocol.score_every:
            count("sampled_out")
        else:
            universe = everything if protocol.candidates == "all" else known_items
            candidates = universe - (had if exclude else set())

            def rank(one, score=model.score, user=code_of_user[user], code=code_of_item, known=known_items):
                worth = score(user, code[one]) if one in known else -np.inf
                return (-worth, one)

            order = sorted(candidates, key=rank)
            listed = order[: protocol.at]
            ahead = [other for one, other in events[place:] if one == user]
            ahead = ahead[: protocol.reach] if protocol.match == "window" else ahead
            targets = set(ahead) - (had if exclude else set())
            before = shown.setdefault(user, [])
            hit = {
                "exact": item in listed,
                "future": bool(targets & set(listed)),
                "window": bool(targets & set(listed)),
                "previous": any(item in one for one in [listed, *before[-protocol.reach :]]),
            }[protocol.match]
            if protocol.credit == "share":
                hit = len(targets & set(listed)) / min(protocol.at, len(targets))
            before.append(listed)
            scores = [-rank(one)[0] for one in order]
            own = -rank(item)[0] if item in candidates else None
            below = None if own is None else sum(s < own for s in scores) + (sum(s == own for s in scores) - 1) / 2
            auc = 0.0 if own is None else below / (len(order) - 1) if len(order) > 1 else None
            rows.append((place, order.index(item) + 1 if item in candidates else 0, listed, float(hit), auc))
            count("scored")
            counts["again"] = counts.get("again", 0) + (item in had)
            counts["unseen"] = counts.get("unseen", 0) + (item not in known_items)
            counts["short"] = counts.get("short", 0) + (len(order) < protocol.at)
            if watch is not None:
                counts["forgotten"] = counts.get("forgotten", 0) + (user not in taught)
                raised = watch.on_score(place, 1 - float(hit))
                counts["alarms"] = counts.get("alarms", 0) + (raised is not None)
                alarm = raised if raised is not None and raised.kind == "drift" and raised.worse else None
        had.add(item)
    return rows, counts


PAIRS = {StreamPopular: PlainPopular, Recent: PlainRecent, StreamRandom: PlainRandom, ISGD: PlainISGD}

models = st.one_of(
    st.just(StreamPopular()),
    st.just(Recent()),
    st.builds(StreamRandom, seed=st.integers(0, 3)),
    st.builds(
        ISGD,
        factors=st.sampled_from([1, 3, 6]),
        iterations=st.integers(1, 3),
        rate=st.sampled_from([0.05, 0.3]),
        update=st.sampled_from(["sequential", "simultaneous"]),
        negatives=st.integers(0, 3),
    ),
)
regimes = st.one_of(
    st.just({}),
    st.sampled_from(["batch", "refit", "delay"]).flatmap(
        lambda name: st.sampled_from([1, 3, 7, "4s", "9s"]).map(lambda size: {name: size})
    ),
)
alarming = st.builds(
    lambda detector, on_alarm, keep: {"detector": detector, "on_alarm": on_alarm, "keep": keep},
    st.sampled_from(
        [
            "PageHinkley(delta=0, threshold=0.2, least=1)",
            "PageHinkley(delta=0, threshold=0.5, least=2, form='cusum', warn_at=0.1)",
            "ADWIN(delta=0.99, bound='hoeffding')",
        ]
    ),
    st.sampled_from(["log", "reset", "refit"]),
    st.sampled_from([1, 4, 100]),
)
guards = st.one_of(st.just({}), alarming)
protocols = st.builds(
    lambda regime, matching, guard, given, warmup, more, **kw: Prequential(
        **regime, **matching, **guard, **given, warmup=warmup, learn_until=None if more is None else warmup + more, **kw
    ),
    regimes,
    st.sampled_from(
        [
            {},
            {},
            {"match": "future"},
            {"match": "future", "credit": "share"},
            {"match": "window", "reach": 3},
            {"match": "window", "reach": 2, "credit": "share"},
            {"match": "previous", "reach": 2},
        ]
    ),
    guards,
    st.sampled_from([{}, {}, {"given": 3}, {"all_but": 2}]),
    st.sampled_from([0, 0, 5]),
    st.sampled_from([None, None, 0, 10]),
    at=st.integers(1, 4),
    candidates=st.sampled_from(["seen", "all"]),
    repeats=st.sampled_from(["exclude", "allow"]),
    score_every=st.sampled_from([1.0, 1.0, 0.5]),
    seed=st.integers(0, 2),
)


@st.composite
def streams(draw, min_size=1, max_size=40):
    """Events of few users and items, so that much repeats and ties; ids whose order is not that of appearance."""
    users = draw(st.sampled_from([["b", "a", "c"], [7, 3, 5, 1]]))
    items = draw(st.sampled_from([["q", "p", "z", "r", "a"], [9, 4, 6, 2, 8, 5, 1]]))
    events = draw(
        st.lists(st.tuples(st.sampled_from(users), st.sampled_from(items)), min_size=min_size, max_size=max_size)
    )
    gaps = draw(st.lists(st.integers(0, 3), min_size=len(events), max_size=len(events)))
    return events, np.cumsum(gaps).tolist()


def log_of(events, times):
    frame = {"user_id": [u for u, _ in events], "item_id": [i for _, i in events], "timestamp": times}
    return ra.Interactions.from_frame(pl.DataFrame(frame))


def metrics_of(protocol):
    return f"recall@{protocol.at}" if protocol.match != "exact" else f"recall@{protocol.at} mrr ndcg@{protocol.at} auc"


@settings(max_examples=examples(300), deadline=None)
@given(stream=streams(), model=models, protocol=protocols, block=st.sampled_from([1, 2, 5, 100]))
def test_the_walk_is_the_plain_loop(stream, model, protocol, block):
    compared_to_the_plain_loop(stream, model, protocol, block)


@settings(max_examples=examples(300), deadline=None)
@given(
    stream=streams(min_size=25, max_size=70),
    model=models,
    protocol=protocols,
    guard=alarming,
    block=st.sampled_from([1, 2, 7, 30, 100]),
    warmup=st.sampled_from([0, 0, 5]),
    more=st.sampled_from([None, None, 0, 20]),
    first=st.sampled_from([1, 3, 64]),
)
def test_alarms_act_right_after_their_events(stream, model, protocol, guard, block, warmup, more, first):
    learn_until = None if more is None else warmup + more
    often = replace(protocol, **guard, repeats="allow", score_every=1.0, at=2, warmup=warmup, learn_until=learn_until)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recassay.engine.streams.drift_policy.FIRST_RANGE", first)
        compared_to_the_plain_loop(stream, model, often, block)


def compared_to_the_plain_loop(stream, model, protocol, block):
    events, times = stream
    rows, counts = plain(lambda: PAIRS[type(model)](model), events, times, protocol)
    played = play_stream(model, log_of(*stream), protocol, metrics=metrics_of(protocol), lists=True, block=block)
    outcomes = played.outcomes
    assert outcomes.event.tolist() == [row[0] for row in rows]
    assert {why: n for why, n in outcomes.counts.items() if n and why not in ("learnt", "moved", "users", "items")} == {
        why: n for why, n in counts.items() if n
    }
    assert outcomes.of(f"recall@{protocol.at}").tolist() == [row[3] for row in rows]
    shown = {event: [] for event in outcomes.event.tolist()}
    for event, _, item in () if played.lists is None else played.lists.rows():
        shown[event].append(item)
    assert list(shown.values()) == [row[2] for row in rows]
    assert outcomes.users.to_list() == [events[row[0]][0] for row in rows]
    if protocol.match == "exact":
        positions = [row[1] for row in rows]
        assert outcomes.of("mrr").tolist() == [1 / place if place else 0.0 for place in positions]
        assert [None if math.isnan(one) else one for one in outcomes.of("auc").tolist()] == [row[4] for row in rows]
        assert outcomes.of(f"ndcg@{protocol.at}").tolist() == [
            1 / np.log2(place + 1) if 0 < place <= protocol.at else 0.0 for place in positions
        ]


class Shy:
    """A model whose learner cannot walk by itself, so that it is queried and fed event by event."""

    def __init__(self, model):
        self.model = model

    def start(self):
        return Shy.Learner(self.model.start())

    def __str__(self):
        return str(self.model)

    class Learner:
        def __init__(self, inner):
            self.inner = inner

        def learn(self, users, items, values):
            self.inner.learn(users, items, values)

        def scores(self, user):
            return self.inner.scores(user)


@settings(max_examples=examples(60), deadline=None)
@given(stream=streams(), model=models, protocol=protocols)
def test_asked_event_by_event_a_model_does_the_same(stream, model, protocol):
    log = log_of(*stream)
    walked = play_stream(model, log, protocol, metrics=metrics_of(protocol))
    by_event = play_stream(Shy(model), log, protocol, metrics=metrics_of(protocol), block=3)
    assert by_event.outcomes.fingerprint == walked.outcomes.fingerprint


@settings(max_examples=examples(60), deadline=None)
@given(stream=streams(), model=models, protocol=protocols, cuts=st.sets(st.integers(1, 39)), data=st.data())
def test_tables_of_any_size_make_the_same_stream(stream, model, protocol, cuts, data):
    events, times = stream
    protocol = replace(protocol, match="exact", credit="any", candidates="seen", all_but=None)
    whole = play_stream(model, log_of(events, times), protocol)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    parts = (log_of(events[a:b], times[a:b]) for a, b in itertools.pairwise(bounds))
    assert play_stream(model, parts, protocol).outcomes.fingerprint == whole.outcomes.fingerprint


@settings(max_examples=examples(60), deadline=None)
@given(
    stream=streams(),
    protocol=protocols,
    folds=st.sampled_from(["split", "cv", "bootstrap"]),
    model=st.sampled_from([StreamPopular(), ISGD(factors=2)]),
)
def test_every_copy_meets_its_users_as_a_stream_of_its_own(stream, protocol, folds, model):
    events, times = stream
    whole = replace(protocol, match="exact", credit="any", score_every=1.0, candidates="seen")
    protocol, log = replace(whole, folds=folds, copies=3), log_of(events, times)
    copies = play_stream(model, log, protocol).copies
    often = [_learn_counts(log, protocol, number) for number in range(3)]
    if folds != "bootstrap":
        assert (sum(often) == (1 if folds == "split" else 2)).all()
    for one, times_learnt in zip(copies, often, strict=True):
        met = np.flatnonzero(times_learnt)
        mine, when = [events[row] for row in met], [times[row] for row in met]
        rows, _ = plain(lambda: PAIRS[type(model)](model), mine, when, whole, times_learnt[met])
        assert one.events == len(events)
        assert one.event.tolist() == [met[row[0]] for row in rows]
        assert one.of(f"mrr@{protocol.at}").tolist() == [
            1 / row[1] if 0 < row[1] <= protocol.at else 0.0 for row in rows
        ]


ALARMED = {"detector": "PageHinkley(delta=0, threshold=0.5, least=5)", "on_alarm": "refit", "keep": 60}


@pytest.mark.parametrize(
    "protocol",
    [Prequential(at=3), Prequential(at=3, folds="bootstrap", copies=2), Prequential(at=3, **ALARMED)],
)
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(protocol, tmp_path):
    rng = np.random.Generator(np.random.PCG64(5))
    frame = pl.DataFrame({"user_id": rng.integers(0, 40, 900), "item_id": rng.integers(0, 60, 900)})
    log, model = ra.Interactions.from_frame(frame.with_row_index("timestamp")), ISGD(factors=3, negatives=1)
    whole = play_stream(model, log, protocol, lists=True)
    path = tmp_path / "stream.checkpoint"

    met = 0

    def stop(events):
        nonlocal met
        met += events
        if met in (350, 840, 1200):
            raise KeyboardInterrupt

    played = None
    for _ in range(10):
        try:
            options = {"checkpoint": Checkpoint(path, seconds=0.0), "block": 70, "progress": stop}
            played = play_stream(model, log, protocol, lists=True, **options)
            break
        except KeyboardInterrupt:
            continue
    assert [one.fingerprint for one in played.copies] == [one.fingerprint for one in whole.copies]
    assert played.lists.equals(whole.lists)
    assert played.alarms_by_copy == whole.alarms_by_copy
    assert (protocol.detector is not None) == (whole.copies[0].counts.get("renewed", 0) > 3)
