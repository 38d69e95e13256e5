"""Paired two-sided tests: could the difference of two systems come from the luck of which units were met?

A test takes paired differences (n units, m questions) and how to compute; it gives one p-value per question.
Adding a test is one function and its decorator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.differences import ROUNDING, Differences
from recassay.comparison.intervals import means
from recassay.comparison.ranks import signed_ranks
from recassay.comparison.resampling import Floats, How, bootstrap_sums, flipped_sums, signed_sums
from recassay.errors import UsageError
from recassay.portable.distributions import chi2_tail, coin_cdf, normal_cdf, t_both_tails
from recassay.spec import suggest

SMALLEST_P = sys.float_info.min  # p-values live in (0, 1]: one that rounds to 0 is reported as this
EXACT_FLIPS = 16  # up to this many units all 2^n sign patterns are enumerated
EXACT_RANKS = 12  # up to this many signed ranks all 2^n sign patterns are enumerated
EXACT_DISCORDANT = 25  # below this many discordant units McNemar's test is the exact binomial


@dataclass(frozen=True)
class Tested:
    """p-values in (0, 1], NaN where there is no unit, and the number of resamples behind them (0: none needed)."""

    p: Floats
    resamples: int = 0


Test = Callable[[Differences, How], Tested]
TESTS: dict[str, Test] = {}
OF_ORDER: set[str] = set()  # tests that look at the order of differences alone, and so at infinite ones, too


def significance_test(name: str, *, of_order: bool = False) -> Callable[[Test], Test]:
    """Register a test under the name it is asked for by."""

    def register(function: Test) -> Test:
        TESTS[name] = function
        OF_ORDER.update({name} if of_order else ())
        return function

    return register


def run_test(name: str, differences: Floats | Differences, how: How | None = None) -> Tested:
    """p-values of the named test for each question of differences, which may be a plain matrix (n, m).

    No unit, or an undefined one: NaN. So are tests of means where a difference is infinite; a test of the order alone
    (sign, Wilcoxon) takes it as larger than all others. A p-value that rounds to 0 (a difference without any
    variance) is the smallest normal float.

    >>> run_test("sign", np.array([[0.1], [0.2], [-0.1], [0.3], [0.1]])).p.tolist()
    [0.375]
    """
    if name not in TESTS:
        raise UsageError("U107", f"there is no test '{name}'", hint=suggest(name, TESTS))
    if not isinstance(differences, Differences):
        differences = Differences(differences)
    d = differences.matrix
    if not differences.n:
        return Tested(np.full(d.shape[1], np.nan))
    undefined = np.isnan(d).any(axis=0) if name in OF_ORDER else ~np.isfinite(d).all(axis=0)
    tested = TESTS[name](differences if name in OF_ORDER else differences.finite(), how or How())
    p = np.where(undefined, np.nan, tested.p)
    return Tested(np.clip(p, SMALLEST_P, 1.0), tested.resamples)


@significance_test("permutation")
def permutation(differences: Differences, how: How) -> Tested:
    """Randomisation test of the mean: under no difference, the sign of every d_i could as well be the other one.

    p is the share of sign patterns with |mean| >= the observed one (less a rounding tolerance of 1e-12): of all 2^n
    for n <= 16, else (count + 1) / (B + 1) over B random ones (Phipson and Smyth 2010). By default B = 100,000, beyond
    20,000 units fewer, so that n B <= 2e9, and never less than 10,000.
    """
    n = differences.n
    if n <= EXACT_FLIPS:
        extreme = _count_extreme(differences, signed_sums)
        return Tested(extreme / 2**n, 2**n)
    resamples = how.count(min(100_000, max(10_000, int(2e9) // n)))
    extreme = _count_extreme(differences, lambda columns: flipped_sums(columns.T, resamples, how))
    return Tested((extreme + 1) / (resamples + 1), resamples)


@significance_test("bootstrap")
def bootstrap(differences: Differences, how: How) -> Tested:
    """Shift bootstrap of the mean: p = (count of |resampled mean of d - mean(d)| >= |mean(d)|, + 1) / (B + 1)."""
    resamples = how.count(10_000)

    def shifted(columns: Floats) -> Floats:
        centred = np.asfortranarray(columns - means(columns))
        return bootstrap_sums(centred.T, resamples, how)

    return Tested((_count_extreme(differences, shifted) + 1) / (resamples + 1), resamples)


@significance_test("t")
def paired_t(differences: Differences, _how: How) -> Tested:
    """Student's t: mean / (sd / sqrt(n)) on n - 1 degrees of freedom; NaN for one unit; no variance: 1 if all are 0."""
    n, d = differences.n, differences.matrix
    if n < 2:
        return Tested(np.full(d.shape[1], np.nan))
    mean, constant = d.mean(axis=0), differences.constant
    error = np.where(constant, 1.0, d.std(axis=0, ddof=1)) / np.sqrt(n)
    nothing = np.abs(mean) <= ROUNDING * differences.scale
    return Tested(np.where(constant, np.where(nothing, 1.0, 0.0), t_both_tails(mean / error, n - 1)))


@significance_test("wilcoxon", of_order=True)
def wilcoxon(differences: Differences, _how: How) -> Tested:
    """Wilcoxon signed rank, zeros dropped before ranking: exact up to 12 units, then normal with tie correction."""
    return _ranked(differences, rank_zeros=False)


