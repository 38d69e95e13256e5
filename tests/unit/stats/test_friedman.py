"""Friedman and Nemenyi: worked values and comparison with scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from recassay.stats.over_datasets import exact_p, friedman, nemenyi_q

TABLE = np.array(
    [
        [0.50, 0.45, 0.40],
        [0.62, 0.60, 0.61],
        [0.30, 0.35, 0.25],
        [0.81, 0.70, 0.72],
        [0.45, 0.40, 0.30],
        [0.70, 0.62, 0.55],
    ]
)


@pytest.mark.parametrize(("k", "q"), [(2, 1.959964), (3, 2.343701), (4, 2.569032), (5, 2.727774), (10, 3.163684)])
def test_nemenyi_quantiles_agree_with_the_studentized_range(k, q):
    assert nemenyi_q(k) == pytest.approx(q, abs=5e-7)
    assert nemenyi_q(k, 0.01) == pytest.approx(scipy.stats.studentized_range.ppf(0.99, k, np.inf) / 2**0.5, rel=1e-8)


def test_agrees_with_scipy_when_values_tie():
    table = np.random.default_rng(4).integers(0, 4, size=(12, 5)).astype(float)
    other = scipy.stats.friedmanchisquare(*table.T)
    result = friedman(table)
    assert (result.chi_square, result.p) == pytest.approx((other.statistic, other.pvalue), rel=1e-9)
    assert friedman(-table, higher_is_better=False) == result


def test_p_is_one_without_differences_and_near_zero_for_a_total_order():
    assert friedman(np.ones((4, 3))).p == 1.0
    certain = friedman(np.tile([3.0, 2.0, 1.0], (5, 1)))
    assert (certain.f, certain.mean_ranks) == (np.inf, (1.0, 2.0, 3.0))
    assert 0 <= certain.p_f < 1e-6


@pytest.mark.parametrize(("table", "p"), [(TABLE, 0.029), (TABLE[:3], 0.361), (TABLE[:4], 0.273), (TABLE[:5], 0.093)])
def test_exact_p_agrees_with_the_tables_of_friedman(table, p):
    assert friedman(table).p_exact == pytest.approx(p, abs=0.0005)


def test_exact_p_is_the_share_of_all_orders_that_are_as_far_apart_also_with_ties():
    ranks = np.array([[1.5, 1.5, 3.0], [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 2.5, 2.5]])
    each = [set(itertools.permutations(row)) for row in ranks.tolist()]
    spreads = [np.square(np.sum(orders, axis=0)).sum() for orders in itertools.product(*each)]
    assert exact_p(ranks) == pytest.approx(np.mean(np.array(spreads) >= np.square(ranks.sum(axis=0)).sum()))


def test_exact_p_is_left_out_where_it_is_too_much_work():
    table = np.random.default_rng(1).random((30, 10))
    assert np.isnan(friedman(table).p_exact)
