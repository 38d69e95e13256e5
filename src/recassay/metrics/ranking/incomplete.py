"""Metrics for incomplete judgements: bpref and infAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import JudgedCounts, JudgedFormula, RankFormula

if TYPE_CHECKING:
    from recassay.data.truth import TruthStatistics
    from recassay.metrics.context import Context

Int64 = NDArray[np.int64]


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
        out = np.empty(counts.judged_above.size)
        _kernels.preferences(counts.judged_above, counts.relevant, self._bound(counts.relevant, counts.judged), out)
        return out

    def _bound(self, relevant: Int64, judged: Int64) -> Int64:
        """Return the divisor of the number of judged negatives above an item: R, or min(|N|, R).

        ``relevant`` is R, and ``judged`` is |N|, the number of judged negatives.
        """
        return relevant if self.form == "original" else np.minimum(judged, relevant)

    def judge(self, lists: AlignedBlock) -> Values:
        self.need_strict_order(lists)
        relevant = lists.relevant(self.relevant_from)
        negatives = self._bound(relevant, lists.nonrelevant(self.relevant_from))
        out = np.empty(lists.size)
        is_relevant = lists.is_relevant(self.relevant_from)
        is_negative = ~is_relevant & (lists.grade >= 0)
        _kernels.preference_sum(lists.start, is_relevant, is_negative, relevant, negatives, out)
        return out / np.maximum(relevant, 1)


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

    def judge(self, lists: AlignedBlock) -> Values:
        self.need_strict_order(lists)
        out = np.empty(lists.size)
        is_relevant = lists.is_relevant(self.relevant_from)
        _kernels.inferred_precision_sum(lists.start, lists.rank, is_relevant, lists.grade < 0, out)
        return out / np.maximum(lists.relevant(self.relevant_from), 1)


def _inferred_precisions(counts: JudgedCounts) -> Values:
    out = np.empty(counts.above.size)
    _kernels.inferred_precisions(counts.above, counts.relevant_above, counts.judged_above, out)
    return out


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
