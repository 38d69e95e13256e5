"""Surprise: the share of a list that the user could not expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from recassay.arrays import Bool, Int32, Int64
from recassay.columnar.layout import row_groups
from recassay.data.interactions import Interactions
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, UnitMetric, Values, range_sums
from recassay.metrics.beyond.base import (
    ListMetric,
    PlaceValues,
    StreamMoments,
    item_codes,
    ordered_by_popularity,
    row_values,
)
from recassay.metrics.context import ContextLookup
from recassay.naming.named import AT_LEAST_0


@dataclass(frozen=True, eq=False)
class ExpectedItems:
    """The items that each user can expect: the m most popular of the training log, and the user's own profile.

    ``owned`` has the (user, item) pairs of profiles, each as one number, and ``popular`` is a mask of items.
    """

    owned: Int64  # a number for each user and item of the training log, ascending
    popular: Bool  # for each training item, and False for items that are not there

    @classmethod
    def of(cls, train: Interactions, m: int) -> ExpectedItems:
        """Return the expected items; popular are the ``m`` items with most training users, ties by ascending id."""
        popular = np.zeros(train.n_items + 1, np.bool_)
        popular[ordered_by_popularity(train.item_users)[:m]] = True
        offsets, items = train.by_user
        return cls(row_groups(offsets) * train.n_items + items, popular)

    def is_unexpected(self, user: Int32, item: Int32) -> Bool:
        """Return a mask of the items that are unexpected for the user in the same row.

        Users and items are codes of the training log.
        """
        number = user.astype(np.int64) * (self.popular.size - 1) + item
        at = np.searchsorted(self.owned, number)
        owned = (np.append(self.owned, -1)[at] == number) & (user >= 0) & (item >= 0)
        return np.asarray(~(owned | self.popular[item]))


@dataclass(frozen=True, repr=False)
class Unexpected(UnitMetric):
    """A metric of the items that a user cannot expect.

    The ``m`` items with most training users (by default as many as the cut-off), and those of the user's training
    profile, are expected.
    """

    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    m: Annotated[int | None, AT_LEAST_0] = None

    @property
    def n_popular(self) -> int:
        """Return how many popular items are expected."""
        assert self.k is not None
        return self.k if self.m is None else self.m


@dataclass(frozen=True, repr=False)
class Unexpectedness(Unexpected, ListMetric):
    """Share of the list that the user could not expect.

    Formula: ``(1/k) #{items of the first k places not in E}``, E the ``m`` items with most training users (default
    k) and the user's training profile. ``divide_by="list"`` divides by the items shown.

    Edges: ties of popularity go by ascending id. An item that is not in the training log is unexpected; a user without
    training rows expects popular items only. An empty list counts 0.

    Libraries: none of those compared computes exactly this.

    Reference: Adamopoulos and Tuzhilin, On unexpectedness in recommender systems, TIST 2015.
    """

    name = "unexpectedness"

    divide_by: Literal["k", "list"] = "k"
    empty: Literal["undefined", "zero"] = "zero"

    def bind(self, lookup: ContextLookup) -> PlaceValues:
        expected = ExpectedItems.of(lookup.train, self.n_popular)
        recoding, users = lookup.train_items, lookup.train_users

        def at_places(lists: AlignedBlock, k: int | None) -> Bool:
            query = row_groups(lists.places(k)[0])
            return expected.is_unexpected(users[lists.begin : lists.end][query], item_codes(lists, k, recoding))

        return at_places

    def bind_at(self, moments: StreamMoments) -> PlaceValues:
        """Return which recommended items on a stream (rows of the run) are unexpected right before their events."""
        return row_values(moments.listed_unexpected(self.n_popular).astype(np.float64))

    def judge(self, lists: AlignedBlock) -> Values:
        offsets, _ = lists.places(self.k)
        new = lists.bound(self)(lists, self.k)
        shown = np.full(lists.size, self.k) if self.divide_by == "k" else np.maximum(np.diff(offsets), 1)
        return range_sums(offsets, new) / shown


@dataclass(frozen=True, repr=False)
class Serendipity(Unexpected, Accuracy):
    """Share of the list that is relevant and that the user could not expect.

    Formula: ``(1/k) #{relevant items of the first k places not in E}``, E the ``m`` items with most training users
    (default k) and the user's training profile.

    Edges: never above precision. Ties of popularity go by ascending id. An empty list counts 0.

    Libraries: Sequeval's serendipity excludes popular items, not the profile. RecTools weights by rank against
    popularity, Microsoft and Evidently by similarity to the profile: these are other metrics.

    Reference: Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, RecSys 2010.
    """

    name = "serendipity"
    family: ClassVar[str] = "beyond"
    no_formula: ClassVar[str] = "whether an item counts depends on the training items of its user"

    def bind(self, lookup: ContextLookup) -> Bool:
        """Return a mask of the rows of the truth whose items are unexpected for their users."""
        expected = ExpectedItems.of(lookup.train, self.n_popular)
        users = lookup.train_users[row_groups(lookup.alignment.truth.offsets)]
        return expected.is_unexpected(users, lookup.truth_train_items)

    def bind_at(self, moments: StreamMoments) -> Bool:
        """Return a mask of the events of a stream whose item is unexpected for the user.

        It is unexpected if it is new to the user and not among the ``m`` most popular items so far.
        """
        return moments.chosen_unexpected(self.n_popular)

    def judge(self, lists: AlignedBlock) -> Values:
        assert self.k is not None
        unexpected = lists.bound(self)[lists.judged] & lists.is_relevant(self.relevant_from)
        depth = lists.depth(self.k)
        return lists.expected_sum(unexpected.astype(np.float64), np.ones(depth), lists.cutoffs(self.k)) / self.k
