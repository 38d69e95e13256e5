"""Expected reciprocal rank, and the probability that an item of a grade satisfies its reader."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np

from recassay.data.truth import TruthStatistics
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Metric, Values
from recassay.metrics.context import Context
from recassay.metrics.ranking.ndcg import LARGEST_EXPONENT


@dataclass(frozen=True, repr=False)
class Satisfying(Metric):
    """Base of metrics whose readers stop at an item with probability ``(2^grade - 1) / 2^scale``.

    ``scale`` is the largest grade of the scale; if it is not given, the largest in the whole truth.
    """

    scale: float | None = None

    def resolve(self, statistics: TruthStatistics) -> Self:
        """Return the metric with its scale; where none is stated, the largest grade of the truth, at least 1."""
        return self if self.scale is not None else dataclasses.replace(self, scale=max(statistics.max_gain, 1.0))

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        super().prepare(statistics, context)
        if self.scale is not None and self.scale > LARGEST_EXPONENT:
            raise self.refuse("scale", f"2^{self.scale:g} is too large; the limit is 2^{LARGEST_EXPONENT}")
        if self.scale is not None and max(statistics.max_gain, 0.0) > self.scale:
            raise self.refuse("scale", f"the truth has a gain of {statistics.max_gain:g}")

    def satisfied(self, grade: Values) -> Values:
        """Return the probability that an item of each grade satisfies the reader."""
        assert self.scale is not None
        return np.asarray((np.exp2(np.maximum(grade, 0.0)) - 1.0) / 2.0**self.scale)


@dataclass(frozen=True, repr=False)
class ERR(Satisfying, Accuracy):
    """Expected reciprocal rank of the item that satisfies the reader.

    Formula: ``sum_{p<=k} (1/p) r_p prod_{q<p} (1 - r_q)`` with ``r = (2^grade - 1) / 2^scale``.

    Edges: ``scale`` is the largest grade of the scale; if it is not given, the largest in the whole truth, never that
    of one user. A grade above the scale is an error. No value under expected ties.

    Libraries: gdeval and ir_measures ERR@k (scale 4 by default).

    Reference: Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009.
    """

    name = "err"
    aliases = ("ERR",)
    no_formula = "the credit of an item depends on the grades of the items above it"

    def judge(self, lists: AlignedBlock) -> Values:
        self.need_strict_order(lists)
        out = np.empty(lists.size)
        _kernels.cascade(lists.start, lists.rank, self.satisfied(lists.grade), lists.depth(self.k), out)
        return out
