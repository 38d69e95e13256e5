"""Moments: worked values, cases without an interval, and numbers near the limits of floats."""

import math
import pickle

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.stats.intervals import Uncertainty, bounds_from_moments, intervals, is_analytic
from recassay.stats.moments import InfluenceSums, Totals

D = np.array([0.05, 0.02, -0.05, 0.11, 0.05, 0.08, 0.0, 0.07])


def totals_and_influence(values, weights=None):
    values = np.asarray(values, float)
    weights = None if weights is None else np.asarray(weights, float)
    totals = Totals.of(values, weights)
    return totals, InfluenceSums.of(values, weights, totals)


def bounds(values, weights=None, method="normal", level=0.95):
    return bounds_from_moments(*totals_and_influence(values, weights), method=method, level=level)


def test_a_mean_is_rounded_once():
    assert Totals.of(np.full(10, 0.1)).mean == 0.1
    assert Totals.of(np.array([1e100, 1.0, -1e100]), np.array([1.0, 2.0, 1.0])).mean == 0.5


def test_without_weights_every_unit_has_weight_one():
    assert Totals.of(D[:3]) + Totals.of(D[3:], np.ones(5)) == Totals.of(D)
    assert totals_and_influence(D)[1].moments.curvature == 0.0
    assert totals_and_influence(D, np.full(8, 3.0))[1].moments.curvature == pytest.approx(0, abs=1e-15)


def test_influence_sums_without_weights_use_the_unweighted_mean_of_weighted_totals():
    weights = np.array([0, 0, 0, 0, 0, 0, 1, 1000.0])
    plain = InfluenceSums.of(D, None, Totals.of(D, weights))
    assert plain.estimate == Totals.of(D).mean
    assert plain.moments.standard_error == pytest.approx(D.std(ddof=1) / math.sqrt(8), rel=1e-14)


@pytest.mark.parametrize("method", ["abc", "normal", "bootstrap"])
@pytest.mark.parametrize(
    ("values", "weights"), [([], None), ([0.5], None), ([0.5, 0.7], [1, 0]), ([0.5, 0.7], [0, 0]), ([], [])]
)
def test_fewer_than_two_units_with_a_weight_have_no_interval(method, values, weights):
    assert np.isnan(bounds(values, weights, method)).all()
    assert totals_and_influence(values, weights)[1].moments.standard_error >= 0 or not sum(weights)


@pytest.mark.parametrize("method", ["abc", "normal"])
@pytest.mark.parametrize(("values", "weights"), [([0.3] * 7, None), ([0.3, 9.0, 0.3], [1, 0, 2])])
def test_equal_values_have_an_interval_of_width_zero(method, values, weights):
    assert bounds(values, weights, method) == pytest.approx((0.3, 0.3), rel=1e-15)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0]])
@pytest.mark.parametrize("method", ["abc", "normal"])
def test_an_infinite_value_has_no_interval(method, weights):
    totals, _ = totals_and_influence([1.0, math.inf, 2.0], weights)
    assert totals.mean == math.inf
    assert np.isnan(bounds([1.0, math.inf, 2.0], weights, method)).all()


@pytest.mark.parametrize("power", [-900, -340, 340, 900])
@pytest.mark.parametrize("weights", [None, np.arange(8.0)])
def test_scaling_values_by_a_power_of_two_does_not_change_skewness(power, weights):
    """Cubes of very large and very small numbers stay within the range of floats."""
    totals, influence = totals_and_influence(D, weights)
    scaled_totals, scaled_influence = totals_and_influence(np.ldexp(D, power), weights)
    assert scaled_totals.mean == math.ldexp(totals.mean, power)
    assert scaled_influence.moments.acceleration == influence.moments.acceleration
    assert scaled_influence.moments.curvature == influence.moments.curvature
    assert influence.moments.acceleration != 0
    if abs(power) < 500:
        found = bounds(np.ldexp(D, power), weights, "abc")
        assert found == tuple(math.ldexp(bound, power) for bound in bounds(D, weights, "abc"))


@pytest.mark.parametrize("weights", [None, np.array([2.0, 1.0])])
def test_differences_too_small_to_square_give_the_same_bounds_as_intervals(weights):
    """The spread underflows, in sums and in :func:`intervals` alike."""
    values = np.array([1e-200, 2e-200])
    for method in ("abc", "normal"):
        column = None if weights is None else weights[:, None]
        wanted = np.ravel(intervals(values[:, None], column, method=method))
        assert bounds(values, weights, method) == pytest.approx(tuple(wanted), rel=1e-12, abs=0)


def test_abc_and_normal_are_analytic_and_bootstrap_only_for_many_units():
    assert [is_analytic(method, 10) for method in ("bootstrap", "bca", "percentile", "abc", "normal")] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert is_analytic("bootstrap", 11, few=10)
    assert not is_analytic("bootstrap", 10, few=10)
    with pytest.raises(UsageError, match="no interval method 'abd'"):
        is_analytic("abd", 10)
    with pytest.raises(UsageError, match="level must be between 0 and 1, got 95"):
        Uncertainty(level=95)


def test_pickled_moments_are_small():
    values, weights = np.random.default_rng(1).random(10_000), np.random.default_rng(2).random(10_000)
    for moments in totals_and_influence(values, weights):
        assert len(pickle.dumps(moments)) < 1500
