"""Curves, McNemar's test over windows and anytime-valid bounds, compared with plain loops."""

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

from recassay.comparison.over_time.compare import compare_over_time
from recassay.comparison.over_time.curves import over_time
from recassay.results.outcomes import Outcomes
from recassay.rng import derive
from recassay.stats.anytime import anytime_bounds, best_rho, boundary, faded_sums, log_mixture, running_sums
from recassay.stats.significance import run_test

from ..examples import examples

QUICK = settings(max_examples=examples(60), deadline=None)
VALUE = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1e6, 1e6), st.floats(-1e-9, 1e-9))
VALUES = st.lists(VALUE, min_size=1, max_size=60)
BITS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 4)), min_size=1, max_size=60)


def stream(system, values, gaps):
    event = np.cumsum(gaps) - 1
    return Outcomes(system, event, {"hit@1": np.array(values, float)}, events=int(event[-1]) + 3)


@given(values=VALUES)
@QUICK
def test_sums_of_ranges_are_exact_up_to_one_rounding(values):
    rounded, errors = running_sums(np.array(values))
    for begin in range(0, len(values), 7):
        for end in range(begin, len(values) + 1, 5):
            exact = float(sum((Fraction(value) for value in values[begin:end]), Fraction(0)))
            found = (rounded[end] - rounded[begin]) + (errors[end] - errors[begin])
            assert found == pytest.approx(exact, rel=1e-12, abs=1e-18 * max(map(abs, values)) * len(values))


def test_sums_late_in_a_long_stream_are_as_accurate_as_at_its_start():
    values = derive(1, "long").random(300_000) * 1e-3
    values[::1000] = 1e6
    rounded, errors = running_sums(values)
    found = (rounded[299_900] - rounded[299_001]) + (errors[299_900] - errors[299_001])
    assert found == pytest.approx(math.fsum(values[299_001:299_900]), rel=1e-15)
    prefix, _ = running_sums(values[:1000])
    assert np.array_equal(prefix, rounded[:1001])


@given(values=VALUES, fading=st.floats(0.01, 0.999))
@QUICK
def test_fading_sums_equal_a_loop(values, fading):
    last, expected = 0.0, []
    for value in values:
        last = value + fading * last
        expected.append(last)
    assert faded_sums(np.array(values), fading).tolist() == expected


@given(rows=BITS, window=st.integers(1, 20), by=st.sampled_from(["scored", "event", "time"]))
@QUICK
def test_moving_windows_equal_a_loop(rows, window, by):
    values, gaps = [float(a) for a, _, _ in rows], [gap for *_, gap in rows]
    outcomes = stream("a", values, gaps)
    timed = Outcomes("a", outcomes.event, outcomes.values, times=pl.Series(outcomes.event // 3), events=outcomes.events)
    table = over_time(timed, "hit@1", window=window, by=by).table
    where = {"scored": np.arange(len(rows)), "event": outcomes.event, "time": outcomes.event // 3}[by]
    for j, (value, n) in enumerate(table.select("value", "n").iter_rows()):
        inside = [values[i] for i in range(j + 1) if where[j] - window < where[i]]
        assert (n, value) == (len(inside), sum(inside) / len(inside))


@given(rows=BITS, window=st.integers(1, 30), alpha=st.sampled_from([0.3, 0.05]))
@QUICK
def test_signed_mcnemar_over_windows_equals_a_loop(rows, window, alpha):
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
    """Return the mixture by numerical integration of exp(l s - psi(l) v) over a gamma distribution of 1 - c l."""

    def density(rate):
        r = rho / c**2
        left = 1 - c * rate
        law = r**r * math.exp(-r * left) * left ** (r - 1) / (math.gamma(r) * gammainc(r, r))
        return c * law * math.exp(rate * s + (math.log(left) + c * rate) / c**2 * v)

    return quad(density, 0, 1 / c, limit=500)[0]


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("s", "v"), [(-3.0, 4.0), (0.0, 9.0), (5.0, 12.0), (20.0, 60.0)])
def test_the_closed_form_equals_the_integrated_mixture(s, v, c):
    rho = best_rho(30.0, 0.05)
    found = log_mixture(np.array([s]), np.array([v]), rho, c)[0]
    assert found == pytest.approx(math.log(mixture(s, v, rho, c)), abs=1e-7)


@pytest.mark.parametrize("tuned_for", [1.0, 100.0, 5000.0])
@pytest.mark.parametrize("alpha", [0.0005, 0.025, 0.4])
def test_the_boundary_is_the_root_of_the_mixture(alpha, tuned_for):
    v = np.array([0.0, 0.3, 1.0, 7.5, 100.0, 1e4, 3e6, 0.3])
    rho = best_rho(tuned_for, alpha)
    found = boundary(v, alpha, tuned_for)
    for spread, root in zip(v, found, strict=True):

        def gap(s, spread=spread):
            return log_mixture(np.array([s]), np.array([spread]), rho)[0] + math.log(alpha)

        assert root == pytest.approx(brentq(gap, 0, 100 + 50 * math.sqrt(spread), xtol=1e-10), rel=1e-7)


@given(rows=st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0]), min_size=1, max_size=80))
@QUICK
def test_bounds_at_an_event_do_not_depend_on_later_events_and_are_mirrored_by_the_sign(rows):
    d = np.array(rows)
    found, prefix, mirrored = anytime_bounds(d), anytime_bounds(d[: len(rows) // 2 + 1]), anytime_bounds(-d)
    size = prefix.mean.size
    assert np.array_equal(found.low[:size], prefix.low)
    assert np.array_equal(found.high[:size], prefix.high)
    assert np.array_equal(-mirrored.low, found.high)
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()
    scaled = anytime_bounds(4 * d, largest=4)
    assert np.array_equal(scaled.low, 4 * found.low)
