"""Popularity: how popular the items of a list are, and how many of them are long tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Values
from recassay.metrics.beyond.base import (
    ItemValues,
    ListMetric,
    RowValues,
    StreamMoments,
    mean_over_places,
    ordered_by_popularity,
)

if TYPE_CHECKING:
    from recassay.metrics.context import ContextLookup

TINY = 1e-9  # rounding can put a product such as 0.7 * 10 above the whole number it should equal


def head_items(counts: NDArray[np.int64], *, mass: float = 0.8, share: float | None = None) -> NDArray[np.bool_]:
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
class ARP(ListMetric):
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
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    def bind(self, lookup: ContextLookup) -> ItemValues:
        return ItemValues(lookup.train_items, np.append(lookup.train.item_users.astype(np.float64), 0.0))

    def bind_at(self, moments: StreamMoments) -> RowValues:
        """Return the popularity of each recommended item on a stream (row of the run), right before its event."""
        return RowValues(moments.popularity().counts)

    def judge(self, lists: AlignedBlock) -> Values:
        popularity: ItemValues | RowValues = lists.bound(self)
        return mean_over_places(lists, self.k, popularity.at(lists, self.k))


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

    head_mass: float = 0.8
    head_share: float | None = None

    def validate(self) -> None:
        if not 0 <= self.head_mass <= 1:
            raise self.refuse("head_mass", "it must be a share of the training events, from 0 to 1")
        if self.head_share is not None and not 0 <= self.head_share <= 1:
            raise self.refuse("head_share", "it must be a share of the training items, from 0 to 1")

    def bind(self, lookup: ContextLookup) -> ItemValues:
        in_head = head_items(lookup.train.item_events, mass=self.head_mass, share=self.head_share)
        return ItemValues(lookup.train_items, np.append(~in_head, True).astype(np.float64))

    def judge(self, lists: AlignedBlock) -> Values:
        tail: ItemValues = lists.bound(self)
        return mean_over_places(lists, self.k, tail.at(lists, self.k))


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
