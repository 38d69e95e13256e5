"""Area under the ROC curve: how often does a relevant item stand above one that is not?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.incomplete import refuse_without_negatives

if TYPE_CHECKING:
    from recassay.data.truth_facts import TruthFacts
    from recassay.metrics.context import Context


@dataclass(frozen=True, repr=False)
class AUC(Accuracy):
    """Share of pairs of a relevant and another target item that stand in the right order.

    Formula: ``P(score of a relevant item > score of another target)``, ties count one half. ``negatives="all"``: every
    one of the ``targets`` items that is not relevant; ``judged``: the user's judged non-relevant items.

    Edges: items that a list does not hold tie at its end. ``targets`` is the size of the set that was ranked (the
    catalogue, say); lists cut at N know nothing of order beyond N. No pair: undefined.

    Libraries: MyMediaLite gives 0.5 where it is undefined; Cornac counts a tie as wrong.

    Reference: Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 2006.
    """

    name = "auc"
    aliases = ("AUC",)
    cutoff = "none"

    negatives: Literal["all", "judged"] = "all"
    targets: int | None = None

    @property
    def negatives_below(self) -> float | None:
        return self.relevant_from if self.negatives == "judged" else None

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        super().prepare(facts, context)
        if self.negatives == "judged":
            refuse_without_negatives(self, facts)
        elif self.targets is None:
            raise UsageError(
                "U105",
                "auc needs to know how many items were ranked",
                where=str(self),
                hint="say for example auc(targets=3706), or auc(negatives='judged')",
            )

    def _negatives(self, lists: Aligned) -> NDArray[np.int64]:
        if self.negatives == "judged":
            return lists.nonrelevant(self.relevant_from)
        assert self.targets is not None
        return np.maximum(self.targets - lists.relevant(self.relevant_from), 0)

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        return super().judgeable(lists) & (self._negatives(lists) > 0)

    def judge(self, lists: Aligned) -> Values:
        is_relevant = lists.is_relevant(self.relevant_from)
        if self.negatives == "judged":
            counted = ~is_relevant & (lists.grade >= 0)
            shown = np.add.reduceat(np.append(counted, False).astype(np.int64), lists.start[:-1])
            shown[np.diff(lists.start) == 0] = 0
        else:
            counted = np.zeros(0, np.bool_)  # every place that is not relevant counts, marked or not
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
        return np.asarray(out / np.maximum(relevant * negatives, 1))
