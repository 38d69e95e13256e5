"""Paired two-sided significance tests: could the difference of two systems come from the sampling of units?

A test takes differences (n units, m comparisons) and resampling options, and returns one p-value per comparison.
To add a test, write one function and name it in ``TESTS``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float
from recassay.errors import UsageError
from recassay.stats.differences import ROUNDING, Differences
from recassay.stats.intervals import means
from recassay.stats.ranks import signed_ranks
from recassay.stats.resampling import (
    ResamplingOptions,
    bootstrap_sums,
    column_digests,
    digest_of,
    flipped_sums,
    is_remembering,
    remembered,
    signed_sums,
)

SMALLEST_P = sys.float_info.min  # p-values are in (0, 1]: one that rounds to 0 is reported as this
EXACT_FLIPS = 16  # up to this many units all 2^n sign patterns are enumerated
EXACT_RANKS = 12  # up to this many signed ranks all 2^n sign patterns are enumerated
EXACT_DISCORDANT = 25  # below this many discordant units McNemar's test is the exact binomial


@dataclass(frozen=True)
class PValues:
    """The p-values of a test, in (0, 1], NaN without units.

    ``resamples`` is the number of resamples, 0 for a test that needs none.
    """

    p: Float
    resamples: int = 0


Test = Callable[[Differences, ResamplingOptions], PValues]


def run_test(name: str, differences: Float | Differences, options: ResamplingOptions | None = None) -> PValues:
    """Return the p-values of the named test, one per column of differences, which may be a plain matrix (n, m).

    p is NaN without units, or if one of the differences is NaN. With an infinite difference, tests of means give NaN;
    tests of order (sign, Wilcoxon) rank it above all others. A p-value that rounds to 0 (from a difference without
    variance) becomes the smallest normal float.

    >>> run_test("sign", np.array([[0.1], [0.2], [-0.1], [0.3], [0.1]])).p.tolist()
    [0.375]
    """
    if not isinstance(differences, Differences):
        differences = Differences(differences)
    d = differences.matrix
    if not differences.n:
        return PValues(np.full(d.shape[1], np.nan))
    undefined = np.isnan(d).any(axis=0) if name in ORDER_TESTS else ~np.isfinite(d).all(axis=0)
    differences = differences if name in ORDER_TESTS else differences.finite()
    test = functools.partial(_remembered_test, name) if name in RESAMPLING_TESTS and is_remembering() else TESTS[name]
    result = test(differences, options or ResamplingOptions())
    return PValues(np.clip(np.where(undefined, np.nan, result.p), SMALLEST_P, 1.0), result.resamples)


def _remembered_test(name: str, differences: Differences, options: ResamplingOptions) -> PValues:
    """Return the p-values of a test; those that are in the cache of results are not computed again."""
    columns, about = column_digests(differences.columns), (name, options.seed, options.resamples)
    of = differences.pairs if differences.pairs is not None else np.arange(len(columns))[:, None]
    scale = differences.scale.tolist()
    keys = [digest_of(*about, one, *(columns[at] for at in pair)) for one, pair in zip(scale, of.tolist(), strict=True)]

    def compute(missing: list[int]) -> list[tuple[float, ...]]:
        result = TESTS[name](differences.take(missing), options)
        return [(p, float(result.resamples)) for p in result.p.tolist()]

    p, resamples = np.array(remembered(keys, compute), np.float64).reshape(-1, 2).T
    return PValues(p, int(resamples[0]))


def permutation(differences: Differences, options: ResamplingOptions) -> PValues:
    """Return p of the randomisation test of the mean: under the null, the sign of every d_i is random.

    p is the share of sign patterns with |mean| >= the observed one (minus a rounding tolerance of 1e-12). For n <= 16
    all 2^n patterns are used, else p = (count + 1) / (B + 1) over B random ones (Phipson and Smyth 2010). By default
    B = 100,000; above 20,000 units it is smaller, so that n B <= 2e9, but at least 10,000.
    """
    n = differences.n
    if n <= EXACT_FLIPS:
        return PValues(_count_extreme(differences, signed_sums) / 2**n, 2**n)
    resamples = options.n_resamples(min(100_000, max(10_000, int(2e9) // n)))
    extreme = _count_extreme(differences, lambda columns: flipped_sums(columns.T, resamples, options))
    return PValues((extreme + 1) / (resamples + 1), resamples)


def bootstrap(differences: Differences, options: ResamplingOptions) -> PValues:
    """Return p of the shift bootstrap of the mean: (count + 1) / (B + 1).

    ``count`` is the number of the B resamples of the differences d with |their mean - mean(d)| >= |mean(d)|.
    """
    resamples = options.n_resamples(10_000)

    def shifted(columns: Float) -> Float:
        return bootstrap_sums(np.asfortranarray(columns - means(columns)).T, resamples, options)

    return PValues((_count_extreme(differences, shifted) + 1) / (resamples + 1), resamples)


def paired_t(differences: Differences, _options: ResamplingOptions) -> PValues:
    """Return p of Student's t = mean / (sd / sqrt(n)) with n - 1 degrees of freedom; NaN for one unit.

    Without variance, p is 1 if all differences are 0, and otherwise 0 (reported as the smallest float).
    """
    n, d = differences.n, differences.matrix
    if n < 2:
        return PValues(np.full(d.shape[1], np.nan))
    mean, constant = d.mean(axis=0), differences.constant
    error = np.where(constant, 1.0, d.std(axis=0, ddof=1)) / np.sqrt(n)
    zero = np.abs(mean) <= ROUNDING * differences.scale
    return PValues(np.where(constant, np.where(zero, 1.0, 0.0), t_both_tails(mean / error, n - 1)))


def sign(differences: Differences, _options: ResamplingOptions) -> PValues:
    """Return p of the sign test: are positive and negative differences equally frequent? 1 without either.

    It is a binomial test without the zeros.
    """
    d, rounding = differences.matrix, ROUNDING * differences.scale
    return PValues(_binomial((d > rounding).sum(axis=0), (d < -rounding).sum(axis=0)))


def mcnemar(differences: Differences, _options: ResamplingOptions) -> PValues:
    """Return p of McNemar's test for 0/1 metrics: chi-square (n10 - n01)^2 / (n10 + n01), exact if n10 + n01 < 25."""
    d = differences.matrix
    other = d[~np.isin(d, (-1.0, 0.0, 1.0))]
    if other.size:
        raise UsageError(
            "U114",
            f"McNemar's test is for metrics of 0 or 1, but {other.size} differences are neither -1, 0 nor 1",
            where=f"a difference of {other[0]:g}",
            hint="use a metric such as hit@10, or the permutation test",
        )
    wins, losses = (d > 0).sum(axis=0), (d < 0).sum(axis=0)
    return PValues(mcnemar_p(wins, losses))


