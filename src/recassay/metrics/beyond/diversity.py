"""Diversity: distances between the items of a list, and between the list and the user's profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.columnar.vocabulary import Recoding
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import Discount, ListMetric, item_codes, place_discounts, relevant_places
from recassay.metrics.context import ContextLookup
from recassay.naming.named import Departure

Distance = Literal["jaccard", "cosine", "training", "given"]

NEEDS: dict[str, frozenset[str]] = {
    "jaccard": frozenset({"items"}),
    "cosine": frozenset({"items"}),
    "training": frozenset({"train"}),
    "given": frozenset({"train", "distances"}),
}


@dataclass(frozen=True, eq=False)
class DistanceSource:
    """A source of distances between items: sets (features, or users who had the item), or a ``table`` of distances.

    ``rows`` maps an item to its row r, which has the set ``codes[offsets[r]:offsets[r + 1]]``; ``masks`` are the sets
    as bits. ``cosine`` chooses cosine instead of Jaccard distance.
    """

    rows: Recoding  # from the run's items to the rows below
    cosine: bool
    offsets: Int64
    codes: Int32
    masks: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    table: Float = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def arrays(self) -> tuple[NDArray[np.uint64], Int64, Int32, Float, bool]:
        """Return (masks, offsets, codes, table, cosine), the arguments that the kernels share."""
        return readonly(self.masks), readonly(self.offsets), readonly(self.codes), readonly(self.table), self.cosine


def distance_source(distance: Distance, lookup: ContextLookup) -> DistanceSource:
    """Return the source of distances of this kind: features of items, their training users or a given table."""
    if distance == "training":
        return DistanceSource(lookup.train_items, True, *lookup.train.by_item)
    if distance == "given":
        assert lookup.context.distances is not None, "a metric that uses distances must name them in `needs`"
        n = lookup.train.n_items  # one dummy feature each, so that no item counts as bare
        table = lookup.context.distances
        return DistanceSource(lookup.train_items, False, np.arange(n + 1), np.zeros(n, np.int32), table=table)
    features = lookup.features
    return DistanceSource(lookup.feature_rows, distance == "cosine", features.offsets, features.codes, features.masks)


def log_item_rows(distance: Distance, lookup: ContextLookup) -> Int32:
    """Return for each item of the training log its row in the distance source, or -1."""
    of_log = distance in ("training", "given")
    return np.arange(lookup.train.n_items, dtype=np.int32) if of_log else lookup.train_feature_rows


@dataclass(frozen=True, repr=False)
class Diversity(ListMetric):
    """A mean of distances between items.

    ``distance``: ``jaccard``, 1 - |A and B| / |A or B| of their features; ``cosine``, 1 - |A and B| / sqrt(|A| |B|);
    ``training``, the cosine distance of the sets of training users who had the items; ``given``, a table of distances
    between items of the training log (``distances=`` in Python). ``bare`` says what becomes of items that have no
    features, or no training users: they are ``distant`` from all others (1), or are ignored (``skip``).
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

    def bind(self, lookup: ContextLookup) -> object:
        return distance_source(self.distance, lookup)

    def expected(self, lists: AlignedBlock, gain: Values | None, discount: Discount) -> Values:
        """Return the expected distance of two items of each list, for a reader who goes down the list.

        ``gain`` weighs each place of all lists, one list after the other (None: equally).
        """
        distances: DistanceSource = lists.bound(self)
        offsets, _ = lists.places(self.k)
        rows = item_codes(lists, self.k, distances.rows)
        gain = np.ones(rows.size) if gain is None else gain
        discounts = place_discounts(int(np.diff(offsets).max(initial=0)), discount)
        out = np.empty(lists.size)
        _kernels.expected_distance(
            readonly(offsets), readonly(rows), readonly(gain), readonly(discounts), *distances.arrays,
            self.bare == "skip", out,
        )  # fmt: skip
        return out


