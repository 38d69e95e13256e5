"""Novelty: how likely is it that the user does not know these items yet?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.errors import UsageError
from recassay.metrics.align import Aligned
from recassay.metrics.base import Values
from recassay.metrics.beyond.base import Discount, ItemValues, ListMetric, mean_over_places, relevant_places
from recassay.portable.elementary import log2

if TYPE_CHECKING:
    from recassay.metrics.context import Beside


@dataclass(frozen=True, repr=False)
class Novelty(ListMetric):
    """A mean over the list of a novelty of each item, optionally discounted by rank and counting relevant items only.

    With ``relevance_aware`` the terms of items that are not relevant are 0, under the same normaliser, and a query
    without a relevant item is undefined.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    rank_discount: Discount = "none"
    relevance_aware: bool = False
    relevant_from: float = 1.0

    def judge(self, lists: Aligned) -> Values:
        novelty: ItemValues = lists.bound(self)
        values = novelty.at(lists, self.k)
        if not self.relevance_aware:
            return mean_over_places(lists, self.k, values, self.rank_discount)
        values = np.where(relevant_places(lists, self.k, self.relevant_from), values, 0.0)
        means = mean_over_places(lists, self.k, values, self.rank_discount)
        return np.where(lists.relevant(self.relevant_from) > 0, means, np.nan)


@dataclass(frozen=True, repr=False)
class EPC(Novelty):
    """Expected popularity complement: the share of training users who have not met an item, averaged over the list.

    Formula: ``sum_p d(p) (1 - n_i/U) / sum_p d(p)``, n_i the training users of the item at p, U all training users.
    ``rank_discount``: ``none``, d = 1; ``log``, d(p) = 1/log2(p + 1). ``relevance_aware`` keeps only the terms of
    relevant items.

    Edges: an item that is not in the training log counts 1. An empty list is undefined.

    Libraries: RankSys and Elliot EPC are ``epc(rank_discount='log', relevance_aware=True)``.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "epc"
    aliases = ("EPC",)

    def bind(self, beside: Beside) -> ItemValues:
        share = beside.train.item_users / max(beside.train.n_users, 1)
        return ItemValues(beside.train_items, np.append(1.0 - share, 1.0))


@dataclass(frozen=True, repr=False)
class EFD(Novelty):
    """Expected free discovery: the information in being shown an item, averaged over the list, in bits.

    Formula: ``sum_p d(p) (-log2 s_i) / sum_p d(p)`` with s_i = n_i / sum_j n_j, the item's share of training pairs of
    user and item; ``form="self_information"`` takes s_i = n_i/U, its share of training users. ``rank_discount`` and
    ``relevance_aware`` as in ``epc``.

    Edges: ``unseen`` says what an item outside the training log counts: ``max``, as much as the rarest item there;
    ``zero``; or ``smoothing``, which adds one to every count: s_i = (n_i + 1) / (sum_j n_j + items + 1), all unseen
    items being one more, and for self information s_i = (n_i + 1) / (U + 2). An empty list is undefined.

    Libraries: RankSys and Elliot EFD are ``efd(rank_discount='log', relevance_aware=True)``; Microsoft's novelty is
    ``efd(unseen='zero')``; RecTools MIUF is ``efd(form='self_information')`` where every item is in the log.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "efd"
    aliases = ("EFD",)
    bounds = (0.0, float("inf"))

    form: Literal["discovery", "self_information"] = "discovery"
    unseen: Literal["max", "zero", "smoothing"] = "max"

    def bind(self, beside: Beside) -> ItemValues:
        counts = beside.train.item_users.astype(np.float64)
        if counts.size == 0:
            raise UsageError("U105", f"{self} needs a training log with rows", where=str(self))
        total = counts.sum() if self.form == "discovery" else float(beside.train.n_users)
        if self.unseen == "smoothing":
            total += counts.size + 1 if self.form == "discovery" else 2
            bits = log2(total / (np.append(counts, 0.0) + 1))
        else:
            bits = log2(total / counts)
            bits = np.append(bits, bits.max() if self.unseen == "max" else 0.0)
        return ItemValues(beside.train_items, bits)
