"""Metrics for truths in which popular items are over-represented: inverse propensity scoring and stratified recall."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy

from recassay.arrays import Bool, Int64
from recassay.metrics.align import AlignedBlock, Alignment
from recassay.metrics.base import Accuracy, Addend, Values, range_sums
from recassay.metrics.context import Context, ContextLookup
from recassay.metrics.credit import Credit, NoFormula, RankFormula, constant, every_rank
from recassay.naming.named import ABOVE_0_UP_TO_1, UP_TO_1
from recassay.stats.exact_sums import ExactSum

STEEPEST = 20.0
STEP = 1e-5  # of a difference quotient, as a share of the exponent above 1


def power_law_exponent(counts: Int64) -> float:
    """Return the exponent of the power law of item counts: its maximum-likelihood estimate (zeta distribution).

    Formula: the gamma in (1, 20] that maximises ``-gamma mean(ln n) - ln zeta(gamma)`` over the items with n >= 1, as
    if P(n) were n^-gamma / zeta(gamma). Edges: no item with an event: NaN; no item with more than one: 20.

    Reference: Clauset, Shalizi and Newman, Power-law distributions in empirical data, SIAM Review 2009, with the power
    law starting at 1.

    >>> round(power_law_exponent(np.array([1, 1, 1, 1, 2, 2, 3, 5, 0])), 3)
    2.071
    """
    seen = counts[counts > 0]
    if seen.size == 0:
        return float("nan")
    return _most_likely_exponent(float(np.log(np.sort(seen)).mean()))


@lru_cache(maxsize=64)  # each part of the users asks for that of the same log, and every metric does
def _most_likely_exponent(mean_log: float) -> float:
    """Return the exponent that makes items with this mean logarithm of their counts most likely."""

    def cost(gamma: float) -> float:  # convex in gamma
        return gamma * mean_log + math.log(scipy.special.zeta(gamma))

    low, high = 1.0, STEEPEST
    while high - low > 1e-12:  # where the slope is 0: the least cost itself is flat, and known to 8 digits only
        middle = (low + high) / 2
        step = STEP * (middle - 1)
        low, high = (low, middle) if cost(middle + step) > cost(middle - step) else (middle, high)
    return high


def propensities(counts: Int64, users: int, gamma: float, p_min: float = 0.0) -> Values:
    """Return the probability ``max((n_i / users)^((gamma + 1) / 2), p_min)`` to observe an item; NaN for n_i = 0.

    >>> propensities(np.array([8, 4, 0]), 10, gamma=1.0).tolist()
    [0.8, 0.4, nan]
    """
    known = np.where(counts > 0, counts, np.nan)
    return np.asarray(np.maximum((known / max(users, 1)) ** ((gamma + 1) / 2), p_min))


CreditKind = Literal["hit", "dcg", "auc"]


@dataclass(frozen=True, repr=False)
class WeightedPairs(Accuracy):
    """Base of metrics that weight each relevant item of a user, and divide what the list earns by the sum of weights.

    A subclass binds the weight of every row of the truth (:meth:`pair_weights`).
    """

    family: ClassVar[str] = "debiased"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    def pair_weights(self, lookup: ContextLookup, by_item: Values) -> Values:
        """Return the weight of each row of the truth, from the weights of training items (``by_item``).

        The weight is 0 for a row that is not relevant, and for an item that has no weight (NaN) or no training event.
        """
        weight = np.append(by_item, np.nan)[lookup.truth_train_items]
        relevant = lookup.alignment.truth.gains >= self.relevant_from
        return np.where(relevant & ~np.isnan(weight), weight, 0.0)

    def addends(self, alignment: Alignment) -> Mapping[str, Addend]:
        """Return ``unseen``, the pairs left out, and the ``sum`` of the weights of others and of their ``squares``."""
        weight: Values = alignment.bound[self]
        unseen = int(((alignment.truth.gains >= self.relevant_from) & (weight == 0)).sum())
        return {"unseen": unseen, "sum": ExactSum.of(weight), "squares": ExactSum.of(np.square(weight))}

    def accompanying(self, addends: Mapping[str, Addend], context: Context) -> Mapping[str, float]:
        """Return the number of ``unseen`` pairs, and the ``effective_size`` of the others.

        A pair of a user and a relevant item is unseen, and left out, if the item has no training user. The effective
        size, (sum w)^2 / sum w^2, is the number of equally weighted pairs whose mean would have the same variance.
        """
        weight, squares = float(addends["sum"]), float(addends["squares"])
        size = weight * weight / squares if squares > 0 else float("nan")
        return {"unseen": int(float(addends["unseen"])), "effective_size": size}

    def total(self, lists: AlignedBlock) -> Values:
        """Return the sum of the weights of the relevant items of each query."""
        return range_sums(lists.truth_offsets, lists.bound(self)[lists.truth_rows])

    def earned(self, lists: AlignedBlock, credits: Values, k: int | None) -> Values:
        """Return the sum of weight x credit over the items in the first k places of each list, an expectation if tied.

        ``credits`` has an entry per place.
        """
        return lists.expected_sum(lists.bound(self)[lists.judged], credits, lists.cutoffs(k))

    def credit_sum(self, lists: AlignedBlock) -> Values:
        """Return the sum of weight x credit over the relevant items of each query: credit 1 in the first k places."""
        return self.earned(lists, np.ones(lists.depth(self.k)), self.k)

    def judgeable(self, lists: AlignedBlock) -> Bool:
        return self.total(lists) > 0

    def judge(self, lists: AlignedBlock) -> Values:
        total = self.total(lists)
        return self.credit_sum(lists) / np.where(total > 0, total, 1.0)


@dataclass(frozen=True, repr=False)
class PropensityWeighted(WeightedPairs):
    """Base of metrics that divide a relevant item's credit by its propensity, the probability that it was observed."""

    no_formula: ClassVar[str] = "the weights of items are estimated from the whole training log"

    credit: CreditKind = "hit"
    gamma: float | None = None
    p_min: Annotated[float | None, ABOVE_0_UP_TO_1] = None
    targets: int | None = None

    def validate(self) -> None:
        if self.credit == "auc" and (self.k is not None or not self.targets):
            raise self.refuse("credit", f"write {self.name}(credit='auc', targets=N), N the items ranked, without @k")

    def exponent(self, context: Context) -> float:
        """Return ``gamma`` as given, or its estimate from the training log."""
        assert context.train is not None, "a metric that uses the training log must name it in `needs`"
        return power_law_exponent(context.train.item_users) if self.gamma is None else float(self.gamma)

    def bind(self, lookup: ContextLookup) -> Values:
        counts = lookup.train.item_users
        chance = propensities(counts, lookup.train.n_users, self.exponent(lookup.context), self.p_min or 0.0)
        return self.pair_weights(lookup, 1.0 / chance)

    def accompanying(self, addends: Mapping[str, Addend], context: Context) -> Mapping[str, float]:
        """Return ``gamma``, and the numbers of all metrics with weighted pairs."""
        return {"gamma": self.exponent(context), **super().accompanying(addends, context)}

    def credit_sum(self, lists: AlignedBlock) -> Values:
        """Return the sum of weight x credit over the relevant items of each query."""
        depth = lists.depth(self.k)
        if self.credit == "hit":
            return super().credit_sum(lists)
        if self.credit == "dcg":
            return self.earned(lists, 1.0 / np.log2(np.arange(2.0, depth + 2)), self.k)
        assert self.targets is not None
        if depth > self.targets:
            raise self.refuse("targets", f"a list holds {depth:,} items")
        unlisted = self.total(lists) - self.earned(lists, np.ones(depth), None)
        above = (lists.length + self.targets - 1) / 2  # unlisted items tie behind the list
        listed = self.earned(lists, 1.0 - np.arange(depth) / self.targets, None)
        return listed + unlisted * (1.0 - above / self.targets)


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

    def weights(self, lists: AlignedBlock) -> Values | None:
        return self.total(lists) if self.pooled else None


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

    def bind(self, lookup: ContextLookup) -> Values:
        return super().bind(lookup) / (1 if self.divide_by == "relevant" else max(lookup.train.n_items, 1))

    def judge(self, lists: AlignedBlock) -> Values:
        values = self.credit_sum(lists)
        if self.divide_by == "catalogue":
            return values
        return values / np.maximum(range_sums(lists.truth_offsets, lists.bound(self)[lists.truth_rows] > 0), 1)


