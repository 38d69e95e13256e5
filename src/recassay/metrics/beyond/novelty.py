"""Novelty: how unlikely users are to know the items of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.base import (
    Discount,
    ItemPopularity,
    ItemValues,
    ListMetric,
    RowValues,
    StreamMoments,
    mean_over_places,
    relevant_places,
)

if TYPE_CHECKING:
    from recassay.metrics.context import ContextLookup


@dataclass(frozen=True, repr=False)
class Novelty(ListMetric):
    """A mean over the list of the novelty of each item, optionally discounted by rank and of relevant items only.

    With ``relevance_aware`` the terms of items that are not relevant are 0, under the same normaliser, and a query
    without a relevant item is undefined.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    rank_discount: Discount = "none"
    relevance_aware: bool = False
    relevant_from: float = 1.0

    def of_items(self, popularity: ItemPopularity) -> Values:
        """Return the novelty of items from their popularity."""
        raise NotImplementedError(f"{type(self).__name__} must define of_items()")

    def bind(self, lookup: ContextLookup) -> ItemValues:
        counts = lookup.train.item_users.astype(np.float64)
        if counts.size == 0:
            raise UsageError("U105", f"{self} needs a training log with rows", where=str(self))
        of_all = float(lookup.train.n_users), float(counts.sum()), float(counts.size), float(counts.min())
        return ItemValues(lookup.train_items, self.of_items(ItemPopularity(np.append(counts, 0.0), *of_all)))

    def bind_at(self, moments: StreamMoments) -> RowValues:
        """Return the novelty of each recommended item on a stream (row of the run), right before its event."""
        return RowValues(self.of_items(moments.popularity()))

    def judge(self, lists: AlignedBlock) -> Values:
        novelty: ItemValues | RowValues = lists.bound(self)
        values = novelty.at(lists, self.k)
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
