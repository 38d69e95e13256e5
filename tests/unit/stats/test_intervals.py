"""Intervals: worked values, independent implementations, edge cases and coverage."""

from __future__ import annotations

import itertools
import math
from typing import get_args

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.errors import UsageError
from recassay.naming.choices import IntervalMethod
from recassay.stats import intervals as module
from recassay.stats.intervals import ColumnInfluence, Uncertainty, intervals, means, percentile

D = np.array([0.05, 0.02, -0.05, 0.11, 0.05, 0.08, 0.0, 0.07])


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1).filter(lambda value: abs(value) > 1e-6), min_size=2, max_size=200))
def test_squares_of_influences_add_up_as_exact_sums(values):
    column = ColumnInfluence(0.0, np.array(values), 0.0, None, np.empty(0))
    assert column.squares == pytest.approx(math.fsum(value * value for value in values), rel=1e-12)


def test_worked_percentile_interval_by_all_256_resamples_of_four_units():
    d = np.array([0.05, 0.02, -0.05, 0.11])
    resampled = np.array([np.mean(units) for units in itertools.product(d, repeat=4)])
    assert resampled.size == 256
    low, high = percentile(ColumnInfluence(d.mean(), d - d.mean(), 0.0, d, resampled), 0.95)
    assert (low, high) == pytest.approx((-0.025, 0.0875), abs=5e-7)
    assert np.mean(resampled <= 1e-15) == pytest.approx(0.144531, abs=5e-7)


@pytest.mark.parametrize("n", [5, 60, 2000])
def test_bca_and_percentile_agree_with_scipy_on_the_same_resamples(n):
    values = np.random.default_rng(n).exponential(size=n)
    resampled = module.bootstrap_sums(values[None], 4000, module.ResamplingOptions(seed=9))[0] / n

    class Drawn:
        bootstrap_distribution = resampled

    for ours, theirs in (("bca", "BCa"), ("percentile", "percentile")):
        low, high = intervals(values[:, None], method=ours, resamples=4000, seed=9)
        # scipy gets our resamples, so only the interval is computed independently
        other = scipy.stats.bootstrap((values,), np.mean, n_resamples=0, bootstrap_result=Drawn(), method=theirs)
        assert (low[0], high[0]) == pytest.approx(tuple(other.confidence_interval), rel=1e-9)


def test_analytic_formula_equals_the_definition_by_finite_differences():
    random = np.random.default_rng(8)
    v, w = random.exponential(size=40), random.integers(1, 9, size=40).astype(float)
    n, p0 = v.size, np.full(v.size, 1 / v.size)

    def ratio(p):
        return (p @ (w * v)) / (p @ w)

    step = 1e-4
    push = [step * (np.eye(n)[i] - p0) for i in range(n)]
    first = np.array([(ratio(p0 + e) - ratio(p0 - e)) / (2 * step) for e in push])
    second = np.array([(ratio(p0 + e) - 2 * ratio(p0) + ratio(p0 - e)) / step**2 for e in push])
    sigma = np.sqrt(np.sum(first**2)) / n
    a = np.sum(first**3) / (6 * np.sum(first**2) ** 1.5)
    along = first / (n**2 * sigma)
    bend = (ratio(p0 + step * along) - 2 * ratio(p0) + ratio(p0 - step * along)) / (2 * sigma * step**2)
    z0 = scipy.stats.norm.ppf(
        2 * scipy.stats.norm.cdf(a) * scipy.stats.norm.cdf(bend - second.sum() / (2 * n**2 * sigma))
    )
    for level in (0.8, 0.95):
        low, high = intervals(v[:, None], w[:, None], method="abc", level=level)
        for bound, share in ((low[0], (1 - level) / 2), (high[0], (1 + level) / 2)):
            x = z0 + scipy.stats.norm.ppf(share)
            assert bound == pytest.approx(ratio(p0 + x / (1 - a * x) ** 2 * along), rel=1e-5)


def test_default_is_bca_up_to_50_000_units_and_analytic_above(monkeypatch):
    values = np.random.default_rng(1).random((module.LARGE + 1, 1))
    assert np.array_equal(intervals(values), intervals(values, method="abc"))
    assert np.array_equal(intervals(values[:200]), intervals(values[:200], method="bca"))
    monkeypatch.setattr(module, "bootstrap_sums", lambda *_: pytest.fail("no resampling is needed"))
    intervals(values)


def test_equal_weights_give_the_interval_without_weights():
    values = np.random.default_rng(1).random((70, 2))
    for method in get_args(IntervalMethod):
        plain = np.array(intervals(values, method=method))
        assert np.allclose(plain, intervals(values, np.full((70, 2), 3.0), method=method), rtol=1e-9)


def test_weights_act_like_repeated_units_for_the_mean_but_not_for_the_interval():
    values, weights = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [1.0], [2.0]])
    assert means(values, weights)[0] == pytest.approx(means(np.repeat(values, [1, 1, 2], axis=0))[0])
    low, high = intervals(values, weights, method="percentile")
    assert 1.0 <= low[0] < 2.75 < high[0] <= 4.0


def test_columns_share_their_resamples():
    values = np.random.default_rng(1).random((50, 1))
    low, high = intervals(np.hstack([values, 2 * values, -values]), method="percentile")
    assert (low[1], high[1]) == pytest.approx((2 * low[0], 2 * high[0]))
    assert (low[2], high[2]) == pytest.approx((-high[0], -low[0]))


@pytest.mark.parametrize("method", get_args(IntervalMethod))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_has_the_same_bits_alone_and_with_other_columns(method, weighted):
    random = np.random.default_rng(1)
    values, weights = random.random((1200, 5)), random.random((1200, 5)) if weighted else None
    together = np.array([means(values, weights), *intervals(values, weights, method=method, resamples=500)])
    for j in range(5):
        v, w = values[:, [j]], None if weights is None else weights[:, [j]]
        alone = np.array([means(v, w), *intervals(v, w, method=method, resamples=500)])
        assert np.array_equal(alone[:, 0], together[:, j])


@pytest.mark.parametrize("method", get_args(IntervalMethod))
def test_too_few_units_give_nan_and_equal_values_give_no_width(method):
    assert np.isnan(intervals(np.empty((0, 2)), method=method)).all()
    assert np.isnan(intervals(np.array([[0.3, 0.4]]), method=method)).all()
    low, high = intervals(np.column_stack([np.full(7, 0.3), np.arange(7.0)]), method=method)
    assert low[0] == high[0] == means(np.full((7, 1), 0.3))[0]
    assert low[1] < 3.0 < high[1]
    assert np.isnan(intervals(np.array([[1.0], [np.nan], [2.0]]), method=method)).all()
    weights = np.array([[0.0], [2.0], [0.0]])
    assert np.isnan(intervals(np.array([[1.0], [2.0], [3.0]]), weights, method=method)).all()  # one unit with weight


@pytest.mark.parametrize("method", get_args(IntervalMethod))
def test_bounds_of_a_binary_metric_stay_within_its_range(method):
    values = np.array([[0.0], [1.0], [1.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0]])
    low, high = intervals(values, method=method)
    assert low[0] < 0.2 < high[0] < 1
    if method not in {"normal", "abc"}:
        assert low[0] >= 0


def test_unknown_methods_and_invalid_levels_are_rejected():
    with pytest.raises(UsageError, match="U107"):
        Uncertainty("bayes")
    with pytest.raises(UsageError, match="U102"):
        Uncertainty(level=95)
