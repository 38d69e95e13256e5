"""Estimators of a metric among all candidates from the rank of the relevant item among some of them.

An estimator answers a sampled rank q = 1..m+1 with a number fhat(q), so that the mean of fhat over cases is near the
mean of the metric f(r) at the full ranks r. For chances p(r) of the full ranks it has

    bias(r) = E[fhat(q) | r] - f(r)    and    variance(r) = Var[fhat(q) | r].

None of them knows anything of ranks that a sample does not tell apart: what is not in the sampled ranks comes from p.

Reference: Krichene and Rendle, On sampled metrics for item recommendation, KDD 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.designs.credit import credit_of
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.named import Named, Registry
from recassay.sampled.joint import Joint

Float = NDArray[np.float64]


class Answers(NamedTuple):
    """fhat of the sampled ranks 1..m+1, and how many directions it had to give up."""

    values: Float
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Target:
    """A metric of the full rank, to be estimated from a sampled one."""

    metric: Metric
    joint: Joint

    @cached_property
    def products(self) -> Float:
        """The mean products of the metric with the functions of the full rank that pairs are made of."""
        ranks = np.arange(1.0, deepest(self.metric, self.joint.pool) + 1)
        return self.joint.coefficients(worth(self.metric, ranks, self.joint.pool))


class Estimator(Named):
    """Base of estimators: what to answer each sampled rank with."""

    def answers(self, target: Target) -> Answers:
        """fhat of every sampled rank."""
        raise NotImplementedError(f"{type(self).__name__} must say what it answers")


def worth(metric: Metric, rank: Float, pool: int) -> Float:
    """What one relevant item earns at a rank among ``pool`` others; a rank may lie between two whole ones.

    Metrics that are no function of that rank are U121.

    >>> from recassay.metrics.registry import parse_metric
    >>> worth(parse_metric("ndcg@2"), np.array([1.0, 1.5, 3.0]), 9).round(6).tolist()
    [1.0, 0.756471, 0.0]
    >>> worth(parse_metric("auc"), np.array([1.0, 10.0]), 9).tolist()
    [1.0, 0.0]
    """
    if isinstance(metric, AUC):
        return 1 - (rank - 1) / pool
    credit = credit_of(metric)
    if credit.weight is not None:
        what = f"{metric} cannot be corrected: what an item earns depends on the item"
        raise UsageError("U121", what, where=str(metric), hint="hit@10, ndcg@10, mrr or auc")
    alone: Float = credit.rank_credit(rank) / credit.norm(np.ones(1, np.int64))
    return np.where(rank <= deepest(metric, pool), alone, 0.0)


def deepest(metric: Metric, pool: int) -> int:
    """The last rank that earns anything."""
    if isinstance(metric, AUC):
        return pool + 1
    credit = credit_of(metric)
    return min(1 if credit.cut_at_relevant else credit.cut or pool + 1, pool + 1)


@dataclass(frozen=True, repr=False)
class Rank(Estimator):
    """The metric at the full rank that a sampled rank stands for: f(1 + N (q - 1) / m).

    That rank is right on average; the metric at it is not, because metrics are not straight lines. At cut-offs below N
    / m it sees a hit or nothing.
    """

    name: ClassVar[str] = "rank"

    def answers(self, target: Target) -> Answers:
        """The metric at a stretched rank."""
        pool, sample = target.joint.pool, target.joint.sample
        return Answers(worth(target.metric, 1 + pool * np.arange(sample + 1) / sample, pool))


@dataclass(frozen=True, repr=False)
class MinimalBias(Estimator):
    """The least squared bias there can be, whatever the variance: sum over r of p(r) bias(r)^2 is minimal.

    It divides by how much a sample keeps of each direction in which metrics differ, and a sample of 100 keeps almost
    nothing of most. Directions with less than 1 / ``condition`` of the variance kept are left out, and the result says
    how many: with them the condition number of the normal equations would exceed ``condition``. Even so its values can
    be in the thousands, and its mean useless: it is the end of a scale, not advice.
    """

    name: ClassVar[str] = "minimal_bias"

    condition: float = 1e12

    def validate(self) -> None:
        """The first direction has condition 1."""
        if self.condition < 1:
            raise self.refuse("condition", "no system of equations is conditioned better than 1", "condition=1e12")

    def answers(self, target: Target) -> Answers:
        """Least squares on the directions that are kept."""
        joint = target.joint
        many = int((joint.kept**2 * self.condition >= 1).sum())
        return Answers(joint.seen[:, :many] @ (target.products[:many] / joint.kept[:many]), joint.pairs - many)


@dataclass(frozen=True, repr=False)
class BiasVariance(Estimator):
    """Bias against variance: sum over r of p(r) (bias(r)^2 + gamma variance(r)) is minimal.

    gamma = 1 answers with the mean of the metric given the sampled rank under p, which has the least error if p is
    right; smaller ones trust p less and are noisier. 0.1 and 0.01 are the published choices.
    """

    name: ClassVar[str] = "bias_variance"

    gamma: float = 0.1

    def validate(self) -> None:
        """Between no weight on variance and as much as on bias."""
        if not 0 < self.gamma <= 1:
            raise self.refuse("gamma", "the weight of variance is above 0 and at most 1", "minimal_bias has none")

    def answers(self, target: Target) -> Answers:
        """Each direction, shrunk by what it costs."""
        kept = target.joint.kept
        return Answers(target.joint.seen @ (kept / ((1 - self.gamma) * kept**2 + self.gamma) * target.products))


@dataclass(frozen=True, repr=False)
class Constrained(Estimator):
    """The least squared bias among answers that make sense: sum over r of p(r) bias(r)^2 is minimal.

    ``monotone``: not negative, and no better sampled rank has a smaller answer. ``box``: between 0 and 1. The
    constraint is what keeps the variance down.
    """

    name: ClassVar[str] = "constrained"

    by: Literal["monotone", "box"] = "monotone"

    def answers(self, target: Target) -> Answers:
        """Constrained least squares."""
        from scipy.optimize import lsq_linear, nnls

        joint = target.joint
        can_be = joint.chances > 0
        mean = joint.kept[:, None] * (joint.seen[can_be] * joint.chances[can_be, None]).T
        found = np.full(can_be.size, np.nan)
        if self.by == "box":
            found[can_be] = lsq_linear(mean, target.products, (0.0, 1.0), method="bvls", tol=1e-15).x
        else:  # what each rank adds to the next is not negative
            added, _ = nnls(np.cumsum(mean, axis=1), target.products)
            found[can_be] = np.cumsum(added[::-1])[::-1]
        return Answers(found)


REGISTRY = Registry("estimator", "recassay.sampled", Estimator)
