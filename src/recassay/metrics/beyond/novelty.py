"""Novelty and popularity: how well known the items of a list are; and which users get a list at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Int64
from recassay.errors import UsageError
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import UnitMetric, Values
from recassay.metrics.beyond.base import (
    Discount,
    ItemPopularity,
    ListMetric,
    PlaceValues,
    StreamMoments,
    item_values,
    mean_over_places,
    ordered_by_popularity,
    relevant_places,
    row_values,
)
from recassay.metrics.context import ContextLookup
from recassay.naming.named import COUNT, UP_TO_1


@dataclass(frozen=True, repr=False)
class MeanPopularity(ListMetric):
    """Base of metrics that average a function of popularity, such as the number of training users, over a list.

    A subclass defines the function in :meth:`of_items`.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    def of_items(self, popularity: ItemPopularity) -> Values:
        """Return the value of each item, from its ``popularity``; by default its number of training users."""
        return popularity.counts

    def bind(self, lookup: ContextLookup) -> PlaceValues:
        counts = lookup.train.item_users.astype(np.float64)
        of_all = float(lookup.train.n_users), float(counts.sum()), float(counts.size), float(counts.min(initial=np.inf))
        return item_values(lookup.train_items, self.of_items(ItemPopularity(np.append(counts, 0.0), *of_all)))

    def bind_at(self, moments: StreamMoments) -> PlaceValues:
        """Return the value of each recommended item (row of the run) on a stream, right before its event."""
        return row_values(self.of_items(moments.popularity()))

    def judge(self, lists: AlignedBlock) -> Values:
        return mean_over_places(lists, self.k, lists.bound(self)(lists, self.k))


@dataclass(frozen=True, repr=False)
class Novelty(MeanPopularity):
    """A mean over the list of the novelty of each item, optionally discounted by rank and of relevant items only.

    With ``relevance_aware`` the terms of items that are not relevant are 0, under the same normaliser, and a query
    without a relevant item is undefined.
    """

    rank_discount: Discount = "none"
    relevance_aware: bool = False
    relevant_from: float = 1.0

    def bind(self, lookup: ContextLookup) -> PlaceValues:
        if not lookup.train.n_items:
            raise UsageError("U105", f"{self} needs a training log with rows", where=str(self))
        return super().bind(lookup)

    def judge(self, lists: AlignedBlock) -> Values:
        values: Values = lists.bound(self)(lists, self.k)
        if not self.relevance_aware:
            return mean_over_places(lists, self.k, values, self.rank_discount)
        values = np.where(relevant_places(lists, self.k, self.relevant_from), values, 0.0)
        means = mean_over_places(lists, self.k, values, self.rank_discount)
        return np.where(lists.relevant(self.relevant_from) > 0, means, np.nan)


@dataclass(frozen=True, repr=False)
class EPC(Novelty):
    """Expected popularity complement: the share of training users who never had an item, averaged over the list.

    Formula: ``sum_p d(p) (1 - n_i/U) / sum_p d(p)``, n_i the training users of the item at p, U all training users.
    ``rank_discount``: ``none``, d = 1; ``log``, d(p) = 1/log2(p + 1). ``relevance_aware`` keeps only the terms of
    relevant items.

    Edges: an item that is not in the training log counts 1. An empty list is undefined.

    Libraries: RankSys and Elliot EPC are ``epc(rank_discount='log', relevance_aware=True)``.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "epc"
    aliases = ("EPC",)

    def of_items(self, popularity: ItemPopularity) -> Values:
        return 1.0 - popularity.counts / np.maximum(popularity.users, 1)


@dataclass(frozen=True, repr=False)
class EFD(Novelty):
    """Expected free discovery: the information in being shown an item, averaged over the list, in bits.

    Formula: ``sum_p d(p) (-log2 s_i) / sum_p d(p)`` with s_i = n_i / sum_j n_j, the item's share of training pairs of
    user and item; ``form="self_information"`` takes s_i = n_i/U, its share of training users. ``rank_discount`` and
    ``relevance_aware`` as in ``epc``.

    Edges: ``unseen`` is the value of an item outside the training log: ``max``, that of the rarest item there;
    ``zero``; or ``smoothing``, which adds one to every count: s_i = (n_i + 1) / (sum_j n_j + items + 1), with all
    unseen items as one item, and for self information s_i = (n_i + 1) / (U + 2). An empty list is undefined.

    Libraries: RankSys and Elliot EFD are ``efd(rank_discount='log', relevance_aware=True)``; Microsoft's novelty is
    ``efd(unseen='zero')``; RecTools MIUF is ``efd(form='self_information')`` where every item is in the log.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "efd"
    aliases = ("EFD",)
    bounds = (0.0, float("inf"))

    form: Literal["discovery", "self_information"] = "discovery"
    unseen: Literal["max", "zero", "smoothing"] = "max"

    def of_items(self, popularity: ItemPopularity) -> Values:
        counts, is_discovery = popularity.counts, self.form == "discovery"
        total = popularity.pairs if is_discovery else popularity.users
        if self.unseen == "smoothing":
            return np.log2((total + (popularity.items + 1 if is_discovery else 2)) / (counts + 1))
        floor = popularity.rarest if self.unseen == "max" else total
        return np.log2(total / np.where(counts > 0, counts, floor))


