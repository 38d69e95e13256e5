"""Bayesian tests compared with loops, with scipy and with values derived by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from recassay.errors import UsageError
from recassay.rng import derive
from recassay.stats.over_datasets import STRENGTH, Chances, correlated_t, dirichlets, signed_rank


def by_loops(differences, rope, seed, samples):
    """Return the three shares by the definition, one draw and one pair at a time."""
    z = [0.0, *differences]
    rng = derive(seed, "Bayesian signed rank", len(differences))
    shares = dirichlets(rng, np.array([STRENGTH, *[1.0] * len(differences)]), samples)
    wins = np.zeros(3)
    for w in shares:
        regions = np.zeros(3)
        for (i, first), (j, second) in itertools.product(enumerate(z), repeat=2):
            region = 2 if first + second > 2 * rope else 0 if first + second < -2 * rope else 1
            regions[region] += w[i] * w[j]
        largest = regions >= regions.max() - 1e-12
        wins += largest / largest.sum()
    return wins / samples


def test_signed_rank_equals_its_definition():
    differences = np.array([0.03, -0.02, 0.01, 0.05, 0.0, -0.01])
    for rope in (0.0, 0.01, 0.03):
        found = signed_rank(differences, rope=rope, seed=5, samples=400)
        assert found == pytest.approx(by_loops(differences, rope, 5, 400), abs=1e-12)


def test_signed_rank_repeats_with_the_seed_and_is_mirrored_by_the_sign():
    differences = np.random.default_rng(1).normal(0.01, 0.03, 9)
    found = signed_rank(differences, rope=0.01, seed=1)
    assert found == signed_rank(differences, rope=0.01, seed=1)
    turned = signed_rank(-differences, rope=0.01, seed=1)
    assert (turned.better, turned.worse) == (found.worse, found.better)
    assert sum(found) == pytest.approx(1)


def test_one_large_difference_against_the_prior_by_hand():
    """Let w be the share of the data set and 1 - w that of the prior; for a large d, better gets w^2 + 2 w (1 - w).

    That is more than the rest, (1 - w)^2, if w > 1 - sqrt(1/2); w is Beta(1, 1/2).
    """
    chance = scipy.stats.beta(1, STRENGTH).sf(1 - np.sqrt(0.5))
    assert signed_rank(np.array([1.0]), rope=0.1, samples=200_000).better == pytest.approx(chance, abs=0.005)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.05])
def test_correlated_t_agrees_with_scipy(rope):
    d = np.random.default_rng(2).normal(0.02, 0.02, 10)
    law = scipy.stats.t(9, d.mean(), np.sqrt((1 / 10 + 0.1 / 0.9) * d.var(ddof=1)))
    found = correlated_t(d, rho=0.1, rope=rope)
    assert found == pytest.approx((law.cdf(-rope), law.cdf(rope) - law.cdf(-rope), law.sf(rope)), abs=1e-9)


def test_correlated_t_without_correlation_is_the_t_test():
    d = np.random.default_rng(2).normal(0.02, 0.02, 10)
    assert 2 * correlated_t(d, rho=0, rope=0).worse == pytest.approx(scipy.stats.ttest_1samp(d, 0).pvalue, rel=1e-9)


def test_folds_with_equal_differences_give_certainty():
    assert correlated_t(np.full(5, 0.02), rho=0.2, rope=0.01) == Chances(0.0, 0.0, 1.0)
    assert correlated_t(np.full(5, 0.01), rho=0.2, rope=0.01) == Chances(0.0, 1.0, 0.0)


def test_invalid_arguments_are_rejected():
    with pytest.raises(UsageError, match="U102"):
        signed_rank(np.array([0.1]), rope=float("nan"))
    with pytest.raises(UsageError, match="U102"):
        correlated_t(np.array([0.1]), rho=0.2, rope=0.01)
    with pytest.raises(UsageError, match="U102"):
        correlated_t(np.array([0.1, 0.2]), rho=1.0, rope=0.01)
