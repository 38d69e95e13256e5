"""Discounted cumulative gain, and its ratio to the ideal."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import is_one_number, ranges, row_groups
from recassay.data.truth import TruthStatistics
from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values, range_sums
from recassay.metrics.context import Context
from recassay.metrics.credit import Credit, NoFormula, RankFormula, constant
from recassay.naming.named import Departure

UnlistedPolicy = Literal["absent", "tied"]


def with_unlisted(lists: AlignedBlock) -> AlignedBlock:
    """Return a block in which each list is followed by the judged items that it does not hold, all of them tied.

    If the block has only the first rows of lists, up to some depth, judged items further down count as not held; what
    is appended for them is beyond every cut-off.
    """
    rows, offsets = lists.truth_rows, lists.truth_offsets
    missed = lists.truth.gains[rows] >= 0
    missed[lists.judged - rows.start] = False
    added = np.flatnonzero(missed)
    of = row_groups(offsets)[added]
    count = np.bincount(of, minlength=lists.size)
    where = lists.start[of + 1]  # after the marks of its own query
    first = np.insert(lists.first, where, lists.length[of] + 1)
    last = np.insert(lists.last, where, (lists.length + count)[of])
    return dataclasses.replace(
        lists,
        length=lists.length + count,
        start=lists.start + np.append(0, np.cumsum(count)),
        rank=first,
        first=first,
        last=last,
        judged=np.insert(lists.judged, where, added + rows.start),
        listed_rank=None,
        _memo={},
    )


Gain = Literal["linear", "exp2", "binary"]
Discount = Literal["log2p1", "jk"]

LARGEST_EXPONENT = 1000  # sums of a few such powers of two are still finite


def discounts(kind: Discount, depth: int) -> Values:
    """Return the discount of ranks 1..depth: ``log2p1`` 1/log2(p + 1); ``jk`` 1/max(1, log2 p), as first published.

    >>> discounts("log2p1", 3).round(6).tolist(), discounts("jk", 3).round(6).tolist()
    ([1.0, 0.63093, 0.5], [1.0, 1.0, 0.63093])
    """
    return discount_at(kind, np.arange(1, depth + 1, dtype=np.float64))


def discount_at(kind: Discount, position: Values) -> Values:
    """Return the discount of positions, which may lie between two ranks; ``kind`` is ``log2p1`` or ``jk``."""
    return 1.0 / (np.log2(position + 1) if kind == "log2p1" else np.maximum(1.0, np.log2(position)))


@dataclass(frozen=True, repr=False)
class DCG(Accuracy):
    """Discounted cumulative gain.

    Formula: ``sum_{p<=k} gain(grade at p) * discount(p)``. ``gain``: ``linear``, the grade; ``exp2``,
    2^(grade - offset) - 1; ``binary``, 1 from ``relevant_from`` on. ``discount``: ``log2p1``, 1/log2(p + 1); ``jk``,
    1/max(1, log2 p), which does not discount rank 2.

    Edges: negative grades (unjudged) count 0. Without @k the whole list counts. ``relevant_from`` changes ``binary``
    gains only: a lower grade keeps its linear or exponential gain.

    Libraries: ranx dcg, trec_eval's numerator of ndcg.

    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """

    name = "dcg"
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    gain: Gain = "linear"
    discount: Discount = "log2p1"
    offset: float = 0.0

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        """Raise U102 for grades whose power of two is not finite."""
        super().prepare(statistics, context)
        if self.gain != "exp2":
            return
        most = max(statistics.max_gain, 0.0) - self.offset
        if most > LARGEST_EXPONENT:
            raise self.refuse("gain", f"2^{most:g} is too large; the truth has a gain of {statistics.max_gain:g}")

    def gains(self, grade: Float) -> Values:
        """Return the gain of each grade."""
        if self.gain == "binary":
            return (grade >= self.relevant_from).astype(np.float64)
        if self.gain == "linear":
            return np.maximum(grade, 0.0)
        return np.where(grade > 0, np.maximum(np.exp2(grade - self.offset) - 1.0, 0.0), 0.0)

    def rank_formula(self) -> RankFormula:
        return Credit("each", self.k, self._discount_at, constant(1.0), factor=float(self.gains(np.ones(1))[0]))

    def _discount_at(self, ranks: Values) -> Values:
        return discount_at(self.discount, ranks)

    def judge(self, lists: AlignedBlock) -> Values:
        weight = discounts(self.discount, lists.depth(self.k))
        return lists.expected_sum(self.gains(lists.grade), weight, lists.cutoffs(self.k))


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """Discounted cumulative gain as a share of the best that the user's judged items allow.

    Formula: ``DCG@k / IDCG@k`` with ``DCG = sum_{p<=k} gain(grade at p) * discount(p)`` and IDCG the DCG of all judged
    items of the user, best first. ``gain``, ``discount`` and ``offset`` as in ``dcg``. ``ideal``: ``judged``, the best
    order of all judged items; ``retrieved``, the best order of those in the first k places (too high; only to
    compare with published numbers); ``k``, as if k items were relevant (too low for users with fewer).
    ``unlisted="tied"`` appends judged items that a list does not hold to its end, tied, as libraries do that rank the
    judged rows (too high for short lists).

    Edges: undefined where the ideal is 0. Without @k all judged items count in the ideal. ``retrieved`` with a cut-off
    has no value under expected ties. ``relevant_from`` changes ``binary`` gains only: a lower grade keeps its linear or
    exponential gain.

    Libraries: the default equals trec_eval ndcg and ndcg_cut, which ignore -l too, ranx ndcg, ir_measures nDCG.
    ``gain='exp2'`` as ranx ndcg_burges, RiVal EXP, Microsoft's exp; Elliot and RankSys have
    ``gain='exp2', offset=threshold - 1``. ``discount='jk'`` as LensKit; ``ideal='k'`` as RecTools by default;
    ``ideal='retrieved'`` as DaisyRec; ``unlisted='tied'`` as torchmetrics. RecBole, RecPack, RePlay and Cornac have
    binary gains.

    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; Burges et al.,
    Learning to rank using gradient descent, ICML 2005 (exp2).
    """

    name = "ndcg"
    departures = (
        Departure(
            "sampled-metrics",
            "Equation 2 of the paper writes log(i + 1) without a base; recassay takes base 2, with which a first "
            "place is worth 1.",
        ),
    )
    aliases = ("nDCG", "NDCG", "ndcg_cut")
    bounds = (0.0, 1.0)

    ideal: Literal["judged", "retrieved", "k"] = "judged"
    unlisted: UnlistedPolicy = "absent"

    def validate(self) -> None:
        if self.ideal == "k" and (self.k is None or self.gain != "binary"):
            raise UsageError(
                "U102",
                "ndcg(ideal='k') needs a cut-off and binary gains",
                where=str(self),
                hint="write ndcg(gain='binary', ideal='k')@10",
            )

    def judgeable(self, lists: AlignedBlock) -> Bool:
        return self._judged_ideal(lists) > 0 if self.ideal == "judged" else super().judgeable(lists)

    @property
    def defined_if_relevant(self) -> bool:
        return self.ideal != "judged" or bool(self.gains(np.array([self.relevant_from]))[0] > 0)

    def rank_formula(self) -> RankFormula:
        if self.ideal == "retrieved":
            return NoFormula("an ideal of what was retrieved changes with every draw")
        if not self.gains(np.ones(1))[0] > 0:
            return NoFormula("relevant items of gain 1 count nothing under these parameters")
        return Credit("each", self.k, self._discount_at, self._ideal_of)

    def _ideal_of(self, relevant: Int64) -> Values:
        """Return the ideal DCG for each number of relevant items in ``relevant``, if every relevant item has gain 1."""
        if self.ideal == "k":
            assert self.k is not None
            return np.full(relevant.size, discounts(self.discount, self.k).sum())
        depth = int(relevant.max(initial=1)) if self.k is None else min(self.k, int(relevant.max(initial=1)))
        best = np.append(0.0, np.cumsum(discounts(self.discount, depth)))
        return np.asarray(best[np.minimum(relevant, depth)])

    def judge(self, lists: AlignedBlock) -> Values:
        achieved = super().judge(with_unlisted(lists) if self.unlisted == "tied" else lists)
        if self.ideal == "k":
            ideal = self._ideal_of(lists.relevant(self.relevant_from))
        else:
            ideal = self._judged_ideal(lists) if self.ideal == "judged" else self._retrieved_ideal(lists)
        return achieved / np.where(ideal > 0, ideal, 1.0)

    def _judged_ideal(self, lists: AlignedBlock) -> Values:
        def compute() -> Values:
            truth = lists.truth
            most = int(np.diff(lists.truth_offsets).max(initial=1))
            depth = most if self.k is None else min(self.k, most)
            weight = discounts(self.discount, depth)
            if is_one_number(truth.gains):  # the ideal depends on the number of rows alone
                best = np.append(0.0, np.cumsum(self.gains(truth.gains[:1]) * weight))
                return np.asarray(best[np.minimum(np.diff(lists.truth_offsets), depth)])
            out = np.empty(lists.size)
            value = self.gains(truth.gains[lists.truth_rows])
            _kernels.top_sum(truth.offsets, value, weight, lists.begin, lists.end, depth, out)
            return out

        key = ("ideal", self.k, self.gain, self.discount, self.offset, self.relevant_from)
        return lists.remember(key, compute)  # type: ignore[return-value]

    def _retrieved_ideal(self, lists: AlignedBlock) -> Values:
        """Return the DCG of the best order of the items in the first k places."""
        if self.k is not None:  # a ratio of two numbers that both depend on the order of ties
            self.need_strict_order(lists)
        depth = lists.depth(self.k)
        inside = np.where(lists.rank <= depth, self.gains(lists.grade), 0.0)
        order, place = np.lexsort((-inside, row_groups(lists.start))), ranges(0, np.diff(lists.start))
        weight = np.append(discounts(self.discount, depth), np.zeros(max(int(place.max(initial=0)) + 1 - depth, 0)))
        return range_sums(lists.start, inside[order] * weight[place])
