"""Metrics for judgements with holes: bpref and infAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values

if TYPE_CHECKING:
    from recassay.data.truth_facts import TruthFacts
    from recassay.metrics.context import Context


@dataclass(frozen=True, repr=False)
class Bpref(Accuracy):
    """Binary preference: how rarely judged non-relevant items stand above relevant ones.

    Formula: ``(1/R) sum over relevant items found of 1 - min(n, R) / min(|N|, R)``, n the judged non-relevant items
    above it, N all of the user's; the bracket is 1 where n = 0. ``form="original"`` counts only the first R judged
    non-relevant items and divides by R.

    Edges: unjudged items are passed over. Needs judged non-relevant items (gain below ``relevant_from``): with none
    for more than half of the users it would only repeat recall, and is refused.

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

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        super().prepare(facts, context)
        refuse_without_negatives(self, facts)

    def judge(self, lists: Aligned) -> Values:
        self.need_strict_order(lists)
        relevant = lists.relevant(self.relevant_from)
        negatives = relevant if self.form == "original" else np.minimum(lists.nonrelevant(self.relevant_from), relevant)
        out = np.empty(lists.size)
        is_relevant = lists.is_relevant(self.relevant_from)
        is_negative = ~is_relevant & (lists.grade >= 0)
        _kernels.preference(lists.start, is_relevant, is_negative, relevant, negatives, out)
        return out / np.maximum(relevant, 1)


@dataclass(frozen=True, repr=False)
class InfAP(Accuracy):
    """Inferred average precision: AP estimated from a random sample of judgements.

    Formula: for a relevant item at place j (from 0): ``1/(j+1) + (j/(j+1)) * (pooled above / j) * (rel + e) /
    (rel + nonrel + 2e)`` with e = 0.00001 and the counts of judged items above it; at j = 0: 1; the sum divided by R.
    Pooled are judged items and those marked unjudged by a negative gain.

    Edges: items outside the pool count only through j. Without a negative gain in the truth nothing is pooled but the
    judged items.

    Libraries: trec_eval infAP, ir_measures infAP.

    Reference: Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006.
    """

    name = "infap"
    aliases = ("infAP",)
    cutoff = "none"

    def judge(self, lists: Aligned) -> Values:
        self.need_strict_order(lists)
        out = np.empty(lists.size)
        is_relevant = lists.is_relevant(self.relevant_from)
        _kernels.inferred_precision(lists.start, lists.rank, is_relevant, lists.grade < 0, out)
        return out / np.maximum(lists.relevant(self.relevant_from), 1)


def refuse_without_negatives(metric: Accuracy, facts: TruthFacts) -> None:
    """Raise if most users have no judged item that is not relevant."""
    without = facts.lacking[metric.relevant_from]
    if 2 * without > facts.users:
        raise UsageError(
            "U105",
            f"{metric} needs judged non-relevant items; {without:,} of {facts.users:,} users have none",
            where=facts.origin,
            hint="give test items below relevance a gain below relevant_from (0, say), or leave this metric out",
        )
