"""Mapping of cut-offs: hit@k among sampled candidates is reported as hit@F(k) among all candidates.

Rank k among m sampled candidates corresponds to about rank F(k) among all N. The metric is not estimated: the same
number is reported at another cut-off. This is useful for hit rates, and for cut-offs not much below N / m, because F(1)
is already that large.

Reference: Li, Jin, Gao and Liu, On sampling top-k recommendation evaluation, KDD 2020.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.sampled.ranks import check_ranks

Float = NDArray[np.float64]
Family = Literal["linear", "beta"]

FAMILIES = ("linear", "beta")
SMALLEST, LARGEST = 1e-3, 1e3  # search range of a: all ranks at the top, or all at the end


@checks_types
def mapped_cutoff(k: int, *, sample: int, pool: int, family: Family = "linear", a: float | None = None) -> float:
    """Return the cut-off F(k) among all candidates that corresponds to the cut-off k among sampled ones.

    ``sample`` (m) of ``pool`` (N) candidates are drawn; F(k) need not be whole. ``linear``: F(k) = 1 + N (k - 1) / m.
    ``beta``: the relative full rank x = (r - 1) / N of a relevant item is assumed to have the density a x^(a-1). Then a
    share S(k) = Gamma(m+1) Gamma(k+a) / (Gamma(k) Gamma(m+1+a)) of the relevant items is expected at sampled rank k or
    better, and the same share has a full rank below F(k) = 1 + N S(k)^(1/a). The smaller ``a``, the more relevant items
    are near the top; 1 is a random order. :func:`fit_a` estimates it.

    >>> mapped_cutoff(10, sample=100, pool=1_000)
    91.0
    >>> round(mapped_cutoff(10, sample=100, pool=1_000, family="beta", a=0.5), 6)
    97.805661
    """
    if family not in FAMILIES:
        raise UsageError("U102", f"there is no family '{family}'", hint=suggest(family, FAMILIES))
    if not 1 <= sample <= pool:
        raise UsageError(
            "U102", f"sample must be between 1 and pool={pool}, got {sample}", hint="give the numbers of candidates"
        )
    if not 1 <= k <= sample + 1:
        raise UsageError("U102", f"k must be between 1 and sample + 1 = {sample + 1}, got {k}", hint="lower k")
    if family == "linear":
        if a is not None:
            raise UsageError("U102", "the linear family has no parameter a", hint="use family='beta', or leave a out")
        return 1 + pool * (k - 1) / sample
    if a is None or not (np.isfinite(a) and a > 0):
        raise UsageError(
            "U102", f"the beta family needs a positive a, got {a}", hint=f"a=fit_a(ranks, sample={sample})"
        )
    return float(1 + pool * math.exp(_log_share(np.array(float(k)), sample, a) / a))


def fit_a(ranks: ArrayLike, *, sample: int) -> float:
    """Return the ``a`` of the beta family (see :func:`mapped_cutoff`) that best fits the hit rates of sampled ranks.

    ``sample`` is the number m of sampled candidates. The sum of squared differences over the cut-offs k = 1..m is
    minimised, with ``a`` between 0.001 and 1,000.

    >>> round(fit_a([1, 2, 3, 4, 5], sample=4), 6)
    1.0
    """
    return _fit_to_hits(_hit_rates(check_ranks(ranks, sample), sample), sample)


def mapped_hits(
    ranks: ArrayLike, *, sample: int, pool: int, family: Family = "beta", a: float | None = None
) -> pl.DataFrame:
    """Return a table: each cut-off k of a sample, the hit rate there, and the cut-off among all candidates.

    ``ranks`` are the ranks of relevant items in samples of ``sample`` of ``pool`` candidates. For the beta family,
    ``a`` is fitted by default.
    """
    hits = np.append(_hit_rates(check_ranks(ranks, sample), sample), 1.0)
    if family == "beta" and a is None:
        a = _fit_to_hits(hits[:-1], sample)
    cutoffs = [mapped_cutoff(k, sample=sample, pool=pool, family=family, a=a) for k in range(1, sample + 2)]
    return pl.DataFrame({"k": np.arange(1, sample + 2), "hit": hits, "cutoff": cutoffs})


def _log_share(k: Float, sample: int, a: float) -> Float:
    """Return log S(k): the log of the expected share of relevant items at sampled rank k or better, in the beta family.

    ``sample`` is the number of sampled candidates, and ``a`` the parameter of the family: relative full ranks have the
    density a x^(a-1) on (0, 1).
    """
    found: Float = gammaln(sample + 1.0) - gammaln(sample + 1 + a) + gammaln(k + a) - gammaln(k)
    return found


def _hit_rates(ranks: NDArray[np.int64], sample: int) -> Float:
    """Return the share of ``ranks`` that are k or better, for k = 1..``sample``."""
    found: Float = np.cumsum(np.bincount(ranks, minlength=sample + 2))[1 : sample + 1] / ranks.size
    return found


def _fit_to_hits(hits: Float, sample: int) -> float:
    """Return the ``a`` whose expected hit rates among sampled candidates are closest to ``hits`` (least squares).

    The model is that of :func:`mapped_cutoff`: relative full ranks of relevant items have the density a x^(a-1) on (0,
    1). ``hits[k - 1]`` is the observed hit rate at cut-off k = 1..``sample``, the number of sampled candidates.
    """
    from scipy.optimize import minimize_scalar

    k = np.arange(1.0, sample + 1)

    def distance(log_a: float) -> float:
        return float(((np.exp(_log_share(k, sample, math.exp(log_a))) - hits) ** 2).sum())

    bounds = (math.log(SMALLEST), math.log(LARGEST))
    return float(np.exp(minimize_scalar(distance, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x))