TINY = 1e-9  # rounding can put a product such as 0.7 * 10 above the whole number it should equal


def head_items(counts: Int64, *, mass: float = 0.8, share: float | None = None) -> Bool:
    """Return a mask of the items in the head, the smallest set of most popular items with ``mass`` of all events.

    ``counts`` are the events of each item. The item that reaches the mass belongs to the head; ties go by ascending id.
    With ``share`` the head is that share of the items, rounded up.

    >>> head_items(np.array([8, 5, 2, 1])).tolist()
    [True, True, False, False]
    """
    order = ordered_by_popularity(counts)
    if share is not None:
        size = int(np.ceil(share * counts.size - TINY))
    else:
        held = np.cumsum(counts[order])
        size = int(np.searchsorted(held, mass * counts.sum() * (1 - TINY))) + 1
    flags = np.zeros(counts.size, np.bool_)
    flags[order[:size]] = True
    return flags


@dataclass(frozen=True, repr=False)
class ARP(MeanPopularity):
    """Average recommendation popularity: the training users of an item, averaged over the list. Lower is less biased.

    Formula: ``(1/|L|) sum of n_i over the first k places``, n_i the training users of the item.

    Edges: an item that is not in the training log counts 0. An empty list is undefined.

    Libraries: RecBole AveragePopularity, Elliot ARP, RecTools ARP(normalized=False).

    Reference: Yin, Cui, Li, Yao and Chen, Challenging the long tail recommendation, VLDB 2012.
    """

    name = "arp"
    aliases = ("ARP", "average_popularity")
    bounds = (0.0, float("inf"))
    higher_is_better = False


@dataclass(frozen=True, repr=False)
class APLT(ListMetric):
    """Average percentage of long-tail items: the share of a list that is outside the head.

    Formula: ``(1/|L|) #{items of the first k places outside the head}``. The head is the smallest set of most popular
    items that holds ``head_mass`` of the training events; with ``head_share`` it is that share of the training items.

    Edges: the item that reaches the mass is in the head; ties of popularity go by ascending id. An item that is not in
    the training log is long tail. An empty list is undefined.

    Libraries: Elliot APLT (head = a share of events). RecBole TailPercentage has ``head_share=0.9``.

    Reference: Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems, FLAIRS 2019.
    """

    name = "aplt"
    aliases: ClassVar[tuple[str, ...]] = ("APLT", "tail_percentage")
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    head_mass: Annotated[float, UP_TO_1] = 0.8
    head_share: Annotated[float | None, UP_TO_1] = None

    def bind(self, lookup: ContextLookup) -> PlaceValues:
        in_head = head_items(lookup.train.item_events, mass=self.head_mass, share=self.head_share)
        return item_values(lookup.train_items, np.append(~in_head, True).astype(np.float64))

    def judge(self, lists: AlignedBlock) -> Values:
        return mean_over_places(lists, self.k, lists.bound(self)(lists, self.k))


@dataclass(frozen=True, repr=False)
class ACLT(APLT):
    """Average count of long-tail items: how many items of a list are long tail.

    Formula: ``#{items of the first k places outside the head}``: ``aplt`` times the length of the list. ``head_mass``
    and ``head_share`` as in ``aplt``.

    Edges: as ``aplt``; an empty list is undefined, not 0.

    Libraries: Elliot ACLT. Some implementations divide by the users with a long-tail item; this one does not.

    Reference: Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems, FLAIRS 2019.
    """

    name = "aclt"
    aliases = ("ACLT",)
    bounds = (0.0, float("inf"))

    def judge(self, lists: AlignedBlock) -> Values:
        return np.rint(super().judge(lists) * np.diff(lists.places(self.k)[0]))


@dataclass(frozen=True, repr=False)
class UserCoverage(UnitMetric):
    """Share of users who get at least ``min_items`` recommendations.

    Formula: mean of ``[min(k, length of the list) >= min_items]`` over the users of the truth.

    Edges: a user without a list counts 0. Without @k the whole list counts.

    Libraries: RecTools CoveredUsers and SufficientReco.

    Reference: Herlocker, Konstan, Terveen and Riedl, Evaluating collaborative filtering recommender systems, TOIS 2004.
    """

    name = "user_coverage"
    family: ClassVar[str] = "beyond"
    describes: ClassVar[bool] = True
    no_formula: ClassVar[str] = "it counts users with a list, not relevant items"

    min_items: Annotated[int, COUNT] = 1

    def validate(self) -> None:
        if self.k is not None and self.min_items > self.k:
            raise self.refuse("min_items", f"it must be at most the cut-off, {self.k}")

    def evaluate(self, lists: AlignedBlock) -> Values:
        shown = lists.length if self.k is None else np.minimum(lists.length, self.k)
        return (shown >= self.min_items).astype(np.float64)
