"""The canonical pairs of full and sampled rank satisfy their definition, for every way to compute them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from recassay.sampled.joint import coefficients, joint_ranks, log_edge_values, polynomial_values

from ...examples import examples


def rank_probabilities(pool, sample, replace):
    """Return P(q | r), with q in columns, computed by scipy."""
    above, seen = np.arange(pool + 1)[:, None], np.arange(sample + 1)[None, :]
    return binom.pmf(seen, sample, above / pool) if replace else hypergeom.pmf(seen, pool, above, sample)


@pytest.mark.parametrize("last", [1, 4, 9, 40])
def test_polynomials_equal_their_explicit_sum(last):
    """Q_k(x) = sum_j (-k)_j (k+1)_j (-x)_j / ((-N)_j j!^2), which is 1 at 0, in integers."""
    found = polynomial_values(last, last + 1)

    def rising(a, j):
        return math.prod(a + i for i in range(j))

    for k in range(min(last, 12) + 1):
        for x in range(last + 1):
            terms = (
                rising(-k, j) * rising(k + 1, j) * rising(-x, j) / (rising(-last, j) * math.factorial(j) ** 2)
                for j in range(k + 1)
            )
            assert found[x, k] / found[0, k] == pytest.approx(math.fsum(terms), abs=1e-6 * 3**k)


@pytest.mark.parametrize("credit", [np.ones(1), np.ones(7), 1 / np.arange(1, 21), 1 / np.arange(1, 14.0), np.ones(11)])
def test_coefficients_are_mean_products(credit):
    padded = np.zeros(20)
    padded[: credit.size] = credit
    assert coefficients(19, 15, credit) == pytest.approx(polynomial_values(19, 15).T @ padded / 20, abs=1e-14)


def test_logs_of_edge_values_are_finite_where_the_values_underflow():
    assert np.isfinite(log_edge_values(3_000, 3_001)).all()
    assert log_edge_values(3_000, 3_001)[-1] < np.log(5e-324)


CASES = st.tuples(st.integers(1, 60), st.integers(1, 60), st.booleans()).filter(
    lambda case: case[2] or case[1] <= case[0]
)


@given(CASES)
@settings(max_examples=examples(60), deadline=None)
def test_pairs_satisfy_their_definition(case):
    """They are orthonormal under the probabilities of the sampled rank, and E[phi_k(q) | r] = rho_k psi_k(r)."""
    pool, sample, replace = case
    chance = rank_probabilities(pool, sample, replace)
    joint = joint_ranks(pool, sample, replace=replace)
    assert joint.chances == pytest.approx(chance.mean(axis=0), abs=1e-12)
    assert joint.kept[0] == pytest.approx(1)
    assert (np.diff(joint.kept) <= 1e-12).all()
    sure = joint.kept > 1e-6
    seen, kept = np.nan_to_num(joint.seen[:, sure]), joint.kept[sure]
    assert seen.T @ (joint.chances[:, None] * seen) == pytest.approx(np.eye(kept.size), abs=1e-9)
    full = chance @ seen / kept
    assert full.T @ full / (pool + 1) == pytest.approx(np.eye(kept.size), abs=1e-5)
    credit = 1 / np.arange(1.0, pool + 2)
    assert joint.coefficients(credit)[sure] == pytest.approx(full.T @ credit / (pool + 1), abs=1e-5)


@pytest.mark.parametrize(("pool", "sample"), [(60, 60), (3_416, 100), (1_000, 1_000), (400, 300)])
def test_correlations_without_replacement_equal_their_closed_form(pool, sample):
    """Without replacement rho_k^2 = m!/(m-k)! (m+1)!/(m+k+1)! (N-k)!/N! (N+k+1)!/(N+1)!, by log-gamma."""
    kept = joint_ranks(pool, sample, replace=False).kept
    for k in range(min(kept.size, 40)):
        factorials = (sample, sample + 1, pool - k, pool + k + 1), (sample - k, sample + k + 1, pool, pool + 1)
        over, under = (sum(math.lgamma(n + 1) for n in part) for part in factorials)
        assert kept[k] ** 2 == pytest.approx(math.exp(over - under), rel=1e-9)


def test_a_sample_of_all_candidates_has_correlations_of_one():
    joint = joint_ranks(60, 60, replace=False)
    assert joint.kept == pytest.approx(np.ones(61))


@given(CASES, st.integers(0, 10_000))
@settings(max_examples=examples(40), deadline=None)
def test_a_uniform_prior_gives_the_result_without_a_prior(case, seed):
    """The general method and the fast methods give the same estimates of any function of the full rank."""
    pool, sample, replace = case
    quick = joint_ranks(pool, sample, replace=replace)
    slow = joint_ranks(pool, sample, replace=replace, prior=np.full(pool + 1, 1 / (pool + 1)))
    credit = np.random.default_rng(seed).random(pool + 1)
    estimates = [
        joint.seen @ (joint.kept / (0.9 * joint.kept**2 + 0.1) * joint.coefficients(credit)) for joint in (quick, slow)
    ]  # fmt: skip
    assert estimates[0] == pytest.approx(estimates[1], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(("pool", "replace"), [(3_416, False), (3_416, True), (20_000, False), (20_000, True)])
def test_fast_methods_are_exact_on_large_pools(pool, replace):
    quick = joint_ranks(pool, 100, replace=replace)
    slow = joint_ranks(pool, 100, replace=replace, prior=np.full(pool + 1, 1 / (pool + 1)))
    for credit in (np.ones(10), 1 / np.arange(1.0, pool + 2)):
        for gamma in (0.01, 0.1, 1.0):
            estimates = [
                joint.seen @ (joint.kept / ((1 - gamma) * joint.kept**2 + gamma) * joint.coefficients(credit))
                for joint in (quick, slow)
            ]  # fmt: skip
            assert estimates[0] == pytest.approx(estimates[1], abs=1e-9)


def test_ranks_that_a_prior_rules_out_are_nan():
    """With two candidates, both sampled, and the item certainly first, it is never second or third."""
    joint = joint_ranks(2, 2, replace=False, prior=np.array([1.0, 0.0, 0.0]))
    assert joint.chances.tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(joint.seen[1:]).all()
