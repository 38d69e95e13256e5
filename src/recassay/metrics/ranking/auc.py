"""Pairs of relevant and other items: area under the ROC curve, and bpref and infAP for incomplete judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Int64
from recassay.data.truth import TruthStatistics
from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values, range_sums
from recassay.metrics.context import Context
from recassay.metrics.credit import JudgedCounts, JudgedFormula, PairFormula, RankFormula

SMOOTHING = 0.00001  # of infAP, as in trec_eval


def share_in_order(above: Values, pairs: Int64 | Values | float) -> Values:
    """Return the share of pairs in the right order, from the number ``above`` of pairs in the wrong order.

    A pair is a relevant item and a negative; a tie counts one half.
    """
    return np.asarray((pairs - above) / pairs)


@dataclass(frozen=True, repr=False)
class AUC(Accuracy):
    """Share of pairs of a relevant and another target item that are ranked in the right order.

    Formula: ``P(score of a relevant item > score of another target)``, ties count one half. ``negatives="all"``: every
    one of the ``targets`` items that is not relevant; ``judged``: the user's judged non-relevant items.

    Edges: items that a list does not hold tie at its end. ``targets`` is the size of the set that was ranked, such as
    the catalogue; lists cut at N say nothing about the order beyond N. No pair: undefined.

    Libraries: MyMediaLite gives 0.5 where it is undefined; Cornac counts a tie as wrong.

    Reference: Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 2006.
    """

    name = "auc"
    aliases = ("AUC",)
    cutoff = "none"
    list_parameters: ClassVar[frozenset[str]] = Accuracy.list_parameters | {"targets"}

    negatives: Literal["all", "judged"] = "all"
    targets: int | None = None

    @property
    def negatives_below(self) -> float | None:
        return self.relevant_from if self.negatives == "judged" else None

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        super().prepare(statistics, context)
        if self.negatives == "judged":
            raise_without_negatives(self, statistics)
        elif self.targets is None:
            raise UsageError(
                "U105",
                "auc needs to know how many items were ranked",
                where=str(self),
                hint="for example auc(targets=3706), or auc(negatives='judged')",
            )

    def rank_formula(self) -> RankFormula:
        judged = self.negatives == "judged"
        return JudgedFormula(_of_judged, by_judged_alone=True) if judged else PairFormula(share_in_order)

    def _negatives(self, lists: AlignedBlock) -> Int64:
        if self.negatives == "judged":
            return lists.nonrelevant(self.relevant_from)
        assert self.targets is not None
        return np.maximum(self.targets - lists.relevant(self.relevant_from), 0)

    def judgeable(self, lists: AlignedBlock) -> Bool:
        return super().judgeable(lists) & (self._negatives(lists) > 0)

    def judge(self, lists: AlignedBlock) -> Values:
        is_relevant = lists.is_relevant(self.relevant_from)
        if self.negatives == "judged":
            counted = ~is_relevant & (lists.grade >= 0)
            shown = range_sums(lists.start, counted).astype(np.int64)
        else:
            counted = np.zeros(0, np.bool_)  # every listed item that is not relevant counts, judged or not
            shown = lists.length - lists.hits(None, self.relevant_from).round().astype(np.int64)
        negatives, relevant = self._negatives(lists), lists.relevant(self.relevant_from)
        if (shown > negatives).any():
            if not lists.distinct:
                raise self.refuse("negatives", "a list repeats items, so pairs of items cannot be counted")
            raise self.refuse("targets", f"a list and its relevant items hold more than {self.targets} items")
        out = np.empty(lists.size)
        _kernels.ordered_pairs(
            lists.start, lists.first, lists.last, is_relevant, counted, negatives, shown, relevant, out
        )
        pairs = np.maximum(relevant * negatives, 1)
        return share_in_order(pairs - out, pairs)


def _of_judged(counts: JudgedCounts) -> Values:
    """Return, for each relevant item, the share of its user's judged negatives that are ranked below the item.

    The share is NaN if the user has no judged negative.
    """
    with np.errstate(invalid="ignore"):
        return share_in_order(counts.judged_above.astype(np.float64), counts.judged)


@dataclass(frozen=True, repr=False)
class Bpref(Accuracy):
    """Binary preference: how rarely judged non-relevant items are ranked above relevant ones.

    Formula: ``(1/R) sum over relevant items found of 1 - min(n, R) / min(|N|, R)``, n the judged non-relevant items
    above it, N all of the user's; the bracket is 1 where n = 0. ``form="original"`` counts only the first R judged
    non-relevant items and divides by R.

    Edges: unjudged items are ignored. Needs judged non-relevant items (gain below ``relevant_from``): if more than half
    of the users have none, the value would be little else than recall, and bpref is refused.

    Libraries: trec_eval bpref, ir_measures Bpref, ranx bpref.

    Reference: Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.
    """

    name = "bpref"
    aliases = ("Bpref",)
    cutoff = "none"

    form: Literal["trec", "original"] = "trec"

    @property
    def negatives_below(self) -> float | None:
        return self.relevant_from

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        super().prepare(statistics, context)
        raise_without_negatives(self, statistics)

    def rank_formula(self) -> RankFormula:
        return JudgedFormula(self._preferences, by_judged_alone=True)

    def _preferences(self, counts: JudgedCounts) -> Values:
        """Return, for each relevant item, how rarely judged negatives are ranked above it, from 0 to 1."""
        bound = counts.relevant if self.form == "original" else np.minimum(counts.judged, counts.relevant)
        return np.asarray(1.0 - np.minimum(counts.judged_above, counts.relevant) / np.maximum(bound, 1))


@dataclass(frozen=True, repr=False)
class InfAP(Accuracy):
    """Inferred average precision: AP estimated from a random sample of judgements.

    Formula: for a relevant item at place j (from 0): ``1/(j+1) + (j/(j+1)) * (pooled above / j) * (rel + e) /
    (rel + nonrel + 2e)`` with e = 0.00001 and the counts of judged items above it; at j = 0: 1; the sum divided by R.
    Pooled are judged items and those marked unjudged by a negative gain.

    Edges: items outside the pool count only through j. Without a negative gain in the truth only judged items are
    pooled. No value under expected ties.

    Libraries: trec_eval infAP, ir_measures infAP.

    Reference: Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006.
    """

    name = "infap"
    aliases = ("infAP",)
    cutoff = "none"

    def rank_formula(self) -> RankFormula:
        return JudgedFormula(_inferred_precisions, by_judged_alone=False)


def _inferred_precisions(counts: JudgedCounts) -> Values:
    """Return the precision inferred at each relevant item, from the judged and pooled items above it."""
    above, right, wrong = counts.above, counts.relevant_above, counts.judged_above
    pooled = right + wrong + counts.unjudged_above
    return np.asarray((1.0 + pooled * (right + SMOOTHING) / (right + wrong + 2 * SMOOTHING)) / (above + 1))


def raise_without_negatives(metric: Accuracy, statistics: TruthStatistics) -> None:
    """Raise U105 if more than half of the users have no judged item that is not relevant."""
    without = statistics.users_without_lower[metric.relevant_from]
    if 2 * without > statistics.users:
        raise UsageError(
            "U105",
            f"{metric} needs judged non-relevant items; {without:,} of {statistics.users:,} users have none",
            where=statistics.origin,
            hint="give test items below relevance a gain below relevant_from (0, say), or leave this metric out",
        )
