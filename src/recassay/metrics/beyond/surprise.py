"""Surprise: what does a list show that was not to be expected?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly, stretch_of
from recassay.data.recoding import Recoding
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, Values, sums
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import ListMetric, ordered_by_popularity, recoded

if TYPE_CHECKING:
    from recassay.data.interactions import Interactions
    from recassay.metrics.context import Beside


@dataclass(frozen=True, eq=False)
class Expected:
    """What each user can expect: the m most popular items of the training log and the user's own profile."""

    train: Interactions
    popular: NDArray[np.bool_]  # for each training item, and False for items that are not there

    @classmethod
    def of(cls, train: Interactions, m: int) -> Expected:
        """Popularity is the number of training users; ties go by ascending id."""
        popular = np.zeros(train.n_items + 1, np.bool_)
        popular[ordered_by_popularity(train.item_users)[:m]] = True
        return cls(train, popular)

    def missing(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each item is not what the user beside it can expect; both as the training log codes them."""
        owned = np.empty(item.size, np.bool_)
        offsets, items = self.train.by_user
        _kernels.in_profile(readonly(offsets), readonly(items), readonly(user), readonly(item), owned)
        return ~(owned | self.popular[item])


@dataclass(frozen=True, repr=False)
class Unexpectedness(ListMetric):
    """Share of the list that the user could not expect.

    Formula: ``(1/k) #{items of the first k places not in E}``, E the ``m`` items with most training users (k unless
    said) and the user's training profile. ``divide_by="list"`` divides by the items shown.

    Edges: ties of popularity go by ascending id. An item that is not in the training log is unexpected; a user who is
    not there expects popular items only. An empty list counts 0.

    Libraries: no library here prints exactly this.

    Reference: Adamopoulos and Tuzhilin, On unexpectedness in recommender systems, TIST 2015.
    """

    name = "unexpectedness"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    m: int | None = None
    divide_by: Literal["k", "list"] = "k"
    empty: Literal["undefined", "zero"] = "zero"

    def validate(self) -> None:
        if self.m is not None and self.m < 0:
            raise self.refuse("m", "it is a number of popular items")

    def bind(self, beside: Beside) -> tuple[Expected, Recoding, NDArray[np.int32]]:
        assert self.k is not None
        expected = Expected.of(beside.train, self.k if self.m is None else self.m)
        return expected, beside.train_items, beside.train_users

    def judge(self, lists: Aligned) -> Values:
        expected, recoding, users = lists.bound(self)
        offsets, _ = lists.places(self.k)
        query = stretch_of(offsets)
        new = expected.missing(users[lists.begin : lists.end][query], recoded(lists, self.k, recoding))
        shown = np.full(lists.size, self.k) if self.divide_by == "k" else np.maximum(np.diff(offsets), 1)
        return sums(offsets, new) / shown


@dataclass(frozen=True, repr=False)
class Serendipity(Accuracy):
    """Share of the list that is relevant and that the user could not expect.

    Formula: ``(1/k) #{relevant items of the first k places not in E}``, E the ``m`` items with most training users (k
    unless said) and the user's training profile.

    Edges: never above precision. Ties of popularity go by ascending id. An empty list counts 0.

    Libraries: Sequeval's serendipity leaves out popular items and not the profile. RecTools weighs by rank against
    popularity, Microsoft and Evidently by similarity to the profile: other things.

    Reference: Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, RecSys 2010.
    """

    name = "serendipity"
    family: ClassVar[str] = "beyond"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"
    needs: ClassVar[frozenset[str]] = frozenset({"train"})

    m: int | None = None

    def validate(self) -> None:
        if self.m is not None and self.m < 0:
            raise self.refuse("m", "it is a number of popular items")

    def bind(self, beside: Beside) -> NDArray[np.bool_]:
        """Whether each row of the truth is unexpected for its user."""
        assert self.k is not None
        expected = Expected.of(beside.train, self.k if self.m is None else self.m)
        users = beside.train_users[stretch_of(beside.meeting.truth.offsets)]
        return expected.missing(users, beside.truth_train_items)

    def judge(self, lists: Aligned) -> Values:
        assert self.k is not None
        unexpected = lists.bound(self)[lists.judged] & lists.is_relevant(self.relevant_from)
        depth = lists.depth(self.k)
        return lists.expected_sum(unexpected.astype(np.float64), np.ones(depth), lists.cutoffs(self.k)) / self.k
