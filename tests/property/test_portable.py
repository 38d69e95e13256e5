"""Functions with the same bits on every processor, compared with decimal arithmetic, SciPy and known distributions."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.portable import _draws as compiled_draws
from recassay.portable import _kernels as kernels
from recassay.portable import distributions, draws, elementary
from recassay.portable._single import logistic_of_minus

from ..examples import examples

DIGITS = Context(prec=60, Emax=999_999, Emin=-999_999)
positive = st.floats(2.0**-1000, 2.0**1000, exclude_min=True) | st.floats(0.5, 2.0) | st.integers(1, 10**9).map(float)
moderate = st.floats(-700, 700) | st.floats(-1, 1)


def nearest(value):
    return float(value)


def log_of(x):
    return DIGITS.ln(Decimal(x))


def log1p_of(x):
    return Context(prec=400).ln(Context(prec=400).add(Decimal(1), Decimal(x)))


def exp2_of(x):
    return DIGITS.exp(DIGITS.multiply(Decimal(x), log_of(2.0)))


@settings(deadline=None, max_examples=examples(500))
@given(positive)
def test_logarithms_are_correctly_rounded(x):
    assert elementary.log(x) == nearest(log_of(x))
    assert elementary.log2(x) == nearest(DIGITS.divide(log_of(x), log_of(2.0)))


@settings(deadline=None, max_examples=examples(500))
@given(moderate)
def test_exponentials_are_correctly_rounded(x):
    assert elementary.exp(x) == nearest(DIGITS.exp(Decimal(x)))
    assert elementary.exp2(x) == nearest(exp2_of(x))


@settings(deadline=None, max_examples=examples(500))
@given(positive.filter(lambda x: 1e-30 < x < 1e30), st.floats(-9, 9))
def test_powers_are_correctly_rounded(base, exponent):
    exact = DIGITS.exp(DIGITS.multiply(Decimal(exponent), log_of(base)))
    assert elementary.power(base, exponent) == nearest(exact)


@settings(deadline=None, max_examples=examples(300))
@given(st.floats(-0.999, 1e6) | st.floats(-1e-10, 1e-10))
def test_log1p_and_expm1_are_within_an_ulp(x):
    exact = nearest(log1p_of(x))
    assert abs(elementary.log1p(x) - exact) <= math.ulp(exact)


def test_results_at_zero_infinity_and_nan_agree_with_numpy():
    x = np.array([0.0, np.inf, -1.0, np.nan, 5e-324, 1e308, -np.inf])
    assert [elementary.power(b, e) for b in (0.9, 1.1) for e in (-1e300, 1e300)] == [np.inf, 0.0, 0.0, np.inf]
    with np.errstate(all="ignore"):
        for name in ("log", "log2", "log1p", "exp", "exp2"):
            expected = getattr(np, name)(x)
            assert getattr(elementary, name)(x) == pytest.approx(expected, rel=1e-15, abs=5e-324, nan_ok=True), name
        bases, exponents = np.meshgrid([0.0, 0.5, 1.0, 2.0, np.inf, np.nan], [-np.inf, -1.0, 0.0, 0.5, np.inf, np.nan])
        assert np.array_equal(elementary.power(bases, exponents), np.power(bases, exponents), equal_nan=True)


def test_arrays_of_any_layout_give_the_results_of_their_numbers():
    x = np.arange(1.0, 25.0).reshape(4, 6)
    for part in (x, x.T, x[::2, 1::2], x[:0], x.astype(np.float32), x.astype(np.int64)):
        found = elementary.log2(part)
        assert found.shape == part.shape
        assert found.ravel().tolist() == [elementary.log2(float(value)) for value in part.ravel()]


@settings(deadline=None, max_examples=examples(300))
@given(st.floats(0.01, 1e6))
def test_log_gamma_agrees_with_scipy(x):
    expected = float(scipy.special.gammaln(x))
    assert elementary.log_gamma(x) == pytest.approx(expected, rel=1e-14, abs=1e-14)


@settings(deadline=None, max_examples=examples(200))
@given(st.floats(1.001, 30))
def test_zeta_agrees_with_scipy(s):
    assert elementary.zeta(s) == pytest.approx(float(scipy.special.zeta(s)), rel=1e-13)


@settings(deadline=None, max_examples=examples(300))
@given(st.floats(-37, 9), st.floats(1e-300, 1 - 1e-16))
def test_the_normal_distribution_agrees_with_scipy(x, p):
    assert distributions.normal_cdf(x) == pytest.approx(float(scipy.special.ndtr(x)), rel=2e-13)
    assert distributions.normal_quantile(p) == pytest.approx(float(scipy.special.ndtri(p)), rel=1e-13, abs=1e-15)


@settings(deadline=None, max_examples=examples(300))
@given(st.floats(-50, 50), st.integers(1, 100_000), st.floats(0.0005, 0.9995))
def test_students_t_agrees_with_scipy(t, freedom, p):
    assert distributions.t_cdf(t, freedom) == pytest.approx(float(scipy.special.stdtr(freedom, t)), rel=5e-11)
    quantile = distributions.t_quantile(p, freedom)
    assert distributions.t_cdf(quantile, freedom) == pytest.approx(p, rel=1e-13)


@settings(deadline=None, max_examples=examples(300))
@given(st.floats(0, 300), st.integers(1, 200), st.integers(1, 200))
def test_chi_square_and_f_agree_with_scipy(x, above, below):
    assert distributions.chi2_tail(x, above) == pytest.approx(float(scipy.special.chdtrc(above, x)), rel=1e-11)
    f = x + 0.01  # below that SciPy loses digits
    expected = float(scipy.special.fdtrc(above, below, f))
    assert distributions.f_tail(f, above, below) == pytest.approx(expected, rel=1e-10, abs=1e-300)


def test_f_with_one_and_one_degree_is_an_arctangent():
    for f in (1e-14, 0.3, 1.0, 1e6):
        assert distributions.f_tail(f, 1, 1) == pytest.approx(1 - 2 / math.pi * math.atan(math.sqrt(f)), rel=1e-13)


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(0, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_fair_coin_probabilities_equal_exact_counts(case):
    tosses, heads = case
    exact = sum(math.comb(tosses, k) for k in range(heads + 1)) / 2**tosses
    assert distributions.coin_cdf(heads, tosses) == pytest.approx(exact, rel=1e-14)


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(1, 60), st.floats(0.001, 0.999), st.floats(1e-12, 1 - 1e-12))
def test_binomial_inversion_goes_from_the_mode_outwards(n, p, u):
    mode = min(int((n + 1) * p), n)
    order = [mode]
    for step in range(1, n + 1):
        order += [k for k in (mode + step, mode - step) if 0 <= k <= n]
    reached = np.cumsum(scipy.stats.binom.pmf(order, n, p))
    found = order.index(compiled_draws.binomial(n, p, u))
    assert (0.0 if found == 0 else reached[found - 1]) - 1e-12 <= u <= reached[found] + 1e-12


def test_draws_follow_their_distribution():
    """The Kolmogorov-Smirnov distance of 20,000 draws exceeds 0.0138 with probability 0.001."""
    rng, n = np.random.default_rng(3), 20_000
    drawn = {
        "norm": (draws.normals(rng, n), ()),
        "lognorm": (draws.log_normals(rng, 0.5, n), (0.5,)),
        **{f"gamma {a}": (draws.gammas(rng, a, n), (a,)) for a in (0.15, 0.5, 1.0, 2.5, 40.0)},
        "beta": (draws.dirichlets(rng, np.array([0.5, 1.0, 1.0]), n)[:, 0], (0.5, 2.0)),
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
        compiled_draws.multinomials(n, np.array([weight]), draws.uniforms(other, (3, 1)), out)
        assert draws.multinomials(rng, n, np.array([weight]), 3).tolist() == out.tolist()
    assert rng.random() == other.random()


def test_uniform_numbers_exclude_both_ends():
    class Extremes:
        def random(self, shape):
            return np.array([0.0, 1 - 2.0**-53])

    low, high = draws.uniforms(Extremes(), 2)
    assert 0 < low < high < 1


@settings(deadline=None, max_examples=examples(500))
@given(st.floats(-25, 25, width=32) | st.floats(width=32) | st.floats(-(2.0**-7), 2.0**-7, width=32))
def test_the_logistic_in_single_precision_has_the_bits_of_double_precision(x):
    with np.errstate(over="ignore"):
        expected = np.float32(1.0 / (1.0 + kernels.exp(x)))
    np.testing.assert_array_equal(np.float32(logistic_of_minus(x)), expected)


def test_the_logistic_takes_the_exact_path_where_its_error_could_change_the_rounding():
    middle = math.log(1 / (0.25 + 2.0**-26) - 1)  # the logistic is halfway between two singles
    assert logistic_of_minus(middle) == np.float32(1.0 / (1.0 + kernels.exp(middle)))