@dataclass(frozen=True, repr=False)
class StratifiedRecall(WeightedPairs):
    """Recall with relevant items weighted by popularity^-b.

    Formula: per user ``sum over relevant items in the first k places of w_i / sum over relevant items of w_i`` with
    w_i = n_i^-b, n_i the training users of the item. ``weighting``: users have the weight sum of w in the
    mean (``stratified``), which makes it one ratio over all pairs, or equal weights (``equal``).

    Edges: b = 0 is recall; b = 1 removes popularity completely. It is ``snips(gamma=2 * b - 1)``, pooled where
    stratified. Relevant items without a training count are left out and counted; a user left with none is undefined.

    Libraries: RiVal's popularity-stratified recall normalises over all users.

    Reference: Steck, Item popularity and recommendation accuracy, RecSys 2011.
    """

    name = "stratified_recall"

    b: Annotated[float, UP_TO_1] = 0.5
    weighting: Literal["stratified", "equal"] = "stratified"

    def bind(self, lookup: ContextLookup) -> Values:
        counts = lookup.train.item_users
        return self.pair_weights(lookup, np.where(counts > 0, self._weights(counts), np.nan))

    def _weights(self, users: Int64) -> Values:
        """Return users^-b, the weight of items from their numbers of training users; 0 without a training user."""
        return np.where(users > 0, np.maximum(users, 1.0) ** -self.b, 0.0)

    def rank_formula(self) -> RankFormula:
        if self.weighting == "stratified":
            return NoFormula("its mean weights users by their items; weighting='equal' can")
        return Credit("each", self.k, every_rank, constant(1.0), weight=self._weights)

    def weights(self, lists: AlignedBlock) -> Values | None:
        return self.total(lists) if self.weighting == "stratified" else None
