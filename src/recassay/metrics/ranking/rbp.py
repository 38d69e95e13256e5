"""Rank-biased precision and what is left unsaid beyond it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values


@dataclass(frozen=True, repr=False)
class RBP(Accuracy):
    """Rank-biased precision: the share of what a reader sees that is relevant, who goes on with probability p.

    Formula: ``(1 - p) sum over positions of g p^(position - 1)`` with g 1 for a relevant item. ``scale`` makes it
    graded: g = grade / scale.

    Edges: an empty list is 0. Without @k the whole list counts; ``rbp_residual`` is what lists left open.

    Libraries: ir_measures RBP and LensKit RBP (there p = 0.5 and 0.85 by default, LensKit normalises on request);
    trec_eval's rbp has p = 0.9 and grades scaled by the largest: ``rbp(p=0.9, scale=largest)``; ranx rbp.

    Reference: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "rbp"
    aliases = ("RBP",)

    p: float = 0.8
    scale: float | None = None

    def validate(self) -> None:
        if not 0 < self.p < 1:
            raise self.refuse("p", "persistence lies between 0 and 1")
        if self.scale is not None and self.scale <= 0:
            raise self.refuse("scale", "the largest grade is above 0")

    def judge(self, lists: Aligned) -> Values:
        weight = (1 - self.p) * self.p ** np.arange(lists.depth(self.k))
        if self.scale is None:
            value = lists.is_relevant(self.relevant_from).astype(np.float64)
        else:
            value = np.maximum(lists.grade, 0.0) / self.scale
        return lists.expected_sum(value, weight, lists.cutoffs(self.k))


@dataclass(frozen=True, repr=False)
class RBPResidual(Accuracy):
    """How much rank-biased precision could still grow if every unjudged place were relevant.

    Formula: ``(1 - p) sum over unjudged positions of p^(position - 1) + p^n`` for a list of n items, which is
    ``1 - (1 - p) sum over judged positions of p^(position - 1)``.

    Edges: 1 for an empty list: nothing was seen. Lower is better known, not better.

    Libraries: Moffat and Zobel's residual; no library here prints it.

    Reference: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "rbp_residual"
    higher_is_better = None

    p: float = 0.8

    def validate(self) -> None:
        if not 0 < self.p < 1:
            raise self.refuse("p", "persistence lies between 0 and 1")

    def judge(self, lists: Aligned) -> Values:
        weight = (1 - self.p) * self.p ** np.arange(lists.depth(self.k))
        judged = (lists.grade >= 0).astype(np.float64)
        return 1.0 - lists.expected_sum(judged, weight, lists.cutoffs(self.k))
