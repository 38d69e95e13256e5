"""Differences of group means: Welch's test and the paired test as special cases, power means, false-alarm rates."""

import numpy as np
import pytest
import scipy.stats

from recassay.stats.group_means import GroupMean, difference, p_of_pairs
from recassay.stats.significance import SMALLEST_P


def group(values, begin=0, weights=None, power=1.0):
    values = np.asarray(values, float)
    return GroupMean.of(np.arange(begin, begin + values.size), values, weights, power)


def test_groups_without_common_units_get_welchs_test():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.3, 0.1, 40), rng.normal(0.35, 0.3, 25)
    found = difference(group(a), group(b, begin=40), level=0.9)
    other = scipy.stats.ttest_ind(a, b, equal_var=False)
    low, high = other.confidence_interval(0.9)
    assert found.p == pytest.approx(other.pvalue, rel=1e-9)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))
    assert found == difference(group(a), group(b, begin=40), level=0.9, disjoint=True)


def test_groups_of_the_same_units_get_the_paired_test():
    rng = np.random.default_rng(4)
    a = rng.random(30)
    b = a + rng.normal(0.05, 0.1, 30)
    found, other = difference(group(a), group(b)), scipy.stats.ttest_rel(a, b)
    low, high = other.confidence_interval()
    assert found.p == pytest.approx(other.pvalue, rel=1e-9)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


def test_common_units_make_the_difference_of_similar_groups_more_certain():
    values = np.random.default_rng(5).random(40)
    a, b = GroupMean.of(np.arange(30), values[:30]), GroupMean.of(np.arange(10, 40), values[10:])
    apart = GroupMean.of(np.arange(30), values[10:])
    shared, disjoint = difference(a, b), difference(a, GroupMean.of(np.arange(30, 60), values[10:]))
    assert shared.high - shared.low < disjoint.high - disjoint.low
    assert apart.mean == b.mean


def test_weights_enter_the_standard_error():
    rng = np.random.default_rng(6)
    values, weights = rng.random(50), rng.integers(1, 9, 50).astype(float)
    found = group(values, weights=weights)
    mean = np.average(values, weights=weights)
    influence = weights * (values - mean) / weights.mean()
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(np.sqrt((influence**2).sum() / (50 * 49)))


def test_a_root_mean_square_has_the_error_of_its_root():
    errors = np.random.default_rng(7).random(200)
    found = group(errors, power=2.0)
    squares = errors**2
    assert found.mean == pytest.approx(np.sqrt(squares.mean()))
    assert found.error == pytest.approx(squares.std(ddof=1) / np.sqrt(200) / (2 * found.mean))


def test_groups_without_variance_differ_surely_or_not_at_all():
    ones, zeros = group(np.ones(10)), group(np.zeros(10), begin=10)
    assert difference(ones, zeros).p == SMALLEST_P
    assert difference(ones, group(np.ones(12), begin=10)).p == 1.0


def test_an_infinite_value_leaves_the_difference_untested():
    found = difference(group([np.inf, 1.0, 2.0]), group([0.0, 1.0], begin=3))
    assert found.difference == np.inf
    assert np.isnan(found.p)


def test_p_of_pairs_is_corrected_over_all_pairs():
    rng = np.random.default_rng(8)
    groups = [group(rng.random(20), begin=20 * i) for i in range(4)]
    plain, holm = p_of_pairs(groups, "none"), p_of_pairs(groups, "holm")
    assert len(plain) == 6
    assert min(holm.values()) == pytest.approx(min(1.0, 6 * min(plain.values())))
