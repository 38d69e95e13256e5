"""Diversity: how different are the items of a list from each other, and from what the user knows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly
from recassay.metrics.align import Aligned
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import Discount, ListMetric, places_discount, recoded, relevant_places
from recassay.metrics.beyond.distances import NEEDS, Distance, Space, log_rows, space

if TYPE_CHECKING:
    from recassay.metrics.context import Beside


@dataclass(frozen=True, repr=False)
class Diversity(ListMetric):
    """A mean of distances between items.

    ``distance``: ``jaccard``, 1 - |A and B| / |A or B| of their features; ``cosine``, 1 - |A and B| / sqrt(|A| |B|);
    ``training``, the same of the training users who had them; ``given``, a table of distances between items of the
    training log (``distances=`` in Python). ``bare`` items, of which nothing is known to measure by, are ``distant``
    from all others (1), or are left out (``skip``).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"items"})

    distance: Distance = "jaccard"
    bare: Literal["distant", "skip"] = "distant"

    @property
    def needed(self) -> frozenset[str]:
        return (self.needs - {"items"}) | NEEDS[self.distance]

    @property
    def needs_whole_log(self) -> bool:
        return self.distance == "training"

    def bind(self, beside: Beside) -> object:
        return space(self.distance, beside)


@dataclass(frozen=True, repr=False)
class ILD(Diversity):
    """Intra-list distance: the mean distance of two items of a list.

    Formula: ``2 / (n (n - 1)) sum over unordered pairs of the first k places of distance(i, j)``, n their number.
    ``distance`` is ``jaccard`` or ``cosine`` of item features, ``training`` or ``given``. ``printed=True`` sums over
    ordered pairs with the same factor, as some papers print it: twice this.

    Edges: fewer than two items: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` leaves it out.

    Libraries: RecPack and RecTools IntraListDiversity, RankSys ILD. Sequeval divides by k (k - 1) / 2 for short lists
    too.

    Reference: Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic diversification,
    WWW 2005.
    """

    name = "ild"
    aliases = ("ILD",)
    bounds = (0.0, 2.0)

    printed: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds if self.printed else (0.0, 1.0)

    def judge(self, lists: Aligned) -> Values:
        apart: Space = lists.bound(self)
        offsets, _ = lists.places(self.k)
        rows = recoded(lists, self.k, apart.rows)
        out = np.empty(lists.size)
        _kernels.pair_distance(readonly(offsets), readonly(rows), *apart.arrays, self.bare == "skip", out)
        return 2 * out if self.printed else out


@dataclass(frozen=True, repr=False)
class EILD(Diversity):
    """Expected intra-list distance: a reader goes down the list, and meets items that are worth something.

    Formula: ``sum_p d(p) g_p [sum_{q != p} w_pq distance(p, q) / sum_{q != p} w_pq] / sum_p d(p)``, with
    ``w_pq = d(max(1, q - p)) g_q``. ``rank_discount``: ``none``, d = 1; ``log``, d(p) = 1/log2(p + 1).
    ``relevance_aware``: g is 1 for relevant items and 0 for others; else it is 1. Without either it is ILD.

    Edges: fewer than two items: undefined; so is a query without a relevant item, where relevance is looked at. A place
    whose other places weigh nothing adds 0. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` leaves it out.

    Libraries: RankSys EILD.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "eild"
    aliases = ("EILD",)

    rank_discount: Discount = "log"
    relevance_aware: bool = True
    relevant_from: float = 1.0

    def judge(self, lists: Aligned) -> Values:
        apart: Space = lists.bound(self)
        offsets, _ = lists.places(self.k)
        rows = recoded(lists, self.k, apart.rows)
        gain = np.ones(rows.size)
        if self.relevance_aware:
            gain = relevant_places(lists, self.k, self.relevant_from).astype(np.float64)
        discount = places_discount(int(np.diff(offsets).max(initial=0)), self.rank_discount)
        out = np.empty(lists.size)
        _kernels.expected_distance(
            readonly(offsets), readonly(rows), readonly(gain), readonly(discount), *apart.arrays,
            self.bare == "skip", out,
        )  # fmt: skip
        if self.relevance_aware:
            out[lists.relevant(self.relevant_from) == 0] = np.nan
        return out


@dataclass(frozen=True, repr=False)
class EPD(Diversity):
    """Expected profile distance: how far the items of a list are from what the user has met.

    Formula: mean over the first k places of ``(1/|P|) sum over j in P of distance(i, j)``, P the user's training
    profile (each item once). ``distance`` is ``jaccard`` or ``cosine`` of item features, ``training`` or ``given``.

    Edges: no training profile: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` leaves it out. An empty list is undefined.

    Libraries: RankSys EPD without discount and relevance.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "epd"
    aliases = ("EPD",)
    needs: ClassVar[frozenset[str]] = frozenset({"train", "items"})

    def bind(self, beside: Beside) -> object:
        _ = beside.train_items, beside.train_users, beside.train.by_user
        return super().bind(beside), beside, log_rows(self.distance, beside)

    def judge(self, lists: Aligned) -> Values:
        bound: tuple[Space, Beside, NDArray[np.int32]] = lists.bound(self)
        apart, beside, profile_rows = bound
        offsets, _ = lists.places(self.k)
        rows, items = recoded(lists, self.k, apart.rows), recoded(lists, self.k, beside.train_items)
        users = beside.train_users[lists.begin : lists.end]
        out = np.empty(lists.size)
        profile_offsets, profile_items = beside.train.by_user
        _kernels.profile_distance(
            readonly(offsets), readonly(rows), readonly(items), readonly(users),
            readonly(profile_offsets), readonly(profile_items), readonly(profile_rows), *apart.arrays,
            self.bare == "skip", out,
        )  # fmt: skip
        return out
