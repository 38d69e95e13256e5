"""The interval of Kendall's tau is the jackknife's, and covers the tau of the population."""

import numpy as np
import pytest

from recassay.stats.ranks import kendall, kendall_interval


def test_the_interval_is_that_of_tau_without_each_pair():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 9, 15).astype(float)
    b = a + rng.normal(0, 3, 15).round()
    without = np.array([kendall(np.delete(a, i), np.delete(b, i)) for i in range(15)])
    error = np.sqrt(14 / 15 * np.sum((without - without.mean()) ** 2))
    low, high = kendall_interval(a, b)
    assert high - kendall(a, b) == pytest.approx(2.1447867 * error)  # Student's t with 14 degrees of freedom
    assert kendall(a, b) - low == pytest.approx(2.1447867 * error)


def test_few_numbers_have_no_interval():
    assert np.isnan(kendall_interval([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])).all()
