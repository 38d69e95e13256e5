"""Analytic intervals: cases without an interval, and numbers near the limits of floats."""

import math

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.stats.intervals import Uncertainty, intervals, is_analytic

D = np.array([0.05, 0.02, -0.05, 0.11, 0.05, 0.08, 0.0, 0.07])


def bounds(values, weights=None, method="normal"):
    column = None if weights is None else np.asarray(weights, float)[:, None]
    return tuple(np.ravel(intervals(np.asarray(values, float)[:, None], column, method=method)))


@pytest.mark.parametrize("method", ["abc", "normal", "bootstrap"])
@pytest.mark.parametrize(
    ("values", "weights"), [([], None), ([0.5], None), ([0.5, 0.7], [1, 0]), ([0.5, 0.7], [0, 0]), ([], [])]
)
def test_fewer_than_two_units_with_a_weight_have_no_interval(method, values, weights):
    assert np.isnan(bounds(values, weights, method)).all()


@pytest.mark.parametrize("method", ["abc", "normal"])
@pytest.mark.parametrize(("values", "weights"), [([0.3] * 7, None), ([0.3, 9.0, 0.3], [1, 0, 2])])
def test_equal_values_have_an_interval_of_width_zero(method, values, weights):
    assert bounds(values, weights, method) == pytest.approx((0.3, 0.3), rel=1e-15)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0]])
@pytest.mark.parametrize("method", ["abc", "normal"])
def test_an_infinite_value_has_no_interval(method, weights):
    assert np.isnan(bounds([1.0, math.inf, 2.0], weights, method)).all()


@pytest.mark.parametrize("power", [-340, 340])
@pytest.mark.parametrize("weights", [None, np.arange(8.0)])
def test_scaling_values_by_a_power_of_two_scales_the_bounds(power, weights):
    found = bounds(np.ldexp(D, power), weights, "abc")
    assert found == pytest.approx(tuple(math.ldexp(bound, power) for bound in bounds(D, weights, "abc")), rel=1e-12)


def test_abc_and_normal_are_analytic_and_bootstrap_only_for_many_units():
    assert [is_analytic(method, 10) for method in ("bootstrap", "bca", "percentile", "abc", "normal")] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert is_analytic("bootstrap", 50_001)
    assert not is_analytic("bootstrap", 50_000)
    with pytest.raises(UsageError, match="level must be between 0 and 1, got 95"):
        Uncertainty(level=95)
