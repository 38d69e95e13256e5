"""Diversity: how different are the items of a list from each other, and from what the user knows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from recassay.data.layout import readonly
from recassay.metrics.align import Aligned
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import ListMetric, recoded

if TYPE_CHECKING:
    from recassay.metrics.context import Beside


@dataclass(frozen=True, repr=False)
class Diversity(ListMetric):
    """A mean of distances between items, from their features.

    ``distance``: ``jaccard``, 1 - |A and B| / |A or B|; ``cosine``, 1 - |A and B| / sqrt(|A| |B|). ``bare`` items,
    those without a feature, are ``distant`` from all others (1), or are left out (``skip``).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"items"})

    distance: Literal["jaccard", "cosine"] = "jaccard"
    bare: Literal["distant", "skip"] = "distant"

    def bind(self, beside: Beside) -> Beside:
        _ = beside.feature_rows, beside.features.masks
        return beside


@dataclass(frozen=True, repr=False)
class ILD(Diversity):
    """Intra-list distance: the mean distance of two items of a list.

    Formula: ``2 / (n (n - 1)) sum over unordered pairs of the first k places of distance(i, j)``, n their number.
    ``distance`` on item features: ``jaccard`` or ``cosine``.

    Edges: fewer than two items: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` leaves it out.

    Libraries: RecPack and RecTools IntraListDiversity, RankSys ILD. Some papers print the sum over ordered pairs with
    the same factor, twice this. Sequeval divides by k (k - 1) / 2 for short lists too.

    Reference: Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic diversification,
    WWW 2005.
    """

    name = "ild"
    aliases = ("ILD",)

    def judge(self, lists: Aligned) -> Values:
        beside: Beside = lists.bound(self)
        offsets, _ = lists.places(self.k)
        rows, features = recoded(lists, self.k, beside.feature_rows), beside.features
        out = np.empty(lists.size)
        _kernels.pair_distance(
            readonly(offsets), readonly(rows),
            readonly(features.masks), readonly(features.offsets), readonly(features.codes),
            self.distance == "cosine", self.bare == "skip", out,
        )  # fmt: skip
        return out


@dataclass(frozen=True, repr=False)
class EPD(Diversity):
    """Expected profile distance: how far the items of a list are from what the user has met.

    Formula: mean over the first k places of ``(1/|P|) sum over j in P of distance(i, j)``, P the user's training
    profile (each item once). ``distance`` on item features: ``jaccard`` or ``cosine``.

    Edges: no training profile: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` leaves it out. An empty list is undefined.

    Libraries: RankSys EPD without discount and relevance.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "epd"
    aliases = ("EPD",)
    needs: ClassVar[frozenset[str]] = frozenset({"train", "items"})

    def bind(self, beside: Beside) -> Beside:
        _ = beside.train_items, beside.train_users, beside.train_feature_rows, beside.train.by_user
        return super().bind(beside)

    def judge(self, lists: Aligned) -> Values:
        beside: Beside = lists.bound(self)
        offsets, _ = lists.places(self.k)
        rows, items = recoded(lists, self.k, beside.feature_rows), recoded(lists, self.k, beside.train_items)
        users, features = beside.train_users[lists.begin : lists.end], beside.features
        out = np.empty(lists.size)
        profile_offsets, profile_items = beside.train.by_user
        _kernels.profile_distance(
            readonly(offsets), readonly(rows), readonly(items), readonly(users),
            readonly(profile_offsets), readonly(profile_items), readonly(beside.train_feature_rows),
            readonly(features.masks), readonly(features.offsets), readonly(features.codes),
            self.distance == "cosine", self.bare == "skip", out,
        )  # fmt: skip
        return out