def mcnemar_p(
    wins: Float | NDArray[np.intp],
    losses: Float | NDArray[np.intp],
    *,
    correction: bool = False,
    exact: bool | None = None,
) -> Float:
    """Return McNemar's p from the number of units where only a was right (wins) and only b was right (losses).

    It uses chi-square with one degree of freedom (``correction``: continuity corrected), or the exact binomial test;
    with ``exact=None`` the exact test is used below 25 such units.

    >>> mcnemar_p(np.array([35, 20, 8]), np.array([10, 6, 0])).round(6).tolist()
    [0.000194, 0.00604, 0.007812]
    """
    discordant = wins + losses
    is_exact = discordant < EXACT_DISCORDANT if exact is None else np.full(discordant.shape, exact)
    from scipy.special import chdtrc  # late: other tests do without SciPy, whose import takes long

    p: Float = chdtrc(1, np.abs(mcnemar_signed(wins, losses, correction=correction)))
    p[is_exact] = _binomial(wins[is_exact].astype(np.intp), losses[is_exact].astype(np.intp))
    return np.clip(p, SMALLEST_P, 1.0)


def mcnemar_signed(
    wins: Float | NDArray[np.intp], losses: Float | NDArray[np.intp], *, correction: bool = False
) -> Float:
    """Return McNemar's chi-square with the sign of wins - losses; 0 without wins and losses.

    With the continuity ``correction``, |wins - losses| is reduced by 1, to no less than 0. Reference: Gama, Sebastiao
    and Rodrigues (2009).

    >>> wins, losses = np.array([20, 6, 0]), np.array([6, 20, 0])
    >>> mcnemar_signed(wins, losses).round(6).tolist(), mcnemar_signed(wins, losses, correction=True)[0].item()
    ([7.538462, -7.538462, 0.0], 6.5)
    """
    ahead, discordant = wins - losses, wins + losses
    by = np.maximum(np.abs(ahead) - 1, 0) if correction else np.abs(ahead)
    return np.asarray(np.sign(ahead) * by**2 / np.where(discordant > 0, discordant, 1))


def t_both_tails(t: Float | float, freedom: float) -> Any:
    """Return P(|T| > |t|), a two-sided p-value, for Student's T with ``freedom`` degrees of freedom.

    >>> round(float(t_both_tails(2.0, 10.0)), 9)
    0.073388035
    """
    from scipy.special import stdtr

    return 2 * stdtr(freedom, -np.abs(t))


