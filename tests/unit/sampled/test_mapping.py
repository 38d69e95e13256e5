"""Mapping of cut-offs from a sample to all candidates: worked examples and simulations."""

import numpy as np
import pytest
from scipy.special import beta, comb

from recassay.sampled.estimators import fit_a, mapped_cutoff

from ...refusals import refused

WORKED = {  # n_s = 101, n_F = 1001
    "linear": (1, 11, 41, 91, 491),
    1.0: (10.900990, 20.801980, 50.504950, 100.009901, 496.049505),
    0.5: (8.795491, 18.539855, 48.211159, 97.805661, 494.801240),
    0.2: (7.486536, 17.140577, 46.811297, 96.468408, 494.047817),
}


@pytest.mark.parametrize("which", WORKED)
def test_worked_examples(which):
    options = {"family": "linear"} if which == "linear" else {"family": "beta", "a": which}
    found = [mapped_cutoff(k, sample=100, pool=1_000, **options) for k in (1, 2, 5, 10, 50)]
    assert found == pytest.approx(WORKED[which], abs=5e-7)


@pytest.mark.parametrize(
    ("a", "expected"), [(1.0, (11, 21, 31, 41)), (0.5, (9.255984, 19.575964, 30.024943, 40.506173))]
)
def test_small_worked_examples(a, expected):
    found = [mapped_cutoff(k, sample=4, pool=50, family="beta", a=a) for k in (1, 2, 3, 4)]
    assert found == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("k", [1, 2, 7, 30, 31])
def test_the_closed_form_equals_the_sum_over_sampled_ranks(a, k):
    """F(k) = N (a sum_{i<k} C(m, i) B(a+i, m+1-i))^(1/a) + 1."""
    i = np.arange(k)
    share = a * (comb(30, i) * beta(a + i, 31 - i)).sum()
    assert mapped_cutoff(k, sample=30, pool=900, family="beta", a=a) == pytest.approx(900 * share ** (1 / a) + 1)


def test_the_first_and_last_cutoffs_of_a_sample_map_to_the_first_and_last_of_all():
    for options in ({"family": "linear"}, {"family": "beta", "a": 0.3}):
        assert mapped_cutoff(31, sample=30, pool=900, **options) == pytest.approx(901)
    assert mapped_cutoff(1, sample=30, pool=900) == 1


@pytest.mark.parametrize("a", [0.15, 0.4, 1.0, 3.0])
def test_fit_a_recovers_a(a):
    """The data are sampled ranks of 200,000 relative full ranks x with density a x^(a-1)."""
    rng = np.random.default_rng(3)
    ranks = 1 + rng.binomial(100, rng.random(200_000) ** (1 / a))
    assert fit_a(ranks, sample=100) == pytest.approx(a, rel=0.02)


@pytest.mark.parametrize(
    ("k", "options"),
    [
        (0, {}),
        (102, {}),
        (1, {"family": "cubic"}),
        (1, {"family": "beta"}),
        (1, {"family": "beta", "a": -1.0}),
        (1, {"family": "beta", "a": float("nan")}),
        (1, {"a": 0.5}),
        (1, {"sample": 0}),
        (1, {"sample": 2_000}),
    ],
)
def test_invalid_arguments_are_rejected(k, options):
    with refused("U107" if options.get("family") == "cubic" else "U102"):
        mapped_cutoff(k, **{"sample": 100, "pool": 1_000, **options})


def test_ranks_are_checked():
    with refused("I331"):
        fit_a([1.5, 2.0], sample=4)
