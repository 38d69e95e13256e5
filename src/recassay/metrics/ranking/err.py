"""Expected reciprocal rank: where does a reader stop who is satisfied by what is relevant?"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.ndcg import LARGEST_EXPONENT

if TYPE_CHECKING:
    from recassay.data.truth import Truth
    from recassay.metrics.context import Context


@dataclass(frozen=True, repr=False)
class ERR(Accuracy):
    """Expected reciprocal rank of the item that satisfies the reader.

    Formula: ``sum_{p<=k} (1/p) r_p prod_{q<p} (1 - r_q)`` with ``r = (2^grade - 1) / 2^scale``.

    Edges: ``scale`` is the largest grade of the scale; if it is not given, the largest in the whole truth, never that
    of one user. An item above the scale is an error. Has no value under expected ties.

    Libraries: gdeval and ir_measures ERR@k (scale 4 unless told otherwise).

    Reference: Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009.
    """

    name = "err"
    aliases = ("ERR",)

    scale: float | None = None

    def resolve(self, truth: Truth) -> ERR:
        """The metric with its scale settled by the data."""
        return self if self.scale is not None else dataclasses.replace(self, scale=float(truth.gains.max(initial=1.0)))

    def prepare(self, truth: Truth, context: Context) -> None:
        super().prepare(truth, context)
        if self.scale is not None and self.scale > LARGEST_EXPONENT:
            raise self.refuse("scale", f"2^{self.scale:g} is no number; grades are a few small steps")
        if self.scale is not None and truth.gains.max(initial=0.0) > self.scale:
            raise self.refuse("scale", f"the truth has a gain of {truth.gains.max():g}")

    def judge(self, lists: Aligned) -> Values:
        self.need_strict_order(lists)
        assert self.scale is not None
        satisfied = (np.exp2(np.maximum(lists.grade, 0.0)) - 1.0) / 2.0**self.scale
        out = np.empty(lists.size)
        _kernels.cascade(lists.start, lists.rank, satisfied, lists.depth(self.k), out)
        return out
