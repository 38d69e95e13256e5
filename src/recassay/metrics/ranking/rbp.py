"""Rank-biased precision, and the residual that unjudged places leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from recassay.arrays import Int64
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import Credit, constant
from recassay.naming.named import INSIDE, POSITIVE


def rank_weights_of(p: float, ranks: Values) -> Values:
    """Return (1 - p) p^(rank - 1), the probability that the reader stops at each rank."""
    return np.asarray((1 - p) * p ** (ranks - 1))


@dataclass(frozen=True, repr=False)
class RBP(Accuracy):
    """Rank-biased precision: the expected share of relevant items seen by a reader who goes on with probability p.

    Formula: ``(1 - p) sum over positions of g p^(position - 1)`` with g 1 for a relevant item. ``scale`` makes it
    graded: g = grade / scale. ``normalize`` divides by ``1 - p^n`` with n = min(R, length of the list, k): the value of
    the list with n relevant items on top.

    Edges: an empty list is 0. Without @k the whole list counts; ``rbp_residual`` is the part that unjudged places
    leave open. Values exceed 1 only where grades exceed ``scale``.

    Libraries: ir_measures RBP and LensKit RBP (there p = 0.5 and 0.85 by default, LensKit normalises on request);
    trec_eval's rbp has p = 0.9 and grades scaled by the largest: ``rbp(p=0.9, scale=largest)``; ranx rbp multiplies
    with the grade, ``scale=1``.

    Reference: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "rbp"
    aliases = ("RBP",)
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    p: Annotated[float, INSIDE] = 0.8
    scale: Annotated[float | None, POSITIVE] = None
    normalize: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.scale is None else self.bounds

    def validate(self) -> None:
        if self.normalize and self.scale is not None:
            raise self.refuse("normalize", "it needs binary relevance, so leave out scale")

    def rank_formula(self) -> Credit:
        k, norm = self.k, constant(1.0)
        if self.normalize:
            norm = lambda relevant: self._reached(relevant if k is None else np.minimum(relevant, k))  # noqa: E731
        factor = 1.0 if self.scale is None else 1.0 / self.scale
        return Credit("each", k, lambda ranks: rank_weights_of(self.p, ranks), norm, factor)

    def _reached(self, places: Int64) -> Values:
        """Return the value of a list whose first n items are relevant and no others, for each n in ``places``."""
        return np.asarray(1.0 - self.p**places)

    def judge(self, lists: AlignedBlock) -> Values:
        if self.scale is None and not self.normalize:
            return super().judge(lists)
        if self.scale is not None:  # grades count, not only relevance
            value = np.maximum(lists.grade, 0.0) / self.scale
            return lists.expected_sum(value, self.rank_formula().weights(lists.depth(self.k)), lists.cutoffs(self.k))
        earned = self.rank_formula().sums(lists, self.relevant_from)
        places = np.minimum(np.minimum(lists.relevant(self.relevant_from), lists.length), lists.cutoffs(self.k))
        return earned / np.where(places > 0, self._reached(places), 1.0)


@dataclass(frozen=True, repr=False)
class RBPResidual(Accuracy):
    """The most that rank-biased precision could still gain if every unjudged place were relevant.

    Formula: ``(1 - p) sum over unjudged positions of p^(position - 1) + p^n`` for a list of n items, which is
    ``1 - (1 - p) sum over judged positions of p^(position - 1)``.

    Edges: 1 for an empty list, in which nothing was judged. Lower values mean less uncertainty, not a better list.

    Libraries: Moffat and Zobel's residual; no library here prints it.

    Reference: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """

    name = "rbp_residual"
    higher_is_better = None
    no_formula: ClassVar[str] = "it depends on which ranks were judged"

    p: Annotated[float, INSIDE] = 0.8

    def judge(self, lists: AlignedBlock) -> Values:
        weight = rank_weights_of(self.p, np.arange(1.0, lists.depth(self.k) + 1))
        judged = (lists.grade >= 0).astype(np.float64)
        return 1.0 - lists.expected_sum(judged, weight, lists.cutoffs(self.k))
