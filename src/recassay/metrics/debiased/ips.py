"""Inverse propensity scoring: a hit counts more, the less likely its item was to be observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.align import AlignedBlock, Alignment
from recassay.metrics.base import Accuracy, Addend, Values
from recassay.metrics.credit import NoFormula, RankFormula
from recassay.metrics.debiased.propensity import ObservedWeights, effective_size, power_law_exponent, propensities
from recassay.metrics.ranking.ndcg import discounts

if TYPE_CHECKING:
    from recassay.metrics.context import Context, ContextLookup

CreditKind = Literal["hit", "dcg", "auc"]


def weighted_credit_sum(lists: AlignedBlock, weight: Values, credits: Values, k: int | None) -> Values:
    """Return for each query the sum, over the judged items in its first k places, of weight x credit of the place.

    ``weight`` has an entry per row of the whole truth (0 for items that do not count), and ``credits`` one per place.
    The sum is an expectation if rows tie.
    """
    return lists.expected_sum(weight[lists.judged], credits, lists.cutoffs(k))


@dataclass(frozen=True, repr=False)
class PropensityWeighted(Accuracy):
    """Base of metrics that divide a relevant item's credit by its propensity, the probability that it was observed."""

    family: ClassVar[str] = "debiased"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    credit: CreditKind = "hit"
    gamma: float | None = None
    p_min: float | None = None
    targets: int | None = None

    def validate(self) -> None:
        if self.p_min is not None and not 0 < self.p_min <= 1:
            raise self.refuse("p_min", "it must be a probability above 0")
        if self.credit == "auc" and (self.k is not None or not self.targets):
            raise self.refuse("credit", f"write {self.name}(credit='auc', targets=N), N the items ranked, without @k")

    def rank_formula(self) -> RankFormula:
        return NoFormula("the weights of items are estimated from the whole training log")

    def exponent(self, context: Context) -> float:
        """Return ``gamma`` as given, or its estimate from the training log."""
        assert context.train is not None, "a metric that uses the training log must name it in `needs`"
        return power_law_exponent(context.train.item_users) if self.gamma is None else float(self.gamma)

    def bind(self, lookup: ContextLookup) -> ObservedWeights:
        counts = lookup.train.item_users
        chance = propensities(counts, lookup.train.n_users, self.exponent(lookup.context), self.p_min or 0.0)
        return ObservedWeights.of(lookup, 1.0 / chance, self.relevant_from)

    def addends(self, alignment: Alignment) -> Mapping[str, Addend]:
        observed: ObservedWeights = alignment.bound[self]
        return observed.addends

    def accompanying(self, addends: Mapping[str, Addend], context: Context) -> Mapping[str, float]:
        """Return three numbers: ``gamma``, the number of ``unseen`` pairs, and the ``effective_size`` of the others.

        A pair of a user and a relevant item is unseen, and left out, if the item has no training count. The effective
        size is the number of equally weighted pairs whose mean would have the same variance.
        """
        return {"gamma": self.exponent(context), **effective_size(addends)}

    def credit_sum(self, lists: AlignedBlock) -> Values:
        """Return the sum of weight x credit over the relevant items of each query."""
        observed: ObservedWeights = lists.bound(self)
        depth = lists.depth(self.k)
        if self.credit != "auc":
            credits = np.ones(depth) if self.credit == "hit" else discounts("log2p1", depth)
            return weighted_credit_sum(lists, observed.weight, credits, self.k)
        assert self.targets is not None
        if depth > self.targets:
            raise self.refuse("targets", f"a list holds {depth:,} items")
        listed = weighted_credit_sum(lists, observed.weight, 1.0 - np.arange(depth) / self.targets, None)
        unlisted = observed.total(lists) - weighted_credit_sum(lists, observed.weight, np.ones(depth), None)
        above = (lists.length + self.targets - 1) / 2  # unlisted items tie behind the list
        return listed + unlisted * (1.0 - above / self.targets)

    def judgeable(self, lists: AlignedBlock) -> NDArray[np.bool_]:
        observed: ObservedWeights = lists.bound(self)
        return observed.total(lists) > 0


@dataclass(frozen=True, repr=False)
class SNIPS(PropensityWeighted):
    """Self-normalised inverse propensity score: accuracy as if all items were equally likely to be observed.

    Formula: per user ``sum over relevant items of c_i / p_i`` divided by ``sum of 1 / p_i``; ``credit``: ``hit``, c = 1
    in the first k places; ``dcg``, c = 1/log2(rank + 1) there; ``auc``, c = 1 - Z/``targets``, Z the items above of all
    those ranked (unlisted items tie behind the list). Propensity p_i = (n_i / U)^((gamma + 1) / 2), n_i the
    training users of the item, U all of them, not below ``p_min``. ``pooled`` takes one ratio over all pairs: users
    have the weight sum of 1 / p_i in the mean.

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

    def judge(self, lists: AlignedBlock) -> Values:
        observed: ObservedWeights = lists.bound(self)
        total = observed.total(lists)
        return self.credit_sum(lists) / np.where(total > 0, total, 1.0)

    def weights(self, lists: AlignedBlock) -> Values | None:
        observed: ObservedWeights = lists.bound(self)
        return observed.total(lists) if self.pooled else None


@dataclass(frozen=True, repr=False)
class IPS(PropensityWeighted):
    """Inverse propensity score: an estimate of the sum of accuracy if every preference had been observed.

    Formula: mean over users of ``(1/D) sum over relevant items of c_i / p_i``, with c, p and the parameters
    ``credit``, ``targets``, ``gamma`` and ``p_min`` as in ``snips``. ``divide_by`` names D: ``catalogue``, the number
    of training items; ``relevant``, the relevant items of the user that have a training count.

    Edges: not bounded by 1, and not clipped; ``effective_size``, (sum 1/p)^2 / sum 1/p^2 over the relevant pairs, is
    reported with it: if it is small, few pairs decide the value. Relevant items without a training count are left out
    and counted; a user left with none is undefined.

    Libraries: RecPack IPSHitRate has p = n_i / rows, capped.

    Reference: Schnabel, Swaminathan, Singh, Chandak and Joachims, Recommendations as treatments, ICML 2016.
    """

    name = "ips"
    aliases = ("IPS",)
    bounds = (0.0, float("inf"))

    divide_by: Literal["catalogue", "relevant"] = "catalogue"

    def bind(self, lookup: ContextLookup) -> ObservedWeights:
        observed = super().bind(lookup)
        if self.divide_by == "relevant":
            return observed
        size = max(lookup.train.n_items, 1)
        return ObservedWeights(observed.weight / size, observed.unseen)

    def judge(self, lists: AlignedBlock) -> Values:
        observed: ObservedWeights = lists.bound(self)
        values = self.credit_sum(lists)
        if self.divide_by == "catalogue":
            return values
        counted = ObservedWeights((observed.weight > 0).astype(np.float64), 0).total(lists)
        return values / np.maximum(counted, 1)
