"""Average precision: the mean of precision at the ranks of the relevant items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from recassay.columnar.layout import row_groups
from recassay.errors import UsageError
from recassay.metrics import _kernels
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.credit import (
    Credit,
    NoFormula,
    RankFormula,
    constant,
    number_of_relevant,
    reachable,
    reciprocal,
)  # fmt: skip

Denominator = Literal["relevant", "reachable", "list", "hits", "k"]


@dataclass(frozen=True, repr=False)
class AveragePrecision(Accuracy):
    """Mean precision at the ranks of the relevant items; its mean over users is MAP.

    Formula: ``(1 / D) sum over relevant positions p <= k of precision@p``. ``divide_by`` names D: ``relevant``, R;
    ``reachable``, min(k, R); ``list``, min(R, length of the list, k); ``hits``, the relevant items found; ``k``.

    Edges: without @k the whole list counts. No hit: 0.

    Libraries: ``relevant`` as trec_eval map and map_cut, ranx, ir_measures, RecTools, Microsoft map. ``reachable`` as
    RecBole, RePlay, RankSys, Microsoft map_at_k; ``list`` as LensKit; ``hits`` as torchmetrics and DaisyRec; ``k`` as
    RecTools(divide_by_k=True). Elliot's MAP is another metric: ``mean_precision``.

    Reference: Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.
    """

    name = "map"
    aliases = ("ap", "AP", "MAP", "map_cut")

    divide_by: Denominator = "relevant"

    def validate(self) -> None:
        if self.k is None and self.divide_by == "k":
            raise UsageError("U103", "map(divide_by='k') needs a cut-off", hint="write map(divide_by='k')@10")

    def rank_formula(self) -> RankFormula:
        if self.divide_by in ("hits", "list"):
            return NoFormula("the number of hits, or the length of the list, changes with every draw")
        return self._credit()

    def _credit(self) -> Credit:
        norms = {"relevant": number_of_relevant, "k": constant(self.k or 1)}
        return Credit("place", self.k, reciprocal, norms.get(self.divide_by, reachable(self.k)))

    def judge(self, lists: AlignedBlock) -> Values:
        if self.divide_by not in ("hits", "list"):
            return super().judge(lists)
        if self.divide_by == "hits" and lists.tied:  # a ratio of two numbers that both depend on the order of ties
            return self._expected_per_hit(lists)
        if self.divide_by == "hits":
            divisor = lists.hits(self.k, self.relevant_from)
        else:
            divisor = np.minimum(reachable(self.k)(lists.relevant(self.relevant_from)), lists.length)
        return self._credit().sums(lists, self.relevant_from) / np.maximum(divisor, 1e-300)

    def _expected_per_hit(self, lists: AlignedBlock) -> Values:
        """Return the expected mean of precision over the relevant items that each list holds up to the cut-off.

        Their number is random only where the cut-off divides tied rows, ``size`` rows from rank ``top`` on; it is
        hypergeometric there.
        """
        cut, query, relevant = lists.depth(self.k), row_groups(lists.start), lists.is_relevant(self.relevant_from)
        divided = (lists.first <= cut) & (lists.last > cut)
        top, size = np.full(lists.size, cut + 1), np.ones(lists.size, np.int64)
        top[query[divided]] = lists.first[divided]
        size[query[divided]] = (lists.last - lists.first)[divided] + 1
        hits, above = (
            np.bincount(query[relevant & some], minlength=lists.size) for some in (divided, lists.last <= cut)
        )
        settled = np.empty(lists.size)
        _kernels.precision_sum(lists.start, lists.first, lists.last, relevant, top - 1, settled)
        inside, tail = cut + 1 - top, np.append(0.0, np.cumsum(1.0 / np.arange(1, cut + 1)))
        each = tail[cut] - tail[top - 1]  # the sum of 1 / rank over tied ranks; that of place / rank is the next
        places = inside - top * each
        value = np.zeros(lists.size)
        for found in range(int(hits.max(initial=0)) + 1):
            chance = scipy.stats.hypergeom.pmf(found, size, hits, inside)
            tied = ((above + 1) * each + places * (found - 1) / np.maximum(inside - 1, 1)) / np.maximum(inside, 1)
            value += chance * (settled + found * tied) / np.maximum(above + found, 1)
        return value


@dataclass(frozen=True, repr=False)
class MeanPrecision(Accuracy):
    """Mean of precision at every rank from 1 to k, whether it is a hit or not. Elliot calls it MAP.

    Formula: ``(1 / k) sum_{p=1..k} precision@p``, which is the sum over hits of ``(1/k) sum_{q=p..k} 1/q``.

    Edges: an empty list is 0.

    Libraries: Elliot MAP. It is not average precision: a rank without a hit adds to it.

    Reference: none; it has a name of its own to distinguish it from ``map``.
    """

    name = "mean_precision"
    cutoff = "required"

    def rank_formula(self) -> RankFormula:
        return Credit("each", self.k, self._tail_means, constant(1.0))

    def _tail_means(self, ranks: Values) -> Values:
        """Return, for each rank, 1/k times the sum of 1/q for q = rank..k, where k is the cut-off.

        It is interpolated between whole ranks, and stays 1/k^2 beyond rank k.
        """
        assert self.k is not None
        depth = min(self.k, math.ceil(ranks.max(initial=1.0)))
        return np.interp(ranks, np.arange(1.0, depth + 1), reciprocal_tail_sums(self.k, depth) / self.k)


def reciprocal_tail_sums(k: int, depth: int) -> Values:
    """Return the sum of 1/q for q from each rank to k, for the first ``depth`` ranks.

    Terms beyond the 10,000th are summed by the Euler-Maclaurin formula.

    >>> reciprocal_tail_sums(3, 2).round(6).tolist()
    [1.833333, 0.833333]
    """
    last = min(k, max(depth, 10_000))
    beyond = math.log(k / last) + (1 / k - 1 / last) / 2 - (1 / (k * k) - 1 / (last * last)) / 12
    sums: Values = np.cumsum(1.0 / np.arange(last, 0, -1))[::-1][:depth] + beyond
    return sums
