"""Area under the ROC curve: how often a relevant item is ranked above one that is not relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import JudgedCounts, JudgedFormula, PairFormula, RankFormula
from recassay.metrics.ranking.incomplete import raise_without_negatives

if TYPE_CHECKING:
    from recassay.data.truth import TruthStatistics
    from recassay.metrics.context import Context


def share_in_order(above: Values, pairs: NDArray[np.int64] | Values | float) -> Values:
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
        if self.negatives == "judged":
            return JudgedFormula(_of_judged, by_judged_alone=True)
        return PairFormula(share_in_order)

    def _negatives(self, lists: AlignedBlock) -> NDArray[np.int64]:
        if self.negatives == "judged":
            return lists.nonrelevant(self.relevant_from)
        assert self.targets is not None
        return np.maximum(self.targets - lists.relevant(self.relevant_from), 0)

    def judgeable(self, lists: AlignedBlock) -> NDArray[np.bool_]:
        return super().judgeable(lists) & (self._negatives(lists) > 0)

    def judge(self, lists: AlignedBlock) -> Values:
        is_relevant = lists.is_relevant(self.relevant_from)
        if self.negatives == "judged":
            counted = ~is_relevant & (lists.grade >= 0)
            shown = np.add.reduceat(np.append(counted, False).astype(np.int64), lists.start[:-1])
            shown[np.diff(lists.start) == 0] = 0
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