def p_value(p: float) -> str:
    """Return a p-value as text, never as 0 and never rounded up to 0.0001.

    >>> p_value(0.0312), p_value(0.00006), p_value(float("nan"))
    ('0.0312', '<0.0001', 'undefined')
    """
    return "undefined" if np.isnan(p) else f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def p_phrase(p: float) -> str:
    """Return a p-value with "p" in front, for use in a sentence.

    >>> p_phrase(0.0312), p_phrase(0.00006)
    ('p = 0.0312', 'p < 0.0001')
    """
    text = p_value(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def _count_extreme(differences: Differences, resample: Callable[[Float], Float]) -> Float:
    """Return for each difference the number of resampled means at least as far from 0 as the observed mean.

    ``resample`` gets columns (n, k) and returns sums (k, B) over B resamples. A tolerance for rounding is subtracted
    from the observed mean's distance.
    """
    n, m = differences.matrix.shape
    tolerance = 1e-12 * np.minimum(1.0, differences.scale)
    threshold = n * (np.abs(means(differences.matrix)) - tolerance)
    sums = differences.resampled(resample)
    return np.array([np.count_nonzero(np.abs(sums(j)) >= threshold[j]) for j in range(m)], np.float64)


def _binomial(wins: NDArray[np.intp], losses: NDArray[np.intp]) -> Float:
    """Return the exact two-sided p-value of ``wins`` heads and ``losses`` tails of a fair coin, elementwise."""
    from scipy.special import bdtr

    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(wins, losses).astype(np.float64), wins + losses, 0.5)))


def wilcoxon(differences: Differences, _options: ResamplingOptions, *, rank_zeros: bool = False) -> PValues:
    """Return p of Wilcoxon's signed-rank test: exact up to 12 units, then normal with tie correction.

    Zeros are dropped before ranking, or with ``rank_zeros`` after it (Pratt 1959).
    """
    columns = zip(differences.matrix.T, differences.scale.tolist(), strict=True)
    return PValues(np.array([_wilcoxon(d, scale, rank_zeros=rank_zeros) for d, scale in columns]))


def _wilcoxon(d: Float, scale: float, *, rank_zeros: bool) -> float:
    """Return p of Wilcoxon's signed-rank test for one column of differences; NaN if a difference is NaN.

    ``scale`` is the largest of the values whose differences these are; it sets what counts as a rounding error, and
    with ``rank_zeros`` zeros get ranks (Pratt).
    """
    if np.isnan(d).any():
        return np.nan
    ranks = signed_ranks(d, scale=scale, rank_zeros=rank_zeros)
    if not ranks.size:
        return 1.0
    observed = abs(float(ranks.sum()))  # W+ - W-, which has mean 0 under the null
    if ranks.size <= EXACT_RANKS:
        patterns = np.abs(signed_sums(np.abs(ranks)[:, None])[0])
        return float(np.count_nonzero(patterns >= observed - 1e-9) / patterns.size)
    # The variance of W+ - W- is the sum of squared mid-ranks, which accounts for ties and zeros.
    return 2 * NormalDist().cdf(-observed / float(np.sqrt(np.sum(ranks**2))))


TESTS: dict[str, Test] = {
    "permutation": permutation,
    "bootstrap": bootstrap,
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "wilcoxon-pratt": functools.partial(wilcoxon, rank_zeros=True),
    "sign": sign,
    "mcnemar": mcnemar,
}
RESAMPLING_TESTS = ("permutation", "bootstrap")
ORDER_TESTS = ("wilcoxon", "wilcoxon-pratt", "sign")  # use only the order of differences, which may be infinite


def adjust(p: Float, method: str = "holm") -> Float:
    """Return the p-values adjusted for multiple comparisons by ``method`` (a key of ``CORRECTIONS``), in their order.

    A NaN stays NaN and does not count as a comparison.

    >>> adjust(np.array([0.01, 0.04, 0.03, 0.005])).round(6).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    adjusted = p.copy()
    adjusted[order] = np.minimum(1.0, CORRECTIONS[method](p[order]))
    return adjusted


def holm(ascending: Float) -> Float:
    """Return max over j' <= j of (m - j' + 1) p_(j') for the j-th of m ascending p-values (Holm); it may exceed 1.

    This has the guarantee of Bonferroni with at least its power.
    """
    return np.maximum.accumulate(ascending * np.arange(ascending.size, 0, -1))


def bh(ascending: Float) -> Float:
    """Return min over j' >= j of m p_(j') / j' for the j-th of m ascending p-values (Benjamini-Hochberg).

    This bounds the expected share of false rejections among all rejections, for independent comparisons.
    """
    m = ascending.size
    return np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]


CORRECTIONS: dict[str, Callable[[Float], Float]] = {  # of ascending p-values; results may exceed 1
    "holm": holm,
    "bonferroni": lambda p: p * p.size,  # bounds the probability of any false rejection, whatever the dependence
    "bh": bh,
    "by": lambda p: bh(p) * np.sum(1.0 / np.arange(1, p.size + 1)),  # as bh, for any dependence (Benjamini-Yekutieli)
    "none": lambda p: p,
}
