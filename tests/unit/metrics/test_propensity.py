"""The exponent of the power law of popularity, on counts drawn from known power laws."""

import math

import numpy as np
import pytest
from scipy.special import zeta

from recassay.metrics.debiased import power_law_exponent, propensities
from recassay.rng import derive


@pytest.mark.parametrize("gamma", [1.5, 2.0, 2.5, 3.0])
def test_the_exponent_of_drawn_counts_is_recovered(gamma):
    """Within four standard errors; the information of one count is the variance of ln n."""
    n = 50_000
    counts = derive(7, "zeta", str(gamma)).zipf(gamma, n)
    counts = counts[counts < 10**9]  # drops the few draws beyond the range of the sum below
    k = np.arange(1, 10**6, dtype=np.float64)
    p = k**-gamma / zeta(gamma)
    spread = math.sqrt((p * np.log(k) ** 2).sum() - (p * np.log(k)).sum() ** 2)
    assert power_law_exponent(counts) == pytest.approx(gamma, abs=4 / (spread * math.sqrt(n)) + 0.01)


def test_the_exponent_maximises_the_likelihood():
    counts = np.array([1, 1, 1, 1, 2, 2, 3, 5, 0])
    seen = counts[counts > 0]

    def likelihood(gamma):
        return -gamma * np.log(seen).sum() - seen.size * math.log(zeta(gamma))

    best = power_law_exponent(counts)
    assert likelihood(best) >= max(likelihood(gamma) for gamma in np.linspace(1.001, 20, 20_000))


def test_the_exponent_of_no_counts_is_nan_and_of_ones_is_the_steepest():
    assert math.isnan(power_law_exponent(np.zeros(3, np.int64)))
    assert power_law_exponent(np.ones(5, np.int64)) == pytest.approx(20, abs=1e-6)


def test_the_order_of_counts_changes_no_bit():
    counts = derive(1, "counts").integers(0, 1000, 500)
    assert power_law_exponent(counts) == power_law_exponent(counts[::-1])


def test_propensities_are_powers_of_shares_and_not_below_the_floor():
    counts = np.array([8, 4, 2, 1, 0])
    assert propensities(counts, 10, 1.0)[:4] == pytest.approx([0.8, 0.4, 0.2, 0.1])
    assert propensities(counts, 10, -1.0)[:4].tolist() == [1, 1, 1, 1]
    assert propensities(counts, 10, 1.0, p_min=0.3)[:4] == pytest.approx([0.8, 0.4, 0.3, 0.3])
    assert math.isnan(propensities(counts, 10, 1.0, p_min=0.3)[4])
