"""What a metric credits for a relevant item at a rank: all that a design must know of a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.debiased.stratified import StratifiedRecall
from recassay.metrics.ranking.auc import AUC
from recassay.metrics.ranking.hit import Hit
from recassay.metrics.ranking.incomplete import Bpref, InfAP
from recassay.metrics.ranking.map import AveragePrecision
from recassay.metrics.ranking.mrr import ReciprocalRank
from recassay.metrics.ranking.ndcg import DCG, NDCG, discount_at, discounts
from recassay.metrics.ranking.precision import Precision, RPrecision
from recassay.metrics.ranking.recall import Recall

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Norm = Callable[[Int64], Float]
Part = Literal["each", "first", "place"]


@dataclass(frozen=True)
class Credit:
    """A metric as sum over relevant items of part * rank_credit(rank) / norm.

    ``part``: ``each`` relevant item counts 1, only the ``first`` counts, or the i-th counts i (its ``place``).
    ``rank_credit`` maps ranks, and any numbers between them, to numbers; ranks beyond ``cut`` earn nothing (None: all
    earn), beyond the number of relevant items where ``cut_at_relevant``. ``norm`` maps numbers of relevant items to
    what the sum is divided by. ``weight`` gives items weights by their number of training users; the norm is then their
    sum.
    """

    part: Part
    cut: int | None
    rank_credit: Callable[[Float], Float]
    norm: Norm
    cut_at_relevant: bool = False
    weight: Callable[[Int64], Float] | None = None

    def parts(self, offsets: Int64) -> Float:
        """The part of each pair."""
        sizes = np.diff(offsets)
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        return {"each": np.ones(place.size), "first": np.where(place == 0, 1.0, 0.0), "place": place + 1.0}[self.part]

    def table(self, ranks: int) -> Float:
        """The credit of ranks 1..ranks."""
        positions = np.arange(1.0, ranks + 1)
        earned = self.rank_credit(positions)
        return earned * (positions <= (ranks if self.cut is None else self.cut))


def _one(ranks: Float) -> Float:
    return np.ones(ranks.size)


def _inverse(ranks: Float) -> Float:
    return 1.0 / ranks


def _relevant(relevant: Int64) -> Float:
    return relevant.astype(np.float64)


def _constant(value: float) -> Norm:
    return lambda relevant: np.full(relevant.size, value)


def _reachable(k: int | None) -> Norm:
    return lambda relevant: np.minimum(relevant, np.inf if k is None else k).astype(np.float64)


def _precision(metric: Precision) -> Credit:
    assert metric.k is not None
    if metric.divide_by == "list":
        raise _none(metric, "the list is as long as the target set, which short sets would make unequal")
    norm = _constant(metric.k) if metric.divide_by == "k" else _reachable(metric.k)
    return Credit("each", metric.k, _one, norm)


def _recall(metric: Recall) -> Credit:
    return Credit("each", metric.k, _one, _relevant if metric.divide_by == "relevant" else _reachable(metric.k))


def _hit(metric: Hit) -> Credit:
    return Credit("first" if metric.form == "any" else "each", metric.k, _one, _constant(1.0))


def _dcg(metric: DCG) -> Credit:
    worth = float(metric.gains(np.ones(1))[0])
    return Credit("each", metric.k, lambda ranks: worth * discount_at(metric.discount, ranks), _constant(1.0))


def _ndcg(metric: NDCG) -> Credit:
    if metric.ideal == "retrieved":
        raise _none(metric, "an ideal of what was retrieved changes with every draw")

    def ideal(relevant: Int64) -> Float:
        depth = int(relevant.max(initial=1)) if metric.k is None else metric.k
        best = np.append(0.0, np.cumsum(discounts(metric.discount, depth)))
        return best[np.full(relevant.size, depth) if metric.ideal == "k" else np.minimum(relevant, depth)]

    return Credit("each", metric.k, lambda ranks: discount_at(metric.discount, ranks), ideal)


def _map(metric: AveragePrecision) -> Credit:
    if metric.divide_by in ("hits", "list"):
        raise _none(metric, "the number of hits, or the length of the list, changes with every draw")
    norm = {"relevant": _relevant, "k": _constant(metric.k or 1)}.get(metric.divide_by, _reachable(metric.k))
    return Credit("place", metric.k, _inverse, norm)


def _mrr(metric: ReciprocalRank) -> Credit:
    return Credit("first", metric.k, _inverse, _constant(1.0))


def _rprec(_metric: RPrecision) -> Credit:
    return Credit("each", None, _one, _relevant, cut_at_relevant=True)


def _stratified(metric: StratifiedRecall) -> Credit:
    if metric.weighting == "stratified":
        raise _none(metric, "its mean weighs users by their items; weighting='equal' has one")

    def weight(users: Int64) -> Float:
        return np.where(users > 0, np.maximum(users, 1).astype(float) ** -metric.b, 0.0)

    return Credit("each", metric.k, _one, _constant(1.0), weight=weight)


CREDITS: Mapping[type[Metric], Callable[[Any], Credit]] = {
    Precision: _precision,
    Recall: _recall,
    Hit: _hit,
    DCG: _dcg,
    NDCG: _ndcg,
    ReciprocalRank: _mrr,
    AveragePrecision: _map,
    RPrecision: _rprec,
    StratifiedRecall: _stratified,
}
COUNTED: tuple[type[Metric], ...] = (AUC, Bpref, InfAP)  # computed from the counts themselves


def credit_of(metric: Metric) -> Credit:
    """The credit of a metric; U121 if it has none."""
    if type(metric) not in CREDITS:
        raise _none(metric, "it is no sum over relevant items by their ranks")
    return CREDITS[type(metric)](metric)


def _none(metric: Metric, why: str) -> UsageError:
    known = ", ".join(kind.name for kind in (*CREDITS, *COUNTED))
    return UsageError("U121", f"{metric} cannot be judged by design: {why}", where=str(metric), hint=f"one of {known}")
