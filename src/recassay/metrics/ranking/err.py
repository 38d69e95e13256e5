"""Expected reciprocal rank: where does a reader stop who is satisfied by what is relevant?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.ranking.satisfaction import Satisfying


@dataclass(frozen=True, repr=False)
class ERR(Satisfying, Accuracy):
    """Expected reciprocal rank of the item that satisfies the reader.

    Formula: ``sum_{p<=k} (1/p) r_p prod_{q<p} (1 - r_q)`` with ``r = (2^grade - 1) / 2^scale``.

    Edges: ``scale`` is the largest grade of the scale; if it is not given, the largest in the whole truth, never that
    of one user. An item above the scale is an error. Has no value under expected ties.

    Libraries: gdeval and ir_measures ERR@k (scale 4 unless told otherwise).

    Reference: Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009.
    """

    name = "err"
    aliases = ("ERR",)

    def judge(self, lists: Aligned) -> Values:
        self.need_strict_order(lists)
        out = np.empty(lists.size)
        _kernels.cascade(lists.start, lists.rank, self.satisfied(lists.grade), lists.depth(self.k), out)
        return out
