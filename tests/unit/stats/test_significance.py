"""Significance tests: worked values, independent implementations, edge cases and false-alarm rates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar as other_mcnemar

from recassay.errors import UsageError
from recassay.stats.differences import Differences
from recassay.stats.resampling import ResamplingOptions
from recassay.stats.significance import SMALLEST_P, TESTS, run_test

A = np.array([0.50, 0.62, 0.30, 0.81, 0.45, 0.70, 0.55, 0.40])
B = np.array([0.45, 0.60, 0.35, 0.70, 0.40, 0.62, 0.55, 0.33])
D = A - B  # with rounding errors, as in real data: 0.50 - 0.45 is not quite 0.45 - 0.40


def p_of(test, d, **options):
    return float(run_test(test, np.asarray(d, float)[:, None], ResamplingOptions(**options)).p[0])


def test_worked_shift_bootstrap_by_all_256_resamples_of_four_units():
    d = np.array([0.05, 0.02, -0.05, 0.11])
    resampled = np.array([np.mean(units) for units in itertools.product(d - d.mean(), repeat=4)])
    exact = np.mean(np.abs(resampled) >= d.mean() - 1e-12)
    assert exact == pytest.approx(0.304688, abs=6e-7)
    assert p_of("bootstrap", d, resamples=100_000) == pytest.approx(exact, abs=0.006)


NORMAL = "asymptotic" if "asymptotic" in scipy.stats.wilcoxon.__doc__ else "approx"  # its name in older versions


@pytest.mark.parametrize("n", [2, 9, 13, 30, 500])
def test_analytic_tests_agree_with_scipy(n):
    d = np.round(np.random.default_rng(n).normal(0.1, 1, size=n), 1)  # with ties and zeros
    assert p_of("t", d) == pytest.approx(scipy.stats.ttest_1samp(d, 0).pvalue, rel=1e-9)
    wins, discordant = int((d > 0).sum()), int((d != 0).sum())
    assert p_of("sign", d) == pytest.approx(scipy.stats.binomtest(wins, discordant).pvalue, rel=1e-9)
    for name, zeros in (("wilcoxon", "wilcox"), ("wilcoxon-pratt", "pratt")):
        if discordant > 12:
            other = scipy.stats.wilcoxon(d, zero_method=zeros, correction=False, method=NORMAL)
            assert p_of(name, d) == pytest.approx(other.pvalue, rel=1e-9)


def test_exact_wilcoxon_agrees_with_scipy_without_ties():
    d = np.random.default_rng(2).normal(0.5, 1, size=11)
    assert p_of("wilcoxon", d) == pytest.approx(scipy.stats.wilcoxon(d, method="exact").pvalue, rel=1e-9)


def test_exact_permutation_agrees_with_scipy():
    d = np.random.default_rng(2).normal(0.5, 1, size=12)
    other = scipy.stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
    tested = run_test("permutation", d[:, None])
    assert tested.p[0] == pytest.approx(other.pvalue, rel=1e-9)
    assert tested.resamples == 4096


def test_sampled_permutation_agrees_with_the_exact_one(monkeypatch):
    d = np.random.default_rng(2).normal(0.4, 1, size=(16, 3))
    exact = run_test("permutation", d).p
    monkeypatch.setattr("recassay.stats.significance.EXACT_FLIPS", 0)
    sampled = run_test("permutation", d)
    assert sampled.resamples == 100_000
    assert np.abs(sampled.p - exact).max() < 4 * np.sqrt(0.25 / 100_000)


@pytest.mark.parametrize(
    ("n10", "n01", "p"),
    [(20, 6, 0.006040), (8, 0, 0.007813), (9, 1, 0.021484), (35, 10, scipy.stats.chi2.sf(13.888889, 1))],
)
def test_worked_mcnemar(n10, n01, p):
    d = np.repeat([1.0, -1.0, 0.0], [n10, n01, 50])
    assert p_of("mcnemar", d) == pytest.approx(p, abs=6e-7)
    assert p_of("mcnemar", -d) == p_of("mcnemar", d)
    other = other_mcnemar([[20, n10], [n01, 30]], exact=n10 + n01 < 25, correction=False)
    assert p_of("mcnemar", d) == pytest.approx(other.pvalue, rel=1e-9)


def test_mcnemar_rejects_metrics_that_are_not_binary():
    with pytest.raises(UsageError, match="U114"):
        p_of("mcnemar", D)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [1, 5, 16, 17, 100])
def test_p_is_above_zero_and_at_most_one(test, n):
    random = np.random.default_rng(n)
    d = np.column_stack([np.zeros(n), np.ones(n), random.integers(-1, 2, size=n), random.choice([1.0, 0.0], size=n)])
    p = run_test(test, d.astype(float), ResamplingOptions(resamples=999)).p
    if test == "t" and n == 1:
        assert np.isnan(p).all()
        return
    assert ((p > 0) & (p <= 1)).all()
    assert p[0] == 1.0


def test_differences_without_variance_have_p_above_zero():
    assert p_of("t", np.full(50, 0.2)) == SMALLEST_P > 0
    assert p_of("permutation", np.full(50, 0.2), resamples=999) == 1 / 1000


@pytest.mark.parametrize("test", TESTS)
def test_p_is_nan_without_units_or_with_an_undefined_difference(test):
    assert np.isnan(run_test(test, np.empty((0, 2))).p).all()
    if test != "mcnemar":
        p = run_test(test, np.array([[0.1, 0.2], [np.nan, 0.1], [0.2, 0.1]])).p
        assert np.isnan(p[0])
        assert p[1] > 0


@pytest.mark.parametrize(("n", "resamples"), [(17, 100_000), (25_000, 80_000), (300_000, 10_000)])
def test_automatic_number_of_flips(n, resamples, monkeypatch):
    monkeypatch.setattr("recassay.stats.significance.flipped_sums", lambda d, b, options: np.zeros((d.shape[0], b)))
    assert run_test("permutation", np.ones((n, 1))).resamples == resamples


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [1, 14, 200])
def test_differences_of_column_pairs_give_the_p_of_the_full_matrix(test, n):
    columns = np.random.default_rng(n).integers(0, 2, size=(n, 4)).astype(float)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [3, 1], [2, 2]])
    by_pairs = run_test(test, Differences(columns, pairs), ResamplingOptions(resamples=2000))
    by_matrix = run_test(test, columns[:, pairs[:, 0]] - columns[:, pairs[:, 1]], ResamplingOptions(resamples=2000))
    assert np.array_equal(by_pairs.p, by_matrix.p, equal_nan=True)
    assert by_pairs.resamples == by_matrix.resamples


def test_systems_that_differ_in_one_unit_have_p_one_despite_rounding_errors():
    columns = np.random.default_rng(3).random((5000, 1)).repeat(3, axis=1)
    columns[7, 1] += 0.1
    same, other = run_test(
        "permutation", Differences(columns, np.array([[0, 2], [0, 1]])), ResamplingOptions(resamples=999)
    ).p
    assert (same, other) == (1.0, 1.0)  # flipping one unit gives the same absolute mean


def test_tiny_differences_are_not_lost_in_the_tolerance():
    d = np.random.default_rng(6).normal(0.5, 1, size=200)
    assert p_of("permutation", d * 1e-14) == p_of("permutation", d)
