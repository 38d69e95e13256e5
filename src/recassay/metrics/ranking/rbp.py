"""Rank-biased precision and what is left unsaid beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.portable.elementary import power


@dataclass(frozen=True, repr=False)
class RBP(Accuracy):
    """Rank-biased precision: the share of what a reader sees that is relevant, who goes on with probability p.

    Formula: ``(1 - p) sum over positions of g p^(position - 1)`` with g 1 for a relevant item. ``scale`` makes it
    graded: g = grade / scale. ``normalize`` divides by ``1 - p^n`` with n = min(R, length of the list, k), what the
    list would reach if its relevant items came first.

    Edges: an empty list is 0. Without @k the whole list counts; ``rbp_residual`` is what lists left open. Above 1 only
    where grades exceed ``scale``.

    Libraries: ir_measures RBP and LensKit RBP (there p = 0.5 and 0.85 by default, LensKit normalises on request);
    trec_eval's rbp has p = 0.9 and grades scaled by the largest: ``rbp(p=0.9, scale=largest)``; ranx rbp multiplies
    with the grade, ``scale=1``.

    Reference: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "rbp"
    aliases = ("RBP",)
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    p: float = 0.8
    scale: float | None = None
    normalize: bool = False

    def validate(self) -> None:
        if not 0 < self.p < 1:
            raise self.refuse("p", "persistence lies between 0 and 1")
        if self.scale is not None and self.scale <= 0:
            raise self.refuse("scale", "the largest grade is above 0")
        if self.normalize and self.scale is not None:
            raise self.refuse("normalize", "it is for relevance that is yes or no, without a scale")

    def judge(self, lists: Aligned) -> Values:
        weight: Values = (1 - self.p) * power(self.p, np.arange(lists.depth(self.k)))
        if self.scale is None:
            value = lists.is_relevant(self.relevant_from).astype(np.float64)
        else:
            value = np.maximum(lists.grade, 0.0) / self.scale
        reached = lists.expected_sum(value, weight, lists.cutoffs(self.k))
        if not self.normalize:
            return reached
        places = np.minimum(np.minimum(lists.relevant(self.relevant_from), lists.length), lists.cutoffs(self.k))
        return reached / np.where(places > 0, 1.0 - power(self.p, places), 1.0)


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
        weight: Values = (1 - self.p) * power(self.p, np.arange(lists.depth(self.k)))
        judged = (lists.grade >= 0).astype(np.float64)
        return 1.0 - lists.expected_sum(judged, weight, lists.cutoffs(self.k))
