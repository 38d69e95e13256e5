"""Average precision: precision wherever a relevant item stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values
from recassay.portable.elementary import log

Denominator = Literal["relevant", "reachable", "list", "hits", "k"]


@dataclass(frozen=True, repr=False)
class AveragePrecision(Accuracy):
    """Mean precision at the ranks of the relevant items; its mean over users is MAP.

    Formula: ``(1 / D) sum over relevant positions p <= k of precision@p``. ``divide_by`` names D: ``relevant``, R;
    ``reachable``, min(k, R); ``list``, min(R, length of the list, k); ``hits``, the relevant items found; ``k``.

    Edges: without @k the whole list counts. No hit: 0. ``hits`` with a cut-off has no value under expected ties.

    Libraries: ``relevant`` as trec_eval map and map_cut, ranx, ir_measures, RecTools, Microsoft map. ``reachable`` as
    RecBole, RePlay, RankSys, Microsoft map_at_k; ``list`` as LensKit; ``hits`` as torchmetrics and DaisyRec; ``k`` as
    RecTools(divide_by_k=True). Elliot's MAP is another thing: ``mean_precision``.

    Reference: Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.
    """

    name = "map"
    aliases = ("ap", "AP", "MAP", "map_cut")

    divide_by: Denominator = "relevant"

    def validate(self) -> None:
        if self.k is None and self.divide_by == "k":
            raise UsageError("U103", "map(divide_by='k') needs a cut-off", hint="write map(divide_by='k')@10")

    def judge(self, lists: Aligned) -> Values:
        out = np.empty(lists.size)
        relevant = lists.is_relevant(self.relevant_from)
        if self.divide_by == "hits" and lists.tied:  # a quotient of two numbers that the order of ties changes
            _kernels.precision_per_hit(lists.start, lists.first, lists.last, relevant, lists.depth(self.k), out)
            return out
        _kernels.precision_sum(lists.start, lists.first, lists.last, relevant, lists.cutoffs(self.k), out)
        return out / np.maximum(self._denominator(lists), 1e-300)

    def _denominator(self, lists: Aligned) -> Values:
        relevant = lists.relevant(self.relevant_from).astype(np.float64)
        if self.divide_by == "relevant":
            return relevant
        if self.divide_by == "hits":
            return lists.hits(self.k, self.relevant_from)
        k = np.inf if self.k is None else float(self.k)
        if self.divide_by == "k":
            return np.full(lists.size, k)
        reachable = np.minimum(relevant, k)
        return reachable if self.divide_by == "reachable" else np.minimum(reachable, lists.length)


@dataclass(frozen=True, repr=False)
class MeanPrecision(Accuracy):
    """Mean of precision at every rank from 1 to k, hit or not. Elliot calls it MAP.

    Formula: ``(1 / k) sum_{p=1..k} precision@p``, which is the sum over hits of ``(1/k) sum_{q=p..k} 1/q``.

    Edges: an empty list is 0.

    Libraries: Elliot MAP. It is not average precision: a rank without a hit adds to it.

    Reference: none; it is named here so that it can be told from ``map``.
    """

    name = "mean_precision"
    cutoff = "required"

    def judge(self, lists: Aligned) -> Values:
        assert self.k is not None
        tail = inverses_up_to(self.k, lists.depth(self.k)) / self.k
        value = lists.is_relevant(self.relevant_from).astype(np.float64)
        return lists.expected_sum(value, tail, lists.cutoffs(self.k))


def inverses_up_to(k: int, depth: int) -> Values:
    """Return the sum of 1/q over q from each place to k, for the first ``depth`` places.

    Terms beyond the 10,000th are summed by the formula of Euler and Maclaurin.

    >>> inverses_up_to(3, 2).round(6).tolist()
    [1.833333, 0.833333]
    """
    last = min(k, max(depth, 10_000))
    beyond = log(k / last) + (1 / k - 1 / last) / 2 - (1 / (k * k) - 1 / (last * last)) / 12
    sums: Values = np.cumsum(1.0 / np.arange(last, 0, -1))[::-1][:depth] + beyond
    return sums
