"""Reading hit@k among sampled candidates as hit@F(k) among all.

A rank k among m sampled candidates and the relevant item is about as far down as the rank F(k) among all N and the
item. Nothing of the metric is estimated: the same number is put under another cut-off. It is of use for hit rates, and
for cut-offs not much smaller than N / m, because F(1) is that large already.

Reference: Li, Jin, Gao and Liu, On sampling top-k recommendation evaluation, KDD 2020.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from recassay.errors import UsageError
from recassay.portable.elementary import exp, log, log_gamma
from recassay.sampled.ranks import checked_ranks
from recassay.spec import suggest

Float = NDArray[np.float64]
Family = Literal["linear", "beta"]

FAMILIES = ("linear", "beta")
SMALLEST, LARGEST = 1e-3, 1e3  # between them a is looked for: all ranks at the top, or all at the end


def mapped_cutoff(k: int, *, sample: int, pool: int, family: Family = "linear", a: float | None = None) -> float:
    """The cut-off F(k) among all that k among ``sample`` drawn candidates stands for; it need not be whole.

    ``linear``: F(k) = 1 + N (k - 1) / m. ``beta``: if the relative full rank (r - 1) / N has the density a x^(a-1), a
    share S(k) = Gamma(m+1) Gamma(k+a) / (Gamma(k) Gamma(m+1+a)) of the items is expected among the first k of a sample,
    and F(k) = 1 + N S(k)^(1/a) is the full rank with as many before it. The smaller ``a``, the more items stand at the
    top; 1 is for chance, and :func:`fit_a` finds it.

    >>> mapped_cutoff(10, sample=100, pool=1_000)
    91.0
    >>> round(mapped_cutoff(10, sample=100, pool=1_000, family="beta", a=0.5), 6)
    97.805661
    """
    if family not in FAMILIES:
        raise UsageError("U102", f"there is no family '{family}'", hint=suggest(family, FAMILIES))
    if not 1 <= sample <= pool:
        raise UsageError(
            "U102", f"sample={sample} of pool={pool}", hint="a sample has from 1 candidate to all of the pool"
        )
    if not 1 <= k <= sample + 1:
        raise UsageError("U102", f"k={k} among {sample + 1}", hint=f"a cut-off from 1 to {sample + 1}")
    if family == "linear":
        if a is not None:
            raise UsageError("U102", "the linear family has no a", hint="family='beta'")
        return 1 + pool * (k - 1) / sample
    if a is None or not (np.isfinite(a) and a > 0):
        raise UsageError(
            "U102", f"the beta family with a={a}", hint=f"a positive number: fit_a(ranks, sample={sample})"
        )
    return float(1 + pool * exp(_log_share(np.array(float(k)), sample, a) / a))


def fit_a(ranks: ArrayLike, *, sample: int) -> float:
    """The ``a`` of the beta family whose hit rates at all cut-offs are nearest to those of sampled ranks.

    Nearest is by the sum of squares over k = 1..m. It is looked for between 0.001 and 1,000.

    >>> round(fit_a([1, 2, 3, 4, 5], sample=4), 6)
    1.0
    """
    return _fitted(_hits(checked_ranks(ranks, sample), sample), sample)


def mapped_hits(
    ranks: ArrayLike, *, sample: int, pool: int, family: Family = "beta", a: float | None = None
) -> pl.DataFrame:
    """The hit rate at every cut-off k of a sample, and the ``cutoff`` among all that it is to be read at.

    The beta family is fitted where ``a`` is not given.

    >>> mapped_hits([1, 1, 2, 5], sample=4, pool=40, family="linear").rows()
    [(1, 0.5, 1.0), (2, 0.75, 11.0), (3, 0.75, 21.0), (4, 0.75, 31.0), (5, 1.0, 41.0)]
    """
    hits = np.append(_hits(checked_ranks(ranks, sample), sample), 1.0)
    if family == "beta" and a is None:
        a = _fitted(hits[:-1], sample)
    cutoffs = [mapped_cutoff(k, sample=sample, pool=pool, family=family, a=a) for k in range(1, sample + 2)]
    return pl.DataFrame({"k": np.arange(1, sample + 2), "hit": hits, "cutoff": cutoffs})


def _log_share(k: Float, sample: int, a: float) -> Float:
    """Logarithm of the share of items that are expected among the first k of a sample."""
    found: Float = log_gamma(sample + 1.0) - log_gamma(sample + 1 + a) + log_gamma(k + a) - log_gamma(k)
    return found


def _hits(ranks: NDArray[np.int64], sample: int) -> Float:
    """The share of ranks up to k = 1..m."""
    found: Float = np.cumsum(np.bincount(ranks, minlength=sample + 2))[1 : sample + 1] / ranks.size
    return found


def _fitted(hits: Float, sample: int) -> float:
    from scipy.optimize import minimize_scalar

    k = np.arange(1.0, sample + 1)

    def distance(log_a: float) -> float:
        return float(((exp(_log_share(k, sample, exp(log_a))) - hits) ** 2).sum())

    bounds = (log(SMALLEST), log(LARGEST))
    return float(exp(minimize_scalar(distance, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x))
