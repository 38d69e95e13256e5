"""Aspects: what an item can be wanted for. Features of items, or the tastes of one user found in the training log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.data._sets import interests
from recassay.data.features import members
from recassay.data.layout import readonly
from recassay.data.subprofiles import Miner, Subprofiles
from recassay.metrics.align import Aligned
from recassay.metrics.base import Accuracy, UnitMetric, Values
from recassay.metrics.beyond import _gains, _kernels
from recassay.metrics.beyond.base import at_places, recoded

if TYPE_CHECKING:
    from recassay.metrics.context import Beside

Kind = Literal["features", "subprofiles"]
Intents = Literal["relevant", "profile"]

NEEDS: dict[str, frozenset[str]] = {"features": frozenset({"items"}), "subprofiles": frozenset({"train"})}


class Sets(NamedTuple):
    """The aspects of some rows, one row after the other."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]


class Seen(NamedTuple):
    """A block of lists as aspects: those of the items shown, those of the items of the truth, and how many there are.

    Aspects of list q are numbered from 0 to ``width[q]``; ``mined`` are the subprofiles they stand for, if any.
    """

    shown: Sets
    wanted: Sets
    width: NDArray[np.int64]
    mined: Subprofiles | None

    @property
    def most(self) -> int:
        """The largest number of aspects of any list."""
        return int(self.width.max(initial=0))


class Worth(NamedTuple):
    """What each row of the truth adds to its aspects (0: it is not relevant), and what it leaves for later rows."""

    amount: Values
    keep: Values


@dataclass(frozen=True, repr=False)
class WithAspects(UnitMetric):
    """A metric that looks at the aspects of items.

    ``aspects``: ``features`` of the table of items; or ``subprofiles`` of the user, mined from the training log as SPAD
    does: around each item with a rating of ``liked_from`` or more (any, unless said) stand those that have it among
    their ``k1`` nearest neighbours, and an item has a subprofile if it is among the ``k2`` nearest of one of them.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"items"})

    aspects: Kind = "features"
    k1: int = 10
    k2: int = 10
    liked_from: float | None = None

    def validate(self) -> None:
        for name in ("k1", "k2"):
            if getattr(self, name) < 1:
                raise self.refuse(name, "it is a number of neighbours, at least 1")

    @property
    def needed(self) -> frozenset[str]:
        return (self.needs - {"items"}) | NEEDS[self.aspects]

    @property
    def needs_whole_log(self) -> bool:
        return self.aspects == "subprofiles"

    def bind(self, beside: Beside) -> object:
        """The run beside the table of items, or beside the log and what finds subprofiles in it."""
        if self.aspects == "features":
            _ = beside.feature_rows, beside.truth_feature_rows
            return beside, None
        _ = beside.train_items, beside.truth_train_items, beside.train_users
        return beside, beside.context.miner(self.k1, self.k2, self.liked_from)

    @property
    def _which(self) -> tuple[object, ...]:
        return self.aspects, self.k1, self.k2, self.liked_from

    def seen(self, lists: Aligned) -> Seen:
        """The block as aspects; looked up once for all metrics that mean the same ones."""
        return lists.remember(("aspects", self.k, *self._which), lambda: self._look(lists))  # type: ignore[arg-type, return-value]

    def _look(self, lists: Aligned) -> Seen:
        bound: tuple[Beside, Miner | None] = lists.bound(self)
        beside, miner = bound
        offsets, _ = lists.places(self.k)
        if miner is None:
            features = beside.features
            rows = recoded(lists, self.k, beside.feature_rows), beside.truth_feature_rows[lists.truth_rows]
            shown, wanted = (Sets(*members(features.offsets, features.codes, one)) for one in rows)
            return Seen(shown, wanted, np.full(lists.size, features.names.len()), None)
        mined = miner.mine(beside.train_users[lists.begin : lists.end])
        shown = Sets(*mined.aspects(offsets, recoded(lists, self.k, beside.train_items)))
        wanted = Sets(*mined.aspects(lists.truth_offsets, beside.truth_train_items[lists.truth_rows]))
        return Seen(shown, wanted, np.diff(mined.offsets), mined)


@dataclass(frozen=True, repr=False)
class AspectMetric(WithAspects, Accuracy):
    """A metric of which aspects the relevant items of a list have."""

    family: ClassVar[str] = "beyond"

    def is_relevant(self, lists: Aligned) -> NDArray[np.bool_]:
        """Whether each row of the block's truth is relevant."""
        return np.asarray(lists.truth.gains[lists.truth_rows] >= self.relevant_from)

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        """Queries on which the metric is defined: those with a relevant item that has an aspect."""
        return self.wanted_aspects(lists) > 0

    def wanted_aspects(self, lists: Aligned) -> Values:
        """Number of different aspects of the relevant items of each query."""

        def count() -> Values:
            wanted, out = self.seen(lists).wanted, np.empty(lists.size)
            rows = np.arange(wanted.starts.size - 1, dtype=np.int32)
            _kernels.distinct_features(
                readonly(lists.truth_offsets), readonly(rows), readonly(self.is_relevant(lists)),
                readonly(wanted.starts), readonly(wanted.codes), self.seen(lists).most, out,
            )  # fmt: skip
            return out

        return lists.remember(("wanted aspects", self.k, self.relevant_from, *self._which), count)  # type: ignore[return-value]

    def gained(self, lists: Aligned, worth: Worth, discount: Values, weight: Values | None = None) -> Values:
        """Sum over places of the discount times what the item there adds to its aspects."""
        seen, out = self.seen(lists), np.empty(lists.size)
        rows = lists.judged - lists.truth_rows.start
        amount = at_places(lists, self.k, worth.amount[rows])
        keep = 1.0 - at_places(lists, self.k, 1.0 - worth.keep[rows])
        first = np.append(0, np.cumsum(seen.width))
        _gains.gained(
            readonly(lists.places(self.k)[0]), readonly(amount), readonly(keep), readonly(seen.shown.starts),
            readonly(seen.shown.codes), seen.most, readonly(first),
            readonly(np.empty(0) if weight is None else weight), readonly(discount), out,
        )  # fmt: skip
        return out

    def best(self, lists: Aligned, worth: Worth, discount: Values, *, exact: bool = False) -> Values:
        """The same of the best list of so many places: picked greedily, or the best of all lists."""
        seen, out = self.seen(lists), np.empty(lists.size)
        arrays = (
            readonly(worth.amount), readonly(worth.keep), readonly(seen.wanted.starts), readonly(seen.wanted.codes),
            seen.most, readonly(discount), out,
        )  # fmt: skip
        if exact:
            _gains.exact_ideal(readonly(lists.truth_offsets), *arrays)
        else:
            items = lists.truth.items[lists.truth_rows]
            _gains.greedy_ideal(readonly(lists.truth_offsets), readonly(items), *arrays)
        return out