@significance_test("wilcoxon-pratt", of_order=True)
def wilcoxon_pratt(differences: Differences, _how: How) -> Tested:
    """Wilcoxon signed rank with zeros ranked, then dropped (Pratt 1959)."""
    return _ranked(differences, rank_zeros=True)


@significance_test("sign", of_order=True)
def sign(differences: Differences, _how: How) -> Tested:
    """Binomial test of as many ups as downs, zeros dropped; nothing left: 1."""
    d, rounding = differences.matrix, ROUNDING * differences.scale
    return Tested(_binomial((d > rounding).sum(axis=0), (d < -rounding).sum(axis=0)))


@significance_test("mcnemar")
def mcnemar(differences: Differences, _how: How) -> Tested:
    """McNemar for metrics of 0 or 1: chi-square (n10 - n01)^2 / (n10 + n01); exact binomial if n10 + n01 < 25."""
    d = differences.matrix
    other = d[~np.isin(d, (-1.0, 0.0, 1.0))]
    if other.size:
        raise UsageError(
            "U114",
            f"McNemar's test is for metrics of 0 or 1, and {other.size} differences are neither -1, 0 nor 1",
            where=f"a difference of {other[0]:g}",
            hint="a metric such as hit@10, or the permutation test",
        )
    wins, losses = (d > 0).sum(axis=0), (d < 0).sum(axis=0)
    return Tested(mcnemar_p(wins, losses))


def mcnemar_p(
    wins: Floats | NDArray[np.intp],
    losses: Floats | NDArray[np.intp],
    *,
    correction: bool = False,
    exact: bool | None = None,
) -> Floats:
    """p of so many units where only one was right and so many where only the other was.

    By chi-square with one degree of freedom, or exact, by a fair coin; None: exact below 25 units in all.

    >>> mcnemar_p(np.array([35, 20, 8]), np.array([10, 6, 0])).round(6).tolist()
    [0.000194, 0.00604, 0.007812]
    """
    discordant = wins + losses
    precisely = discordant < EXACT_DISCORDANT if exact is None else np.full(discordant.shape, exact)
    p: Floats = chi2_tail(np.abs(mcnemar_signed(wins, losses, correction=correction)), 1)
    p[precisely] = _binomial(wins[precisely].astype(np.intp), losses[precisely].astype(np.intp))
    return np.clip(p, SMALLEST_P, 1.0)


def mcnemar_signed(
    wins: Floats | NDArray[np.intp], losses: Floats | NDArray[np.intp], *, correction: bool = False
) -> Floats:
    """McNemar's chi-square with the sign of wins - losses; 0 where there is neither (Gama, Sebastiao, Rodrigues 2009).

    With the correction for continuity |wins - losses| is 1 less, and at least 0.

    >>> wins, losses = np.array([20, 6, 0]), np.array([6, 20, 0])
    >>> mcnemar_signed(wins, losses).round(6).tolist(), mcnemar_signed(wins, losses, correction=True)[0].item()
    ([7.538462, -7.538462, 0.0], 6.5)
    """
    ahead, discordant = wins - losses, wins + losses
    by = np.maximum(np.abs(ahead) - 1, 0) if correction else np.abs(ahead)
    signed: Floats = np.sign(ahead) * by**2 / np.where(discordant > 0, discordant, 1)
    return signed


def _count_extreme(differences: Differences, resample: Callable[[Floats], Floats]) -> Floats:
    """How many resampled means are at least as far from 0 as the observed mean, less a rounding tolerance."""
    n, m = differences.matrix.shape
    tolerance = 1e-12 * np.minimum(1.0, differences.scale)
    threshold = n * (np.abs(means(differences.matrix)) - tolerance)
    sums = differences.resampled(resample)
    return np.array([np.count_nonzero(np.abs(sums(j)) >= threshold[j]) for j in range(m)], np.float64)


def _binomial(wins: NDArray[np.intp], losses: NDArray[np.intp]) -> Floats:
    """Twice the smaller tail of a fair coin, at most 1."""
    p: Floats = np.minimum(1.0, 2 * coin_cdf(np.minimum(wins, losses), wins + losses))
    return p


def _ranked(differences: Differences, *, rank_zeros: bool) -> Tested:
    columns = zip(differences.matrix.T, differences.scale.tolist(), strict=True)
    return Tested(np.array([_wilcoxon(d, scale, rank_zeros=rank_zeros) for d, scale in columns]))


def _wilcoxon(d: Floats, scale: float, *, rank_zeros: bool) -> float:
    if np.isnan(d).any():
        return np.nan
    ranks = signed_ranks(d, scale=scale, rank_zeros=rank_zeros)
    if not ranks.size:
        return 1.0
    observed = abs(float(ranks.sum()))  # W+ - W-, of mean 0 under no difference
    if ranks.size <= EXACT_RANKS:
        every = np.abs(signed_sums(np.abs(ranks)[:, None])[0])
        return float(np.count_nonzero(every >= observed - 1e-9) / every.size)
    # The variance of W+ - W- is the sum of squared mid-ranks: ties and zeros are accounted for by the ranks themselves.
    return 2 * float(normal_cdf(-observed / np.sqrt(np.sum(ranks**2))))
