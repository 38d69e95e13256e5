"""Draws follow their distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay import draws
from recassay.stats.over_datasets import dirichlets

from ..examples import examples


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(1, 60), st.floats(0.001, 0.999), st.floats(1e-12, 1 - 1e-12))
def test_binomial_inversion_goes_from_the_mode_outwards(n, p, u):
    mode = min(int((n + 1) * p), n)
    order = [mode]
    for step in range(1, n + 1):
        order += [k for k in (mode + step, mode - step) if 0 <= k <= n]
    reached = np.cumsum(scipy.stats.binom.pmf(order, n, p))
    found = order.index(draws._binomial(n, p, u))
    assert (0.0 if found == 0 else reached[found - 1]) - 1e-12 <= u <= reached[found] + 1e-12


def test_draws_follow_their_distribution():
    """The Kolmogorov-Smirnov distance of 20,000 draws exceeds 0.0138 with probability 0.001."""
    rng, n = np.random.default_rng(3), 20_000
    drawn = {
        "norm": (draws.normals(rng, n), ()),
        "lognorm": (np.exp(0.5 * draws.normals(rng, n)), (0.5,)),
        **{f"gamma {a}": (draws.gammas(rng, a, n), (a,)) for a in (0.15, 0.5, 1.0, 2.5, 40.0)},
        "beta": (dirichlets(rng, np.array([0.5, 1.0, 1.0]), n)[:, 0], (0.5, 2.0)),
    }
    for name, (values, shape) in drawn.items():
        assert scipy.stats.kstest(values, name.split()[0], args=shape).statistic < 0.0138, name


def test_multinomial_counts_have_the_expected_means_and_covariances():
    shares, n, rows = np.array([0.5, 0.3, 0.0, 0.2]), 1000, 20_000
    counts = draws.multinomials(np.random.default_rng(5), n, shares * 7, rows)
    assert (counts.sum(axis=1) == n).all()
    assert counts.mean(axis=0) == pytest.approx(n * shares, abs=0.5)
    assert np.cov(counts.T) == pytest.approx(n * (np.diag(shares) - np.outer(shares, shares)), abs=8)
    assert draws.multinomials(np.random.default_rng(5), 0, shares, 2).sum() == 0


def test_one_cell_takes_all_draws_and_as_many_random_numbers_as_the_kernel():
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    for weight, n in ((7.0, 9), (7.0, 0), (0.0, 9)):
        out = np.zeros((3, 1), np.int64)
        draws._multinomials(n, np.array([weight]), draws.uniforms(other, (3, 1)), out)
        assert draws.multinomials(rng, n, np.array([weight]), 3).tolist() == out.tolist()
    assert rng.random() == other.random()


def test_uniform_numbers_exclude_both_ends():
    class Extremes:
        def random(self, shape):
            return np.array([0.0, 1 - 2.0**-53])

    low, high = draws.uniforms(Extremes(), 2)
    assert 0 < low < high < 1
