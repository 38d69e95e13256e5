"""Confidence intervals for means over units: bootstrap (BCa, percentile, the analytic ABC) and Student's t.

A mean is mean(v), or with weights the ratio sum(w v) / sum(w). Its uncertainty is the sampling error of the units.

References: Efron (1987) for BCa; DiCiccio and Efron (1992) for ABC; Efron and Tibshirani (1993, chapters 14 and 22).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from recassay.arrays import Bool, Float
from recassay.naming import choices
from recassay.naming.arguments import CheckedOptions
from recassay.stats.resampling import (
    Progress,
    ResamplingOptions,
    bootstrap_sums,
    column_digests,
    digest_of,
    is_remembering,
    remembered,
)

LARGE = 50_000  # above this many units `bootstrap` is the analytic ABC, which then hardly differs from BCa
NORMAL = NormalDist()
NO_RESAMPLES = np.empty(0)
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Uncertainty(CheckedOptions):
    """Options of confidence intervals; if ``method`` is None, no intervals are computed."""

    method: choices.IntervalMethod | None = "bootstrap"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0


BOOTSTRAP = Uncertainty()


@dataclass(frozen=True)
class ColumnInfluence:
    """The mean of one column (``estimate``), the ``influence`` L_i of each unit on it, and its ``resampled`` values.

    L_i is the change of the mean per share of weight moved to unit i.
    """

    estimate: float
    influence: Float  # L_i: the change of the mean per share of weight moved to unit i; sums to 0
    curvature: float  # k in t + lambda sigma / (1 + lambda k): 0 for a plain mean
    weighted_jackknife: Float | None  # the jackknife if units have weights
    resampled: Float  # the mean in every resample; empty for analytic methods

    @property
    def units(self) -> int:
        """Return the number of units."""
        return self.influence.size

    @property
    def jackknife(self) -> Float:
        """Return u_i for each unit i: the mean of all leave-one-out estimates minus the estimate without unit i."""
        return self.influence / (self.units - 1) if self.weighted_jackknife is None else self.weighted_jackknife

    @property
    def squares(self) -> float:
        """Return the sum over units of L_i^2, with L_i the influence of unit i."""
        return float(np.einsum("i,i->", self.influence, self.influence))

    @property
    def standard_error(self) -> float:
        """Return sqrt(sum L_i^2 / (n (n - 1))), which for a plain mean is sd / sqrt(n)."""
        return float(np.sqrt(self.squares / (self.units * (self.units - 1))))


def drop_unweighted_infinities(values: Float, weights: Float) -> Float:
    """Return the values with 0 in place of infinite values of weight 0, whose product would be NaN.

    >>> drop_unweighted_infinities(np.array([np.inf, 2.0, np.inf]), np.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 2.0, inf]
    """
    unweighted = (weights == 0) & np.isinf(values)
    return np.where(unweighted, 0.0, values) if unweighted.any() else values


def means(values: Float, weights: Float | None = None) -> Float:
    """Return the mean of each column of values (n, m): sum(w v) / sum(w), by default w = 1; NaN if sum(w) is 0.

    >>> means(np.array([[1.0], [4.0]]), np.array([[2.0], [1.0]])).tolist()
    [2.0]
    """
    values = np.asfortranarray(values)  # contiguous columns, so that a column's sum does not depend on other columns
    if weights is None:
        with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
            return values.sum(axis=0) / len(values) if len(values) else np.full(values.shape[1], np.nan)
    weights = np.asfortranarray(weights)
    values = drop_unweighted_infinities(values, weights)
    total, mean = weights.sum(axis=0), np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        np.divide((weights * values).sum(axis=0), total, out=mean, where=total != 0)
    return mean


def mean_of(values: Float, weights: Float | None, power: float = 1.0) -> float:
    """Return the power mean of the values that are defined; power 1 is the arithmetic mean."""
    undefined = np.isnan(values)
    if undefined.any():
        values, weights = values[~undefined], None if weights is None else weights[~undefined]
    column = values if power == 1 else values**power
    result = float(means(column[:, None], None if weights is None else weights[:, None])[0])
    return result if power == 1 else result ** (1 / power)


def intervals(
    values: Float,
    weights: Float | None = None,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Float, Float]:
    """Return lower and upper bounds (m,) for the means of values (n, m); all columns share the same resamples.

    ``bca`` corrects the bootstrap percentiles for bias and skewness. ``bootstrap`` is ``bca`` up to 50,000 units, above
    that its analytic form ``abc``. ``percentile`` takes the plain percentiles. ``normal`` is mean ± t sd / sqrt(n).
    Fewer than two units with weight give NaN, and so does an infinite or NaN value. If all values are equal, both
    bounds are the mean.

    >>> low, high = intervals(np.array([[0.50], [0.62], [0.30], [0.81]]), method="normal")
    >>> float(low[0].round(6)), float(high[0].round(6))
    (0.217118, 0.897882)
    """
    method = _resolved_method(method, values.shape[0])
    options = ResamplingOptions(seed, resamples, threads, progress)
    if method not in _RESAMPLING or not is_remembering():
        return _bounds_of_columns(values, weights, method, level, options)
    # one weight for all columns is stacked in another way, with the same sums
    weight_digests = [None] * values.shape[1] if weights is None else column_digests(weights)
    about = method, level, resamples, seed
    keys = [digest_of(*about, *pair) for pair in zip(column_digests(values), weight_digests, strict=True)]

    def compute(missing: list[int]) -> list[tuple[float, ...]]:
        chosen = None if weights is None else weights[:, missing]
        limits = _bounds_of_columns(values[:, missing], chosen, method, level, options)
        return list(zip(*(bounds.tolist() for bounds in limits), strict=True))

    low, high = np.array(remembered(keys, compute), np.float64).reshape(-1, 2).T
    return low, high


def _bounds_of_columns(
    values: Float, weights: Float | None, method: str, level: float, options: ResamplingOptions
) -> tuple[Float, Float]:
    """Return lower and upper bounds (m,) for the means of values (n, m), by a method other than ``bootstrap``."""
    values = values if weights is None else drop_unweighted_infinities(values, weights)
    estimate = means(values, weights)
    low, high = np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    constant, varying = _constant_and_varying(values, weights)
    low[constant] = high[constant] = estimate[constant]
    columns = np.flatnonzero(varying)
    if not columns.size:
        return low, high
    v, w = values, weights
    if columns.size < values.shape[1]:
        v, w = values[:, columns], None if weights is None else weights[:, columns]
    resampled = np.empty((columns.size, 0))
    if method in _RESAMPLING:
        resampled = _resampled_means(v, w, options)
    for i, column in enumerate(columns):
        influence = column_influence(v[:, i], None if w is None else w[:, i], float(estimate[column]), resampled[i])
        low[column], high[column] = METHODS[method](influence, level)
    return low, high


def is_analytic(method: str, units: int) -> bool:
    """Return whether the interval method needs only moments, as ``bootstrap`` does with more than 50,000 units.

    >>> is_analytic("bootstrap", 100), is_analytic("bootstrap", 100_000), is_analytic("normal", 100)
    (False, True, True)
    """
    return _resolved_method(method, units) not in _RESAMPLING


def normal(column: ColumnInfluence, level: float) -> Bounds:
    """Return the t interval of a mean: estimate ± t sqrt(sum L_i^2 / (n (n - 1))), with n - 1 degrees of freedom.

    L_i is the influence of unit i. Without weights this is mean ± t sd / sqrt(n).
    """
    half_width = t_quantile((1 + level) / 2, column.units - 1) * column.standard_error
    return column.estimate - half_width, column.estimate + half_width


def percentile(column: ColumnInfluence, level: float) -> Bounds:
    """Return the (1 - level) / 2 and (1 + level) / 2 quantiles of the resampled means, linearly interpolated."""
    return _quantiles(column.resampled, (1 - level) / 2, (1 + level) / 2)


def bca(column: ColumnInfluence, level: float) -> Bounds:
    """Return the bias-corrected and accelerated interval: quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))).

    They are quantiles of the resampled means, Phi is the normal distribution function, and z its two quantiles that
    enclose ``level``. z0 = Phi^-1(share of resampled means below the estimate + half of those equal to it). The share
    is kept half a resample away from 0 and 1. a = sum u_i^3 / (6 (sum u_i^2)^1.5), with u_i the jackknife value of unit
    i (see :class:`ColumnInfluence`).
    """
    resampled = column.resampled[~np.isnan(column.resampled)]
    if not resampled.size:
        return np.nan, np.nan
    gap = resampled - column.estimate
    equal = np.abs(gap) <= 1e-12 * max(abs(column.estimate), float(np.abs(gap).max()))
    share = (np.count_nonzero((gap < 0) & ~equal) + np.count_nonzero(equal) / 2) / resampled.size
    z0 = NORMAL.inv_cdf(min(max(share, 0.5 / resampled.size), 1 - 0.5 / resampled.size))
    a = acceleration(column.jackknife)
    low, high = (NORMAL.cdf(z0 + z / (1 - a * z)) for z in (z0 + end for end in _normal_bounds(level)))
    return _quantiles(resampled, low, high)


def _normal_bounds(level: float) -> Bounds:
    """Return the two standard normal quantiles that enclose the probability ``level``."""
    return NORMAL.inv_cdf((1 - level) / 2), NORMAL.inv_cdf((1 + level) / 2)


def abc(column: ColumnInfluence, level: float) -> Bounds:
    """Return the approximate bootstrap confidence interval: BCa without resampling, from the influence of the units.

    L_i is the influence of unit i, of n, on the estimate t, and z the normal quantile of the bound. With a = sum L_i^3
    / (6 (sum L_i^2)^1.5), sigma = sqrt(sum L_i^2) / n, w = z0 + z and lambda = w / (1 - a w)^2, the bound is the mean
    under the weights 1/n + lambda L_i / (n^2 sigma). For a mean, and for a ratio of means, the bias correction z0 is
    exactly a: bias and curvature along the least favourable direction cancel. The bound is then t + lambda sigma / (1 +
    lambda k), with k = sum L_i w_i / (n^2 sigma mean(w)) for units of weight w_i, and k = 0 without weights.
    """
    a = acceleration(column.influence)
    sigma = float(np.sqrt(column.squares)) / column.units
    w = a + np.array(_normal_bounds(level))
    lam = w / (1 - a * w) ** 2
    low, high = column.estimate + lam * sigma / (1 + lam * column.curvature)
    return float(low), float(high)


def acceleration(influence: Float) -> float:
    """Return the BCa acceleration, a sixth of the skewness of the estimate; 0 if no unit has any influence.

    Units that differ only by a rounding error have no influence.

    >>> acceleration(np.array([-1.0, 0.0, 1.0])), acceleration(np.zeros(3))
    (0.0, 0.0)
    """
    largest = max(influence.max(), -influence.min())
    if largest == 0:
        return 0.0
    scaled = influence / largest  # cubes of tiny numbers would underflow
    squares, cubes = np.einsum("i,i->", scaled, scaled), np.einsum("i,i,i->", scaled, scaled, scaled)
    return float(cubes / (6 * squares * np.sqrt(squares)))


def t_quantile(p: float, freedom: float) -> float:
    """Return the t with P(T < t) = p for Student's T with ``freedom`` degrees of freedom.

    >>> round(t_quantile(0.975, 10), 9)
    2.228138852
    """
    from scipy.special import stdtrit  # late: the default intervals do without, and the import takes long

    return float(stdtrit(freedom, p))


METHODS: dict[str, Callable[[ColumnInfluence, float], Bounds]] = {
    "bca": bca, "percentile": percentile, "abc": abc, "normal": normal,
}  # fmt: skip
_RESAMPLING = ("bca", "percentile")


def _resolved_method(method: str, units: int) -> str:
    """Return the method that ``bootstrap`` stands for with this number of units; another method itself."""
    return method if method != "bootstrap" else "bca" if units <= LARGE else "abc"


def _constant_and_varying(values: Float, weights: Float | None) -> tuple[Bool, Bool]:
    """Return two masks of columns: True where all values are equal, and True where values differ.

    Only units with a weight count. Both masks are False for a column with fewer than two such units, or an infinite
    value.
    """
    counted = True if weights is None else weights > 0
    units = len(values) if weights is None else np.count_nonzero(weights > 0, axis=0)
    low = np.min(values, axis=0, where=counted, initial=np.inf)
    high = np.max(values, axis=0, where=counted, initial=-np.inf)
    enough = (np.asarray(units) >= 2) & np.isfinite(low) & np.isfinite(high)
    return enough & (low == high), enough & (high > low)


def _resampled_means(v: Float, w: Float | None, options: ResamplingOptions) -> Float:
    """Return the mean of each column in every resample (m, resamples); NaN where a resample has no weight."""
    resamples = options.n_resamples(10_000)
    if w is None:
        return bootstrap_sums(v.T, resamples, options) / float(v.shape[0])
    shared = w[:, :1] if np.array_equal(w, np.broadcast_to(w[:, :1], w.shape)) else w
    m = v.shape[1]
    sums = bootstrap_sums(np.concatenate([(v * w).T, shared.T]), resamples, options)
    bottom = np.broadcast_to(sums[m:], (m, resamples))
    ratio = np.full((m, resamples), np.nan)
    np.divide(sums[:m], bottom, out=ratio, where=bottom != 0)
    return ratio


def column_influence(v: Float, w: Float | None, estimate: float, resampled: Float = NO_RESAMPLES) -> ColumnInfluence:
    """Return the influence of each unit of a column ``v`` with weights ``w`` on its mean ``estimate``.

    ``resampled`` are the means of the column in resamples, which the result keeps.
    """
    n = v.size
    if w is None:
        return ColumnInfluence(estimate, v - estimate, 0.0, None, resampled)
    w = np.ascontiguousarray(w)  # one pass over a column of a table, where the sums below make five
    mean_weight, moved = w.mean(), w * (v - estimate)
    influence = moved / mean_weight
    sigma = np.sqrt(np.einsum("i,i->", influence, influence)) / n
    curvature = float(np.einsum("i,i->", influence, w) / (n**2 * sigma * mean_weight)) if sigma else 0.0
    leave_one_out = estimate - moved / (w.sum() - w)
    return ColumnInfluence(estimate, influence, curvature, leave_one_out.mean() - leave_one_out, resampled)


def _quantiles(resampled: Float, low: float, high: float) -> Bounds:
    below, above = np.nanquantile(resampled, [low, high]).tolist()
    return below, above
