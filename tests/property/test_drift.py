"""Drift detectors compared with plain loops, in blocks of any size and after a restart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.drift import ADWIN, PageHinkley
from recassay.rng import derive

from ..examples import examples

QUICK = settings(max_examples=examples(60), deadline=None)
LOSS = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # sums of these are exact, so that alarms can be compared
LOSSES = st.lists(LOSS, min_size=1, max_size=150)


def page_hinkley(losses, spec):
    """Return the positions of the alarms of Page-Hinkley by its definition."""
    found, seen, reached = [], [], []
    for j, loss in enumerate(losses):
        seen.append(loss)
        mean = sum(seen) / len(seen)
        last = reached[-1] if reached else 0.0
        now = spec.fading * last + (loss - mean - spec.delta)
        if spec.form == "cusum":
            now = max(0.0, now)
        reached.append(now)
        if len(seen) < spec.least:
            continue
        if now >= spec.threshold if spec.form == "cusum" else now - min(0.0, *reached) > spec.threshold:
            found.append(j)
            seen, reached = [], []
    return found


def adwin(losses, delta, form):
    """Return (position, dropped losses, remaining losses) of the alarms of ADWIN with a window of single losses."""
    window, found = [], []
    for j, loss in enumerate(losses):
        window.append(loss)
        gone = []
        while (n0 := _too_different(window, delta, form)) is not None:
            gone, window = gone + window[:n0], window[n0:]
        if gone:
            found.append((j, gone, list(window)))
    return found


def _too_different(window, delta, form):
    n = len(window)
    for n0 in range(1, n):
        mean0, mean1 = np.mean(window[:n0]), np.mean(window[n0:])
        h, d = 1 / (1 / n0 + 1 / (n - n0)), delta / n
        bound = math.sqrt(2 / h * np.var(window) * math.log(2 / d)) + 2 / (3 * h) * math.log(2 / d)
        if form == "hoeffding":
            bound = math.sqrt(math.log(4 / d) / (2 * h))
        if abs(mean0 - mean1) > bound:
            return n0
    return None


@given(
    losses=LOSSES,
    form=st.sampled_from(["classic", "cusum"]),
    fading=st.sampled_from([1.0, 0.96875, 0.5]),
    delta=st.sampled_from([0.0078125, 0.1]),
    threshold=st.sampled_from([0.7, 2.1]),
    least=st.sampled_from([1, 12]),
)
@QUICK
def test_page_hinkley_equals_its_definition(losses, form, fading, delta, threshold, least):
    spec = PageHinkley(delta=delta, threshold=threshold, fading=fading, least=least, form=form)
    alarms = spec.start().on_scores(np.arange(len(losses)), losses)
    assert [alarm.event for alarm in alarms] == page_hinkley(losses, spec)


@given(losses=LOSSES, form=st.sampled_from(["variance", "hoeffding"]), delta=st.sampled_from([0.002, 0.3]))
@QUICK
def test_adwin_of_single_losses_equals_its_definition(losses, form, delta):
    spec = ADWIN(delta=delta, bound=form, buckets=1000)  # with so many buckets of a size, none are ever merged
    alarms = spec.start().on_scores(np.arange(len(losses)), losses)
    expected = adwin(losses, delta, form)
    assert [alarm.event for alarm in alarms] == [place for place, _, _ in expected]
    for alarm, (place, gone, left) in zip(alarms, expected, strict=True):
        assert alarm.since == place + 1 - len(left)
        assert (alarm.before, alarm.after) == (pytest.approx(np.mean(gone)), pytest.approx(np.mean(left)))


def buckets(losses, most):
    """Return the buckets of an exponential histogram by its definition: lists of losses, the oldest first."""
    window = []
    for loss in losses:
        window.append([loss])
        size = 1
        while sum(len(bucket) == size for bucket in window) > most:
            first = next(i for i, bucket in enumerate(window) if len(bucket) == size)
            window[first : first + 2] = [window[first] + window[first + 1]]
            size *= 2
    return window


@given(losses=LOSSES, most=st.integers(1, 6))
@QUICK
def test_buckets_have_the_sums_deviations_and_first_events_of_the_definition(losses, most):
    watch = ADWIN(delta=1e-300, buckets=most).start()  # never sees a change
    assert watch.on_scores(np.arange(len(losses)), losses) == []
    state = watch.state()
    rows = range(len(state["filled"]) - 1, -1, -1)
    found = [(row, k) for row in rows for k in range(state["filled"][row])]
    expected, begin = buckets(losses, most), 0
    assert [2**row for row, _ in found] == [len(bucket) for bucket in expected]
    for place, bucket in zip(found, expected, strict=True):
        assert state["sums"][place] == sum(bucket)
        assert state["squares"][place] == pytest.approx(np.var(bucket) * len(bucket), abs=1e-9)
        assert state["firsts"][place] == begin
        begin += len(bucket)


DETECTORS = [
    PageHinkley(threshold=3, least=5, warn_at=1.0),
    PageHinkley(threshold=3, least=5, fading=0.99, form="cusum"),
    ADWIN(delta=0.1),
    ADWIN(delta=0.1, bound="hoeffding", clock=7),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=str)
@given(cuts=st.lists(st.integers(0, 600), max_size=6), seed=st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_blocks_of_any_size_and_a_restart_give_the_same_bits(detector, cuts, seed):
    rng = derive(seed, "drifting")
    losses = (rng.random(600) < np.repeat([0.2, 0.8, 0.4], 200)) * 1.0
    events = np.cumsum(rng.integers(1, 4, 600))
    whole = detector.start()
    expected = whole.on_scores(events, losses)
    assert expected
    watch, found = detector.start(), []
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), 600], strict=True):
        found += watch.on_scores(events[begin:end], losses[begin:end])
        watch = detector.start(watch.state())
    content = [[(alarm.event, alarm.kind, alarm.since) for alarm in alarms] for alarms in (found, expected)]
    assert content[0] == content[1]
    assert all(np.array_equal(array, watch.state()[name]) for name, array in whole.state().items())


@given(size=st.integers(2000, 6000), seed=st.integers(0, 9))
@settings(max_examples=10, deadline=None)
def test_adwin_without_drift_keeps_the_whole_window_in_few_buckets(size, seed):
    losses = (derive(seed, "still").random(size) < 0.4) * 1.0
    watch = ADWIN(delta=1e-6).start()
    assert watch.on_scores(np.arange(size), losses) == []
    filled = watch.state()["filled"]
    assert filled.sum() <= 5 * (math.log2(size) + 1)
    assert (filled * 2.0 ** np.arange(filled.size)).sum() == size