@dataclass(frozen=True, repr=False)
class IntentMetric(AspectMetric):
    """A metric of aspects that weigh as much as they matter to the user.

    ``intents``: all aspects of the user's ``relevant`` items matter alike; or each as in the training ``profile``, a
    feature by its share of all features of the profile's items (all alike where there is none), a subprofile by its
    share of all sizes.
    """

    intents: Intents = "relevant"

    @property
    def needed(self) -> frozenset[str]:
        return super().needed | ({"train"} if self.intents == "profile" else set())

    def bind(self, beside: Beside) -> object:
        if self.intents == "profile":
            _ = beside.train_users, beside.train.by_user
            _ = beside.train_feature_rows if self.aspects == "features" else None
        return super().bind(beside)

    def weighted(self, lists: Aligned, worth: Worth, discount: Values) -> Values:
        """What is gained, each aspect at its weight."""
        if self.intents == "profile":
            return self.gained(lists, worth, discount, self.weights_of(lists))
        return self.gained(lists, worth, discount) / np.maximum(self.wanted_aspects(lists), 1.0)

    def weights_of(self, lists: Aligned) -> Values:
        """p(a | u) of every aspect of every query, one query after the other."""
        mined = self.seen(lists).mined
        if mined is not None:
            return mined.weights
        beside, _ = lists.bound(self)
        features, (offsets, items) = beside.features, beside.train.by_user
        out = np.empty((lists.size, features.names.len()))
        interests(
            readonly(offsets), readonly(items), readonly(beside.train_feature_rows), readonly(features.offsets),
            readonly(features.codes), readonly(beside.train_users[lists.begin : lists.end]), out,
        )  # fmt: skip
        return out.ravel()
