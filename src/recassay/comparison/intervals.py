"""Intervals for means over units: bootstrap (BCa, percentile, its analytic form ABC) and Student's t.

A mean is mean(v), or with weights the ratio sum(w v) / sum(w); its uncertainty is that of having met other units.

References: Efron (1987) for BCa; DiCiccio and Efron (1992) for ABC; Efron and Tibshirani (1993, chapters 14 and 22).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.moments import (
    Moments,
    Spread,
    Totals,
    acceleration_of,
    curvature_of,
    standard_error,
    with_weight,
)
from recassay.comparison.resampling import Floats, How, Progress, bootstrap_sums
from recassay.errors import UsageError
from recassay.portable.distributions import normal_cdf, normal_quantile, t_quantile
from recassay.spec import suggest

LARGE = 50_000  # above this many units `bootstrap` is the analytic ABC, which no longer differs from BCa visibly

Bounds = tuple[float, float]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Uncertainty:
    """How intervals are made; None as a method leaves them out."""

    method: str | None = "bootstrap"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0


BOOTSTRAP = Uncertainty()


@dataclass(frozen=True)
class Column:
    """What an interval is made of: the mean of one column and how it reacts to its units, whose moments it has."""

    estimate: float
    influence: Floats  # L_i: the change of the mean per share of weight moved to unit i; sums to 0
    curvature: float  # k in t + lambda sigma / (1 + lambda k): 0 for a plain mean
    jackknife: Floats  # u_i: mean of the leave-one-out means less the i-th
    resampled: Floats  # the mean in every resample; empty for analytic methods

    @property
    def units(self) -> int:
        """How many there are."""
        return self.influence.size

    @property
    def squares(self) -> float:
        """Sum of L_i^2."""
        return float(np.sum(self.influence**2))

    @property
    def acceleration(self) -> float:
        """A sixth of the skewness of the estimate."""
        return acceleration(self.influence)


def means(values: Floats, weights: Floats | None = None) -> Floats:
    """Mean of each column of values (n, m): sum(w v) / sum(w), with w = 1 when absent; NaN without weight.

    >>> means(np.array([[1.0], [4.0]]), np.array([[2.0], [1.0]])).tolist()
    [2.0]
    """
    values = np.asfortranarray(values)  # columns in one piece: a sum must not round differently beside other columns
    if weights is None:
        with np.errstate(invalid="ignore"):  # infinity less infinity is undefined
            return values.sum(axis=0) / len(values) if len(values) else np.full(values.shape[1], np.nan)
    weights = np.asfortranarray(weights)
    values = with_weight(values, weights)
    total, mean = weights.sum(axis=0), np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        np.divide((weights * values).sum(axis=0), total, out=mean, where=total != 0)
    return mean


def intervals(
    values: Floats,
    weights: Floats | None = None,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Lower and upper bounds (m,) for the means of values (n, m), whose columns share their units and resamples.

    ``bca`` corrects the bootstrap percentiles for bias and skewness; ``bootstrap`` is ``bca``, or beyond 50,000 units
    its analytic form ``abc``; ``percentile`` takes the plain percentiles; ``normal`` is mean ± t sd / sqrt(n).
    Fewer than two units (with weight): NaN. All values equal: both bounds are the mean. A value that is NaN or
    infinite: NaN, as nothing says how far an infinite mean could be from itself.

    >>> low, high = intervals(np.array([[0.50], [0.62], [0.30], [0.81]]), method="normal")
    >>> float(low[0].round(6)), float(high[0].round(6))
    (0.217118, 0.897882)
    """
    method = _resolve(method, values.shape[0])
    values = values if weights is None else with_weight(values, weights)
    _check_level(level)
    estimate = means(values, weights)
    low, high = np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    same, spread = _constant_and_varying(values, weights)
    low[same] = high[same] = estimate[same]
    chosen = np.flatnonzero(spread)
    if not chosen.size:
        return low, high
    v, w = values[:, chosen], None if weights is None else weights[:, chosen]
    resampled = np.empty((chosen.size, 0))
    if method in _RESAMPLING:
        resampled = _resampled_means(v, w, How(seed, resamples, threads, progress))
    for i, column in enumerate(chosen):
        one = _column(v[:, i], None if w is None else w[:, i], float(estimate[column]), resampled[i])
        low[column], high[column] = (
            _RESAMPLING[method](one, level) if method in _RESAMPLING else _ANALYTIC[method](one, level)
        )
    return low, high


