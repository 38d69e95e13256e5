"""Estimators of a full-ranking metric from the rank of the relevant item among sampled candidates.

An estimator assigns to a sampled rank q = 1..m+1 a number fhat(q), such that the mean of fhat over cases is close to
the mean of the metric f(r) at the full ranks r. For probabilities p(r) of the full ranks it has

    bias(r) = E[fhat(q) | r] - f(r)    and    variance(r) = Var[fhat(q) | r].

No estimator can distinguish full ranks that give the same sampled ranks: what the sample does not show comes from p.

Cut-offs can be mapped instead: rank k among m sampled candidates corresponds to about rank F(k) among all N, so that
hit@k is reported as hit@F(k). This is useful for hit rates, and for cut-offs not much below N / m, because F(1) is
already that large.

References: Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020; for cut-offs Li, Jin, Gao and
Liu, On sampling top-k recommendation evaluation, KDD 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import gammaln

from recassay.arrays import Float, Int64
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.credit import PairFormula, counts_pairs, credit_of
from recassay.naming.arguments import checks_types
from recassay.naming.named import ABOVE_0_UP_TO_1, COUNT, Named
from recassay.naming.registry import Registry
from recassay.sampled.joint import Joint
from recassay.sampled.ranks import check_ranks

Family = Literal["linear", "beta"]

SMALLEST, LARGEST = 1e-3, 1e3  # search range of a: all ranks at the top, or all at the end


class RankEstimates(NamedTuple):
    """The estimates fhat(q) for sampled ranks q = 1..m+1, and how many components were left out (``left_out``).

    A metric is a sum of components, functions of the rank (see ``joint.py``).
    """

    values: Float
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Target:
    """A metric of the full rank to be estimated; ``joint`` is the joint distribution of full and sampled rank."""

    metric: Metric
    joint: Joint

    @cached_property
    def products(self) -> Float:
        """Return the mean of metric(r) * psi_k(r) over full ranks r, for each function psi_k of ``joint.py``."""
        ranks = np.arange(1.0, last_credited_rank(self.metric, self.joint.pool) + 1)
        return self.joint.coefficients(metric_at_rank(self.metric, ranks, self.joint.pool))


class Estimator(Named):
    """Base class of estimators, which assign a number to each sampled rank."""

    def estimates(self, target: Target) -> RankEstimates:
        """Return the estimate fhat(q) of the metric in ``target`` for every sampled rank q = 1..m+1."""
        raise NotImplementedError(f"{type(self).__name__} must define estimates()")


def metric_at_rank(metric: Metric, rank: Float, pool: int) -> Float:
    """Return the metric of one relevant item at a rank among ``pool`` others; ranks need not be whole.

    Raise U110 if the metric is not a function of that rank.

    >>> from recassay.metrics.registry import parse_metric
    >>> metric_at_rank(parse_metric("ndcg@2"), np.array([1.0, 1.5, 3.0]), 9).round(6).tolist()
    [1.0, 0.756471, 0.0]
    >>> metric_at_rank(parse_metric("auc"), np.array([1.0, 10.0]), 9).tolist()
    [1.0, 0.0]
    """
    formula = metric.rank_formula()
    if isinstance(formula, PairFormula):
        return formula.share(rank - 1, pool)
    credit = credit_of(metric)
    if credit.weight is not None:
        what = f"{metric} cannot be corrected: its credit depends on the item, not only on the rank"
        raise UsageError("U110", what, where=str(metric), hint="hit@10, ndcg@10, mrr or auc")
    return np.where(rank <= pool + 1, credit.of_one(rank), 0.0)


def last_credited_rank(metric: Metric, pool: int) -> int:
    """Return the last rank, of 1 to ``pool`` + 1, at which the metric of one relevant item is not 0."""
    if counts_pairs(metric):
        return pool + 1
    return min(credit_of(metric).cut_of_one or pool + 1, pool + 1)


@dataclass(frozen=True, repr=False)
class Rank(Estimator):
    """The estimator that returns the metric at the expected full rank of a sampled rank: f(1 + N (q - 1) / m).

    That rank is right on average, but the metric at it is not, because metrics are not linear. At cut-offs below N / m
    only sampled rank 1 counts as a hit.
    """

    name: ClassVar[str] = "rank"

    def estimates(self, target: Target) -> RankEstimates:
        """Return the metric at the full rank that is expected from each sampled rank."""
        pool, sample = target.joint.pool, target.joint.sample
        return RankEstimates(metric_at_rank(target.metric, 1 + pool * np.arange(sample + 1) / sample, pool))


@dataclass(frozen=True, repr=False)
class MinimalBias(Estimator):
    """The estimator of least squared bias, whatever the variance: sum over r of p(r) bias(r)^2 is minimal.

    A metric is written as a sum of components (see ``joint.py``), and each is divided by its correlation with the
    sampled rank. In a sample of 100 most of these are almost 0. Components of which the sample keeps less than 1 /
    ``condition`` of the variance are left out, because the condition number of the normal equations would exceed
    ``condition``. The result reports how many. Even so, its values can be in the thousands and its mean useless: it is
    one end of a scale and not recommended.
    """

    name: ClassVar[str] = "minimal_bias"

    condition: Annotated[float, COUNT] = 1e12

    def estimates(self, target: Target) -> RankEstimates:
        """Return, for each sampled rank, the estimate of ``target``, a metric of the full rank, with the least bias.

        The metric is written as a sum of functions of the full rank. A function is used if the sampled rank explains at
        least 1 / ``condition`` of its variance.
        """
        joint = target.joint
        many = int((joint.kept**2 * self.condition >= 1).sum())
        return RankEstimates(joint.seen[:, :many] @ (target.products[:many] / joint.kept[:many]), joint.pairs - many)


@dataclass(frozen=True, repr=False)
class BiasVariance(Estimator):
    """An estimator that balances bias and variance: sum over r of p(r) (bias(r)^2 + gamma variance(r)) is minimal.

    gamma = 1 gives the mean of the metric given the sampled rank under p, which has the least error if p is right.
    Smaller values rely less on p and are noisier. 0.1 and 0.01 are the published choices.
    """

    name: ClassVar[str] = "bias_variance"

    gamma: Annotated[float, ABOVE_0_UP_TO_1] = 0.1

    def estimates(self, target: Target) -> RankEstimates:
        """Return the weighted sum of the metric's components (see ``joint.py``) at each sampled rank.

        With correlation rho, the weight is rho / ((1 - gamma) rho^2 + gamma): components that the sample hardly keeps
        are shrunk towards 0.
        """
        kept = target.joint.kept
        return RankEstimates(target.joint.seen @ (kept / ((1 - self.gamma) * kept**2 + self.gamma) * target.products))


@dataclass(frozen=True, repr=False)
class Constrained(Estimator):
    """The estimator of least squared bias under a constraint: sum over r of p(r) bias(r)^2 is minimal.

    ``monotone``: estimates are not negative and do not increase with the sampled rank. ``box``: estimates are between 0
    and 1. The constraint limits the variance.
    """

    name: ClassVar[str] = "constrained"

    by: Literal["monotone", "box"] = "monotone"

    def estimates(self, target: Target) -> RankEstimates:
        """Return the estimates of least squared bias that satisfy the constraint ``by`` (see the class).

        There is one per sampled rank, NaN if the rank cannot occur.
        """
        from scipy.optimize import lsq_linear, nnls

        joint = target.joint
        possible = joint.chances > 0
        mean = joint.kept[:, None] * (joint.seen[possible] * joint.chances[possible, None]).T
        found = np.full(possible.size, np.nan)
        if self.by == "box":
            found[possible] = lsq_linear(mean, target.products, (0.0, 1.0), method="bvls", tol=1e-15).x
        else:  # estimates decrease if the difference of each rank to the next is not negative
            added, _ = nnls(np.cumsum(mean, axis=1), target.products)
            found[possible] = np.cumsum(added[::-1])[::-1]
        return RankEstimates(found)


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
    problems = (
        (
            not 1 <= sample <= pool,
            f"sample must be between 1 and pool={pool}, got {sample}",
            "give the numbers of candidates",
        ),
        (not 1 <= k <= sample + 1, f"k must be between 1 and sample + 1 = {sample + 1}, got {k}", "lower k"),
        (
            family == "linear" and a is not None,
            "the linear family has no parameter a",
            "use family='beta', or leave a out",
        ),
        (
            family == "beta" and (a is None or not (np.isfinite(a) and a > 0)),
            f"the beta family needs a positive a, got {a}",
            f"a=fit_a(ranks, sample={sample})",
        ),
    )
    for applies, what, hint in problems:
        if applies:
            raise UsageError("U102", what, hint=hint)
    if a is None:
        return 1 + pool * (k - 1) / sample
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
    return np.asarray(gammaln(sample + 1.0) - gammaln(sample + 1 + a) + gammaln(k + a) - gammaln(k))


def _hit_rates(ranks: Int64, sample: int) -> Float:
    """Return the share of ``ranks`` that are k or better, for k = 1..``sample``."""
    return np.asarray(np.cumsum(np.bincount(ranks, minlength=sample + 2))[1 : sample + 1] / ranks.size)


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


REGISTRY: Registry[type[Estimator]] = Registry("estimator", "recassay.sampled", Estimator, group="recassay.estimators")
