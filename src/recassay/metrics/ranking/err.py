"""Expected reciprocal rank of the item at which a satisfied reader stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import NoFormula, RankFormula
from recassay.metrics.ranking.satisfaction import Satisfying


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

    def rank_formula(self) -> RankFormula:
        return NoFormula("the credit of an item depends on the grades of the items above it")

    def judge(self, lists: AlignedBlock) -> Values:
        self.need_strict_order(lists)
        out = np.empty(lists.size)
        _kernels.cascade(lists.start, lists.rank, self.satisfied(lists.grade), lists.depth(self.k), out)
        return out