def bounds_of_moments(totals: Totals, spread: Spread, *, method: str, level: float) -> Bounds:
    """Bounds of a mean from sums over its units: what :func:`intervals` finds from their values, save for rounding.

    ``method`` is ``normal`` or ``abc``; ``bootstrap`` is then ``abc``.
    """
    _check_level(level)
    if not math.isfinite(totals.greatest - totals.least):
        return np.nan, np.nan
    if totals.constant:
        return totals.mean, totals.mean
    if not totals.varying:
        return np.nan, np.nan
    return _ANALYTIC["abc" if method == "bootstrap" else method](spread, level)


def is_analytic(method: str, units: int, few: int = LARGE) -> bool:
    """Whether an interval is made of moments; ``bootstrap`` resamples ``few`` units.

    >>> is_analytic("bootstrap", 100), is_analytic("bootstrap", 100_000), is_analytic("normal", 100)
    (False, True, True)
    """
    return _resolve(method, units, few) in _ANALYTIC


def normal(moments: Moments, level: float) -> Bounds:
    """t interval: estimate ± t_{n-1} sqrt(sum L_i^2 / (n (n - 1))); for a plain mean that is mean ± t sd / sqrt(n)."""
    reach = float(t_quantile((1 + level) / 2, moments.units - 1) * standard_error(moments))
    return moments.estimate - reach, moments.estimate + reach


def percentile(column: Column, level: float) -> Bounds:
    """The (1 - level) / 2 and (1 + level) / 2 quantiles of the resampled means, linearly interpolated."""
    return _quantiles(column.resampled, (1 - level) / 2, (1 + level) / 2)


def bca(column: Column, level: float) -> Bounds:
    """Bias-corrected and accelerated: percentiles moved to Phi(z0 + (z0 + z) / (1 - a (z0 + z))).

    z0 = Phi^-1(share of resampled means below the estimate + half of those equal to it), with the share kept half a
    resample away from 0 and 1; a = sum u_i^3 / (6 (sum u_i^2)^1.5).
    """
    resampled = column.resampled[~np.isnan(column.resampled)]
    if not resampled.size:
        return np.nan, np.nan
    gap = resampled - column.estimate
    equal = np.abs(gap) <= 1e-12 * max(abs(column.estimate), float(np.abs(gap).max()))
    share = (np.count_nonzero((gap < 0) & ~equal) + np.count_nonzero(equal) / 2) / resampled.size
    z0 = normal_quantile(min(max(share, 0.5 / resampled.size), 1 - 0.5 / resampled.size))
    a = acceleration(column.jackknife)
    low, high = (normal_cdf(z0 + z / (1 - a * z)) for z in (z0 + end for end in _ends(level)))
    return _quantiles(resampled, low, high)


def _ends(level: float) -> Bounds:
    """Standard normal quantiles that enclose the level."""
    return normal_quantile((1 - level) / 2), normal_quantile((1 + level) / 2)


def abc(moments: Moments, level: float) -> Bounds:
    """Approximate bootstrap confidence: BCa without resampling, from the influence of the units alone.

    a = sum L_i^3 / (6 (sum L_i^2)^1.5), sigma = sqrt(sum L_i^2) / n, w = z0 + z, lambda = w / (1 - a w)^2; the bound
    is the mean on weights 1/n + lambda L_i / (n^2 sigma). For a mean, and for a ratio of means, z0 is exactly a: bias
    and curvature along the least favourable direction cancel. The bound is then t + lambda sigma / (1 + lambda k), with
    k = sum L_i w_i / (n^2 sigma mean(w)), which is 0 without weights.
    """
    a = moments.acceleration
    sigma = float(np.sqrt(moments.squares)) / moments.units
    w = a + np.array(_ends(level))
    lam = w / (1 - a * w) ** 2
    low, high = moments.estimate + lam * sigma / (1 + lam * moments.curvature)
    return float(low), float(high)


