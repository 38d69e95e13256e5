"""Discounted cumulative gain and its share of the ideal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.unlisted import Unlisted, followed
from recassay.portable.elementary import exp2, log2

if TYPE_CHECKING:
    from recassay.data.truth_facts import TruthFacts
    from recassay.metrics.context import Context

Gain = Literal["linear", "exp2", "binary"]
Discount = Literal["log2p1", "jk"]

LARGEST_EXPONENT = 1000  # the sum of a few powers of two is still a number


def discounts(kind: Discount, depth: int) -> Values:
    """Weight of each position from 1: ``log2p1`` 1/log2(p + 1); ``jk`` 1/max(1, log2 p), as first published.

    >>> discounts("log2p1", 3).round(6).tolist(), discounts("jk", 3).round(6).tolist()
    ([1.0, 0.63093, 0.5], [1.0, 1.0, 0.63093])
    """
    return discount_at(kind, np.arange(1, depth + 1, dtype=np.float64))


def discount_at(kind: Discount, position: Values) -> Values:
    """Weight of positions, which may lie between two ranks."""
    return 1.0 / (log2(position + 1) if kind == "log2p1" else np.maximum(1.0, log2(position)))


@dataclass(frozen=True, repr=False)
class DCG(Accuracy):
    """Discounted cumulative gain.

    Formula: ``sum_{p<=k} gain(grade at p) * discount(p)``. ``gain``: ``linear``, the grade; ``exp2``,
    2^(grade - offset) - 1; ``binary``, 1 from ``relevant_from`` on. ``discount``: ``log2p1``, 1/log2(p + 1); ``jk``,
    1/max(1, log2 p), which does not discount rank 2.

    Edges: negative grades (unjudged) count 0. Without @k the whole list counts.

    Libraries: ranx dcg, trec_eval's numerator of ndcg.

    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """

    name = "dcg"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    gain: Gain = "linear"
    discount: Discount = "log2p1"
    offset: float = 0.0

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        """Refuse grades that have no power of two."""
        super().prepare(facts, context)
        most = max(facts.greatest, 0.0) - self.offset
        if self.gain == "exp2" and most > LARGEST_EXPONENT:
            raise self.refuse("gain", f"2^{most:g} is no number; the truth has a gain of {facts.greatest:g}")

    def gains(self, grade: NDArray[np.float64]) -> Values:
        """The worth of each grade."""
        if self.gain == "binary":
            return (grade >= self.relevant_from).astype(np.float64)
        if self.gain == "linear":
            return np.maximum(grade, 0.0)
        return np.where(grade > 0, np.maximum(exp2(grade - self.offset) - 1.0, 0.0), 0.0)

    def judge(self, lists: Aligned) -> Values:
        weight = discounts(self.discount, lists.depth(self.k))
        return lists.expected_sum(self.gains(lists.grade), weight, lists.cutoffs(self.k))


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """Discounted cumulative gain as a share of the best the user's judged items allow.

    Formula: ``DCG@k / IDCG@k`` with ``DCG = sum_{p<=k} gain(grade at p) * discount(p)`` and IDCG the DCG of all judged
    items of the user, best first. ``gain``, ``discount`` and ``offset`` as in ``dcg``. ``ideal``: ``judged``, the best
    order of all judged items; ``retrieved``, the best order of those in the first k places (too kind, only for old
    comparisons); ``k``, as if k items were relevant (too harsh on users with fewer). ``unlisted="tied"`` lets judged
    items that a list lacks follow it, tied, as in libraries that rank the judged rows (too kind to short lists).

    Edges: undefined where the ideal is 0. Without @k all judged items count in the ideal. ``retrieved`` with a cut-off
    has no value under expected ties.

    Libraries: the default equals trec_eval ndcg and ndcg_cut, ranx ndcg, ir_measures nDCG. ``gain='exp2'`` as ranx
    ndcg_burges, RiVal EXP, Microsoft's exp; Elliot and RankSys have ``gain='exp2', offset=threshold - 1``.
    ``discount='jk'`` as LensKit; ``ideal='k'`` as RecTools by default; ``ideal='retrieved'`` as DaisyRec;
    ``unlisted='tied'`` as torchmetrics. RecBole, RecPack, RePlay and Cornac have binary gains.

    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; Burges et al.,
    Learning to rank using gradient descent, ICML 2005 (exp2).
    """

    name = "ndcg"
    aliases = ("nDCG", "NDCG", "ndcg_cut")
    bounds = (0.0, 1.0)

    ideal: Literal["judged", "retrieved", "k"] = "judged"
    unlisted: Unlisted = "absent"

    def validate(self) -> None:
        if self.ideal == "k" and (self.k is None or self.gain != "binary"):
            raise UsageError(
                "U102",
                "ndcg(ideal='k') needs a cut-off and binary gains",
                where=str(self),
                hint="write ndcg(gain='binary', ideal='k')@10",
            )

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        if self.ideal == "judged":
            return self._judged_ideal(lists) > 0
        return super().judgeable(lists)

    @property
    def defined_if_relevant(self) -> bool:
        return self.ideal != "judged" or bool(self.gains(np.array([self.relevant_from]))[0] > 0)

    def judge(self, lists: Aligned) -> Values:
        achieved = super().judge(followed(lists) if self.unlisted == "tied" else lists)
        ideal = self._ideal(lists)
        return achieved / np.where(ideal > 0, ideal, 1.0)

    def _ideal(self, lists: Aligned) -> Values:
        if self.ideal == "k":
            assert self.k is not None
            return np.full(lists.size, discounts(self.discount, self.k).sum())
        return self._judged_ideal(lists) if self.ideal == "judged" else self._retrieved_ideal(lists)

    def _judged_ideal(self, lists: Aligned) -> Values:
        def compute() -> Values:
            truth = lists.truth
            most = int(np.diff(lists.truth_offsets).max(initial=1))
            depth = most if self.k is None else min(self.k, most)
            out = np.empty(lists.size)
            value = self.gains(truth.gains[lists.truth_rows])
            weight = discounts(self.discount, depth)
            _kernels.top_sum(truth.offsets, value, weight, lists.begin, lists.end, depth, out)
            return out

        key = ("ideal", self.k, self.gain, self.discount, self.offset, self.relevant_from)
        return lists.remember(key, compute)  # type: ignore[return-value]

    def _retrieved_ideal(self, lists: Aligned) -> Values:
        """The best order of what stands in the first k places."""
        if self.k is not None:  # a quotient of two numbers that tied orders change
            self.need_strict_order(lists)
        depth = lists.depth(self.k)
        inside = np.where(lists.rank <= depth, self.gains(lists.grade), 0.0)
        query = np.repeat(np.arange(lists.size), np.diff(lists.start))
        order = np.lexsort((-inside, query))
        place = np.arange(inside.size) - lists.start[query]
        weight = np.append(discounts(self.discount, depth), np.zeros(max(int(place.max(initial=0)) + 1 - depth, 0)))
        return np.asarray(np.bincount(query, inside[order] * weight[place], minlength=lists.size), np.float64)
