"""Curves, McNemar's test over windows and anytime-valid bounds against loops that anybody can read."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammainc

from recassay.comparison._running import faded_sums, running_sums
from recassay.comparison.anytime import anytime_bounds, best_rho, boundary, log_mixture
from recassay.comparison.compare_over_time import compare_over_time
from recassay.comparison.over_time import over_time
from recassay.comparison.significance import run_test
from recassay.data.outcomes import Outcomes
from recassay.rng import derive

QUICK = settings(max_examples=60, deadline=None)
VALUE = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1e6, 1e6), st.floats(-1e-9, 1e-9))
VALUES = st.lists(VALUE, min_size=1, max_size=60)
BITS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 4)), min_size=1, max_size=60)


def stream(system, values, gaps):
    event = np.cumsum(gaps) - 1
    return Outcomes(system, event, {"hit@1": np.array(values, float)}, events=int(event[-1]) + 3)


@given(values=VALUES)
@QUICK
def test_sums_of_stretches_are_exact_but_for_one_rounding(values):
    rounded, left = running_sums(np.array(values))
    for begin in range(0, len(values), 7):
        for end in range(begin, len(values) + 1, 5):
            exact = float(sum((Fraction(one) for one in values[begin:end]), Fraction(0)))
            found = (rounded[end] - rounded[begin]) + (left[end] - left[begin])
            assert found == pytest.approx(exact, rel=1e-12, abs=1e-18 * max(map(abs, values)) * len(values))


def test_sums_far_down_a_long_stream_are_as_good_as_at_its_start():
    values = derive(1, "long").random(300_000) * 1e-3
    values[::1000] = 1e6
    rounded, left = running_sums(values)
    found = (rounded[299_900] - rounded[299_001]) + (left[299_900] - left[299_001])
    assert found == pytest.approx(math.fsum(values[299_001:299_900]), rel=1e-15)
    again, _ = running_sums(values[:1000])
    assert np.array_equal(again, rounded[:1001])


@given(values=VALUES, fading=st.floats(0.01, 0.999))
@QUICK
def test_what_fades(values, fading):
    last, expected = 0.0, []
    for value in values:
        last = value + fading * last
        expected.append(last)
    assert faded_sums(np.array(values), fading).tolist() == expected


@given(rows=BITS, window=st.integers(1, 20), by=st.sampled_from(["scored", "event", "time"]))
@QUICK
def test_a_moving_window_is_what_a_loop_finds(rows, window, by):
    values, gaps = [float(a) for a, _, _ in rows], [gap for *_, gap in rows]
    outcomes = stream("a", values, gaps)
    timed = Outcomes("a", outcomes.event, outcomes.values, times=pl.Series(outcomes.event // 3), events=outcomes.events)
    table = over_time(timed, "hit@1", window=window, by=by).table
    where = {"scored": np.arange(len(rows)), "event": outcomes.event, "time": outcomes.event // 3}[by]
    for j, (value, n) in enumerate(table.select("value", "n").iter_rows()):
        behind = [values[i] for i in range(j + 1) if where[j] - window < where[i]]
        assert (n, value) == (len(behind), sum(behind) / len(behind))


@given(rows=BITS, window=st.integers(1, 30), alpha=st.sampled_from([0.3, 0.05]))
@QUICK
def test_signed_mcnemar_is_what_a_loop_finds(rows, window, alpha):
    a, b, gaps = (list(part) for part in zip(*rows, strict=True))
    found = compare_over_time(
        stream("a", a, gaps), stream("b", b, gaps), metric="hit@1", window=window, alpha=alpha
    ).curve
    for j, row in enumerate(found.iter_rows(named=True)):
        pairs = list(zip(a, b, strict=True))[max(0, j + 1 - window) : j + 1]
        n10, n01 = sum(x and not y for x, y in pairs), sum(y and not x for x, y in pairs)
        assert (row["only_a"], row["only_b"], row["partial"]) == (n10, n01, j + 1 < window)
        signed = 0.0 if n10 == n01 else math.copysign((n10 - n01) ** 2 / (n10 + n01), n10 - n01)
        assert row["mcnemar"] == signed
        p = run_test("mcnemar", np.array([[float(x) - float(y)] for x, y in pairs])).p[0]
        assert row["p"] == pytest.approx(p)
        claimed = p < alpha and n10 + n01 >= 10
        assert row["better"] == (("a" if n10 > n01 else "b") if claimed else None)


@given(rows=BITS, window=st.integers(1, 30))
@QUICK
def test_stretches_are_the_runs_of_claims(rows, window):
    a, b, gaps = (list(part) for part in zip(*rows, strict=True))
    found = compare_over_time(stream("a", a, gaps), stream("b", b, gaps), metric="hit@1", window=window, alpha=0.3)
    covered = {}
    for better, begin, end, scored in found.stretches.select("better", "from_event", "to_event", "scored").iter_rows():
        inside = [event for event in found.curve["event"] if begin <= event <= end]
        assert len(inside) == scored
        covered.update(dict.fromkeys(inside, better))
    assert [covered.get(event) for event in found.curve["event"]] == found.curve["better"].to_list()


def mixture(s, v, rho, c):
    """The mixture by numbers: exp(l s - psi(l) v) over a gamma law of what is left of l below 1 / c."""

    def density(rate):
        r = rho / c**2
        left = 1 - c * rate
        law = r**r * math.exp(-r * left) * left ** (r - 1) / (math.gamma(r) * gammainc(r, r))
        return c * law * math.exp(rate * s + (math.log(left) + c * rate) / c**2 * v)

    return quad(density, 0, 1 / c, limit=500)[0]


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("s", "v"), [(-3.0, 4.0), (0.0, 9.0), (5.0, 12.0), (20.0, 60.0)])
def test_the_closed_form_is_the_mixture(s, v, c):
    rho = best_rho(30.0, 0.05)
    found = log_mixture(np.array([s]), np.array([v]), rho, c)[0]
    assert found == pytest.approx(math.log(mixture(s, v, rho, c)), abs=1e-7)


@pytest.mark.parametrize("tuned_for", [1.0, 100.0, 5000.0])
@pytest.mark.parametrize("alpha", [0.0005, 0.025, 0.4])
def test_the_boundary_is_the_root(alpha, tuned_for):
    v = np.array([0.0, 0.3, 1.0, 7.5, 100.0, 1e4, 3e6, 0.3])
    rho = best_rho(tuned_for, alpha)
    found = boundary(v, alpha, tuned_for)
    for one, root in zip(v, found, strict=True):

        def short(s, one=one):
            return log_mixture(np.array([s]), np.array([one]), rho)[0] + math.log(alpha)

        assert root == pytest.approx(brentq(short, 0, 100 + 50 * math.sqrt(one), xtol=1e-10), rel=1e-7)


@given(rows=st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0]), min_size=1, max_size=80))
@QUICK
def test_bounds_at_an_event_are_those_of_the_stream_up_to_there_and_turn_with_the_sign(rows):
    d = np.array(rows)
    found, part, turned = anytime_bounds(d), anytime_bounds(d[: len(rows) // 2 + 1]), anytime_bounds(-d)
    size = part.mean.size
    assert np.array_equal(found.low[:size], part.low)
    assert np.array_equal(found.high[:size], part.high)
    assert np.array_equal(-turned.low, found.high)
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()
    assert found.decided == next((j for j in range(len(rows)) if found.low[j] > 0 or found.high[j] < 0), None)
    four = anytime_bounds(4 * d, largest=4)
    assert np.array_equal(four.low, 4 * found.low)


def _restless(rng, n):
    """Each difference has mean 0 given the past, and a spread that hangs on how the last ones fell."""
    signs = rng.choice([-1.0, 1.0], n)
    lately = np.convolve(signs, np.ones(10))[: n - 1] > 0
    return signs * np.append(1.0, np.where(lately, 1.0, 0.1))


NULLS = {
    "coin, 0 or 1": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "rare": lambda rng, n: (rng.random(n) < 0.05) * rng.choice([-1.0, 1.0], n),
    "skewed": lambda rng, n: np.where(rng.random(n) < 0.1, 0.9, -0.1),
    "spread hangs on the past": _restless,
}


@pytest.mark.parametrize("null", NULLS)
def test_false_alarms_on_null_streams_are_as_rare_as_promised(null):
    streams, n, alpha = 300, 2000, 0.05
    rng = derive(11, "null", null)
    alarms = sum(anytime_bounds(NULLS[null](rng, n), alpha=alpha).decided is not None for _ in range(streams))
    assert alarms <= alpha * streams + 3 * math.sqrt(streams * alpha * (1 - alpha))


def test_bounds_hold_under_drift_for_the_mean_of_what_was_expected():
    streams, n, missed = 200, 3000, 0
    expected = np.where(np.arange(n) < 1000, 0.2, -0.3)
    so_far = np.cumsum(expected) / np.arange(1, n + 1)
    rng = derive(12, "drift")
    for _ in range(streams):
        bounds = anytime_bounds(np.where(rng.random(n) < (1 + expected) / 2, 1.0, -1.0), alpha=0.1)
        missed += bool(((bounds.low > so_far) | (bounds.high < so_far)).any())
    assert missed <= 0.1 * streams
    assert bounds.high[-1] < 0