def acceleration(influence: Floats) -> float:
    """A sixth of the skewness of the estimate.

    Units that differ by a rounding error may have no influence at all; then nothing is skewed.

    >>> acceleration(np.array([-1.0, 0.0, 1.0])), acceleration(np.zeros(3))
    (0.0, 0.0)
    """
    largest = np.abs(influence).max()
    if largest == 0:
        return 0.0
    scaled = influence / largest  # cubes of tiny numbers would underflow
    squares = scaled * scaled
    return acceleration_of(np.sum(squares), np.sum(squares * scaled))


_RESAMPLING: dict[str, Callable[[Column, float], Bounds]] = {"bca": bca, "percentile": percentile}
_ANALYTIC: dict[str, Callable[[Moments, float], Bounds]] = {"abc": abc, "normal": normal}
METHODS = ("bootstrap", *_RESAMPLING, *_ANALYTIC)


def _resolve(method: str, units: int, few: int = LARGE) -> str:
    if method == "bootstrap":
        return "bca" if units <= few else "abc"
    if method not in METHODS:
        raise UsageError("U107", f"there is no interval method '{method}'", hint=suggest(method, METHODS))
    return method


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UsageError("U102", f"an interval of level {level} does not exist", hint="a level between 0 and 1: 0.95")


def _constant_and_varying(values: Floats, weights: Floats | None) -> tuple[Flags, Flags]:
    """Which columns hold one value only, and which vary; columns with fewer than two weighted units are neither."""
    if values.shape[0] < 2:
        nothing = np.zeros(values.shape[1], bool)
        return nothing, nothing
    if weights is None:
        low, high = values.min(axis=0), values.max(axis=0)
        finite = np.isfinite(low) & np.isfinite(high)
        return finite & (low == high), finite & (high > low)
    counted = weights > 0
    low = np.min(values, axis=0, where=counted, initial=np.inf)
    high = np.max(values, axis=0, where=counted, initial=-np.inf)
    enough = (counted.sum(axis=0) >= 2) & np.isfinite(low) & np.isfinite(high)
    return enough & (low == high), enough & (high > low)


def _resampled_means(v: Floats, w: Floats | None, how: How) -> Floats:
    resamples = how.count(10_000)
    if w is None:
        return bootstrap_sums(v.T, resamples, how) / float(v.shape[0])
    shared = w[:, :1] if np.array_equal(w, np.broadcast_to(w[:, :1], w.shape)) else w
    m = v.shape[1]
    stacked = np.concatenate([(v * w).T, shared.T])
    sums = bootstrap_sums(stacked, resamples, how)
    bottom = np.broadcast_to(sums[m:], (m, resamples))
    ratio = np.full((m, resamples), np.nan)
    np.divide(sums[:m], bottom, out=ratio, where=bottom != 0)
    return ratio


def _column(v: Floats, w: Floats | None, estimate: float, resampled: Floats) -> Column:
    n = v.size
    if w is None:
        influence = v - estimate
        return Column(estimate, influence, 0.0, influence / (n - 1), resampled)
    mean_weight = w.mean()
    influence = w * (v - estimate) / mean_weight
    curvature = curvature_of(n, np.sum(influence**2), np.sum(influence * w), mean_weight)
    leave_one_out = estimate - w * (v - estimate) / (w.sum() - w)
    return Column(estimate, influence, curvature, leave_one_out.mean() - leave_one_out, resampled)


def _quantiles(resampled: Floats, low: float, high: float) -> Bounds:
    bounds = np.nanquantile(resampled, [low, high])
    return float(bounds[0]), float(bounds[1])