@dataclass(frozen=True, repr=False)
class ILD(Diversity):
    """Intra-list distance: the mean distance of two items of a list.

    Formula: ``2 / (n (n - 1)) sum over unordered pairs of the first k places of distance(i, j)``, n their number.
    ``distance`` is ``jaccard`` or ``cosine`` of item features, ``training`` or ``given``. ``printed=True`` sums over
    ordered pairs with the same factor, as some papers print it: twice this.

    Edges: fewer than two items: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` ignores it.

    Libraries: RecPack and RecTools IntraListDiversity, RankSys ILD. Sequeval divides by k (k - 1) / 2 for short lists
    too.

    Reference: Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic diversification,
    WWW 2005.
    """

    name = "ild"
    aliases = ("ILD",)
    bounds = (0.0, 2.0)
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sudden-death",
            "Equation 4 of the paper sums over ordered pairs with a factor for unordered ones and is twice the average "
            "that the text describes; recassay takes that average.",
            "ild(printed=True)@10",
        ),
    )

    printed: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds if self.printed else (0.0, 1.0)

    def judge(self, lists: AlignedBlock) -> Values:
        return (2 if self.printed else 1) * self.expected(lists, None, "none")


@dataclass(frozen=True, repr=False)
class EILD(Diversity):
    """Expected intra-list distance: mean distance between relevant items, for a reader who goes down the list.

    Formula: ``sum_p d(p) g_p [sum_{q != p} w_pq distance(p, q) / sum_{q != p} w_pq] / sum_p d(p)``, with
    ``w_pq = d(max(1, q - p)) g_q``. ``rank_discount``: ``none``, d = 1; ``log``, d(p) = 1/log2(p + 1).
    ``relevance_aware``: g is 1 for relevant items and 0 for others; else it is 1. Without either it equals ILD.

    Edges: fewer than two items: undefined; so is a query without a relevant item, if relevance counts. A place whose
    other places have no weight adds 0. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` ignores it.

    Libraries: RankSys EILD.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "eild"
    aliases = ("EILD",)

    rank_discount: Discount = "log"
    relevance_aware: bool = True
    relevant_from: float = 1.0

    def judge(self, lists: AlignedBlock) -> Values:
        if not self.relevance_aware:
            return self.expected(lists, None, self.rank_discount)
        gain = relevant_places(lists, self.k, self.relevant_from).astype(np.float64)
        values = self.expected(lists, gain, self.rank_discount)
        return np.where(lists.relevant(self.relevant_from) > 0, values, np.nan)


@dataclass(frozen=True, repr=False)
class EPD(Diversity):
    """Expected profile distance: how far the items of a list are from the user's training items.

    Formula: mean over the first k places of ``(1/|P|) sum over j in P of distance(i, j)``, P the user's training
    profile (each item once). ``distance`` is ``jaccard`` or ``cosine`` of item features, ``training`` or ``given``.

    Edges: no training profile: undefined. An item without features, or not in the table of items, is at distance 1
    from all others; ``bare="skip"`` ignores it. An empty list is undefined.

    Libraries: RankSys EPD without discount and relevance.

    Reference: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.
    """

    name = "epd"
    aliases = ("EPD",)
    needs: ClassVar[frozenset[str]] = frozenset({"train", "items"})

    def bind(self, lookup: ContextLookup) -> object:
        _ = lookup.train_items, lookup.train_users, lookup.train.by_user
        return super().bind(lookup), lookup, log_item_rows(self.distance, lookup)

    def judge(self, lists: AlignedBlock) -> Values:
        bound: tuple[DistanceSource, ContextLookup, Int32] = lists.bound(self)
        distances, lookup, profile_rows = bound
        offsets, _ = lists.places(self.k)
        rows, items = item_codes(lists, self.k, distances.rows), item_codes(lists, self.k, lookup.train_items)
        users = lookup.train_users[lists.begin : lists.end]
        out = np.empty(lists.size)
        profile_offsets, profile_items = lookup.train.by_user
        _kernels.profile_distance(
            readonly(offsets), readonly(rows), readonly(items), readonly(users),
            readonly(profile_offsets), readonly(profile_items), readonly(profile_rows), *distances.arrays,
            self.bare == "skip", out,
        )  # fmt: skip
        return out
