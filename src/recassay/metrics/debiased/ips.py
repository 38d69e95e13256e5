"""Inverse propensity scoring: a hit counts more, the less likely it was to be observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.align import Aligned, Meeting
from recassay.metrics.base import Accuracy, Piece, Values
from recassay.metrics.debiased.propensity import Observed, power_law_exponent, propensities, told
from recassay.metrics.ranking.ndcg import discounts

if TYPE_CHECKING:
    from recassay.metrics.context import Beside, Context

Credit = Literal["hit", "dcg", "auc"]


def credited(lists: Aligned, weight: Values, worth: Values, k: int | None) -> Values:
    """Sum over the relevant items in the first k places of their weight x the worth of their place."""
    return lists.expected_sum(weight[lists.judged], worth, lists.cutoffs(k))


@dataclass(frozen=True, repr=False)
class Weighted(Accuracy):
    """What the estimators share: a credit for each relevant item found, over the propensity of its item."""

    family: ClassVar[str] = "debiased"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    credit: Credit = "hit"
    gamma: float | None = None
    p_min: float | None = None
    targets: int | None = None

    def validate(self) -> None:
        if self.p_min is not None and not 0 < self.p_min <= 1:
            raise self.refuse("p_min", "it is a probability above 0")
        if self.credit == "auc" and (self.k is not None or not self.targets):
            raise self.refuse("credit", f"write {self.name}(credit='auc', targets=N), N the items ranked, without @k")

    def exponent(self, context: Context) -> float:
        """``gamma`` as stated, or as the training log has it."""
        assert context.train is not None, "a metric that uses the training log must name it in `needs`"
        return power_law_exponent(context.train.item_users) if self.gamma is None else float(self.gamma)

    def bind(self, beside: Beside) -> Observed:
        counts = beside.train.item_users
        chance = propensities(counts, beside.train.n_users, self.exponent(beside.context), self.p_min or 0.0)
        return Observed.of(beside, 1.0 / chance, self.relevant_from)

    def pieces(self, meeting: Meeting) -> Mapping[str, Piece]:
        observed: Observed = meeting.bound[self]
        return observed.pieces

    def accompanying(self, pieces: Mapping[str, Piece], context: Context) -> Mapping[str, float]:
        """``gamma`` as used, ``unseen`` relevant pairs left out, and the ``effective_size`` of the sample of pairs."""
        return {"gamma": self.exponent(context), **told(pieces)}

    def credit_sum(self, lists: Aligned) -> Values:
        """Sum of weight x credit over the relevant items of each query."""
        observed: Observed = lists.bound(self)
        depth = lists.depth(self.k)
        if self.credit != "auc":
            worth = np.ones(depth) if self.credit == "hit" else discounts("log2p1", depth)
            return credited(lists, observed.weight, worth, self.k)
        assert self.targets is not None
        if depth > self.targets:
            raise self.refuse("targets", f"a list holds {depth:,} items")
        listed = credited(lists, observed.weight, 1.0 - np.arange(depth) / self.targets, None)
        unlisted = observed.total(lists) - credited(lists, observed.weight, np.ones(depth), None)
        above = (lists.length + self.targets - 1) / 2  # what is not listed ties behind the list
        return listed + unlisted * (1.0 - above / self.targets)

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        observed: Observed = lists.bound(self)
        return observed.total(lists) > 0


@dataclass(frozen=True, repr=False)
class SNIPS(Weighted):
    """Self-normalised inverse propensity score: accuracy as if every item had the same chance to be observed.

    Formula: per user ``sum over relevant items of c_i / p_i`` divided by ``sum of 1 / p_i``; ``credit``: ``hit``, c = 1
    in the first k places; ``dcg``, c = 1/log2(rank + 1) there; ``auc``, c = 1 - Z/``targets``, Z the items above of all
    those ranked (unlisted items tie behind the list). Propensity p_i = (n_i / U)^((gamma + 1) / 2), n_i the
    training users of the item, U all of them, not below ``p_min``. ``pooled`` takes one ratio over all pairs: the mean
    weighs users by their sum of 1 / p_i.

    Edges: ``gamma`` is the exponent of the power law of the items' training counts, by default its maximum-likelihood
    estimate under the zeta distribution, which is reported; gamma = -1 gives the plain mean. Relevant items without a
    training count are left out and counted; a user left with none is undefined.

    Libraries: the authors' code; RecPack's IPSHitRate has p = n_i / rows, capped.

    Reference: Yang, Cui, Xuan, Wang, Belongie and Estrin, Unbiased offline recommender evaluation for
    missing-not-at-random implicit feedback, RecSys 2018.
    """

    name = "snips"
    aliases = ("SNIPS",)

    pooled: bool = False

    def judge(self, lists: Aligned) -> Values:
        observed: Observed = lists.bound(self)
        total = observed.total(lists)
        return self.credit_sum(lists) / np.where(total > 0, total, 1.0)

    def weights(self, lists: Aligned) -> Values | None:
        observed: Observed = lists.bound(self)
        return observed.total(lists) if self.pooled else None


@dataclass(frozen=True, repr=False)
class IPS(Weighted):
    """Inverse propensity score: what accuracy would sum to had every liking been observed.

    Formula: mean over users of ``(1/D) sum over relevant items of c_i / p_i``, with c, p and the parameters
    ``credit``, ``targets``, ``gamma`` and ``p_min`` as in ``snips``. ``divide_by`` names D: ``catalogue``, the number
    of training items; ``relevant``, the relevant items of the user that have a training count.

    Edges: not bounded by 1, and reported as it is; ``effective_size``, (sum 1/p)^2 / sum 1/p^2 over the relevant
    pairs, goes with it: a small one means that few pairs decide. Relevant items without a training count are left out
    and counted; a user left with none is undefined.

    Libraries: RecPack IPSHitRate has p = n_i / rows, capped.

    Reference: Schnabel, Swaminathan, Singh, Chandak and Joachims, Recommendations as treatments, ICML 2016.
    """

    name = "ips"
    aliases = ("IPS",)
    bounds = (0.0, float("inf"))

    divide_by: Literal["catalogue", "relevant"] = "catalogue"

    def bind(self, beside: Beside) -> Observed:
        observed = super().bind(beside)
        if self.divide_by == "relevant":
            return observed
        size = max(beside.train.n_items, 1)
        return Observed(observed.weight / size, observed.unseen)

    def judge(self, lists: Aligned) -> Values:
        observed: Observed = lists.bound(self)
        values = self.credit_sum(lists)
        if self.divide_by == "catalogue":
            return values
        counted = Observed((observed.weight > 0).astype(np.float64), 0).total(lists)
        return values / np.maximum(counted, 1)
