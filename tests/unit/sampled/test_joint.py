"""The pairs of functions of full and sampled rank are what their definition says, for every way to get them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from recassay.sampled.joint import joint_of
from recassay.sampled.polynomials import coefficients, log_edges, values


def law(pool, sample, replace):
    """P(q | r), with q in columns, from a library of distributions."""
    above, seen = np.arange(pool + 1)[:, None], np.arange(sample + 1)[None, :]
    return binom.pmf(seen, sample, above / pool) if replace else hypergeom.pmf(seen, pool, above, sample)


@pytest.mark.parametrize("last", [0, 1, 2, 3, 10, 101, 500])
def test_polynomials_are_orthonormal_of_every_degree(last):
    found = values(last, last + 1)
    assert found.T @ found / (last + 1) == pytest.approx(np.eye(last + 1), abs=1e-10)
    assert (found[0] > 0).all()


@pytest.mark.parametrize("last", [1, 4, 9, 40])
def test_polynomials_by_their_explicit_sum(last):
    """Q_k(x) = sum_j (-k)_j (k+1)_j (-x)_j / ((-N)_j j!^2), which is 1 at 0, in whole numbers."""
    found = values(last, last + 1)

    def rising(a, j):
        return math.prod(a + i for i in range(j))

    for k in range(min(last, 12) + 1):
        for x in range(last + 1):
            terms = (
                rising(-k, j) * rising(k + 1, j) * rising(-x, j) / (rising(-last, j) * math.factorial(j) ** 2)
                for j in range(k + 1)
            )
            assert found[x, k] / found[0, k] == pytest.approx(math.fsum(terms), abs=1e-6 * 3**k)


@pytest.mark.parametrize("worth", [np.ones(1), np.ones(7), 1 / np.arange(1, 21), 1 / np.arange(1, 14.0), np.ones(11)])
def test_coefficients_are_mean_products(worth):
    padded = np.zeros(20)
    padded[: worth.size] = worth
    assert coefficients(19, 15, worth) == pytest.approx(values(19, 15).T @ padded / 20, abs=1e-14)


def test_edges_too_small_for_a_number_have_a_logarithm():
    assert np.isfinite(log_edges(3_000, 3_001)).all()
    assert log_edges(3_000, 3_001)[-1] < np.log(5e-324)


CASES = st.tuples(st.integers(1, 60), st.integers(1, 60), st.booleans()).filter(lambda one: one[2] or one[1] <= one[0])


@given(CASES)
@settings(max_examples=60, deadline=None)
def test_what_pairs_promise(case):
    """Orthonormal under the chances of the sampled rank, and E[phi_k(q) | r] = rho_k psi_k(r)."""
    pool, sample, replace = case
    chance = law(pool, sample, replace)
    joint = joint_of(pool, sample, replace=replace)
    assert joint.chances == pytest.approx(chance.mean(axis=0), abs=1e-12)
    assert joint.kept[0] == pytest.approx(1)
    assert (np.diff(joint.kept) <= 1e-12).all()
    sure = joint.kept > 1e-6
    seen, kept = np.nan_to_num(joint.seen[:, sure]), joint.kept[sure]
    assert seen.T @ (joint.chances[:, None] * seen) == pytest.approx(np.eye(kept.size), abs=1e-9)
    full = chance @ seen / kept
    assert full.T @ full / (pool + 1) == pytest.approx(np.eye(kept.size), abs=1e-5)
    worth = 1 / np.arange(1.0, pool + 2)
    assert joint.coefficients(worth)[sure] == pytest.approx(full.T @ worth / (pool + 1), abs=1e-5)


@pytest.mark.parametrize(("pool", "sample"), [(60, 60), (3_416, 100), (1_000, 1_000), (400, 300)])
def test_how_much_a_sample_keeps_in_closed_form(pool, sample):
    """Without replacement rho_k^2 = m!/(m-k)! (m+1)!/(m+k+1)! (N-k)!/N! (N+k+1)!/(N+1)!, by log-gamma."""
    kept = joint_of(pool, sample, replace=False).kept
    for k in range(min(kept.size, 40)):
        parts = (sample, sample + 1, pool - k, pool + k + 1), (sample - k, sample + k + 1, pool, pool + 1)
        over, under = (sum(math.lgamma(one + 1) for one in part) for part in parts)
        assert kept[k] ** 2 == pytest.approx(math.exp(over - under), rel=1e-9)


def test_a_whole_sample_keeps_everything():
    joint = joint_of(60, 60, replace=False)
    assert joint.kept == pytest.approx(np.ones(61))


@given(CASES, st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_a_prior_that_is_level_is_no_prior(case, seed):
    """The way over all ranks and the quick ways give the same answers to any function of the full rank."""
    pool, sample, replace = case
    quick = joint_of(pool, sample, replace=replace)
    slow = joint_of(pool, sample, replace=replace, prior=np.full(pool + 1, 1 / (pool + 1)))
    worth = np.random.default_rng(seed).random(pool + 1)
    answers = [
        one.seen @ (one.kept / (0.9 * one.kept**2 + 0.1) * one.coefficients(worth)) for one in (quick, slow)
    ]  # fmt: skip
    assert answers[0] == pytest.approx(answers[1], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(("pool", "replace"), [(3_416, False), (3_416, True), (20_000, False), (20_000, True)])
def test_quick_ways_are_exact_on_large_pools(pool, replace):
    quick = joint_of(pool, 100, replace=replace)
    slow = joint_of(pool, 100, replace=replace, prior=np.full(pool + 1, 1 / (pool + 1)))
    for worth in (np.ones(10), 1 / np.arange(1.0, pool + 2)):
        for gamma in (0.01, 0.1, 1.0):
            answers = [
                one.seen @ (one.kept / ((1 - gamma) * one.kept**2 + gamma) * one.coefficients(worth))
                for one in (quick, slow)
            ]  # fmt: skip
            assert answers[0] == pytest.approx(answers[1], abs=1e-9)


def test_ranks_that_a_prior_rules_out_have_no_answer():
    """Two candidates, both sampled, and the item certainly first: it is never second or third."""
    joint = joint_of(2, 2, replace=False, prior=np.array([1.0, 0.0, 0.0]))
    assert joint.chances.tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(joint.seen[1:]).all()
