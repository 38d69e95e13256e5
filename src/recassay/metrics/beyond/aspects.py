"""Aspects of items: their features, or the subprofiles (tastes) of one user mined from the training log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from recassay.arrays import Bool, Int32, Int64
from recassay.columnar._sets import feature_shares
from recassay.columnar.layout import readonly
from recassay.data.features import gather_sets
from recassay.data.subprofiles import Miner, Subprofiles
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, UnitMetric, Values
from recassay.metrics.beyond import _kernels
from recassay.metrics.beyond.base import item_codes, values_at_places
from recassay.metrics.context import ContextLookup
from recassay.naming.named import COUNT

AspectSource = Literal["features", "subprofiles"]
Intents = Literal["relevant", "profile"]

NEEDS: dict[str, frozenset[str]] = {"features": frozenset({"items"}), "subprofiles": frozenset({"train"})}


class AspectSets(NamedTuple):
    """The aspects of items (features, or tastes of a user), one item per row.

    Row r has ``codes[starts[r]:starts[r + 1]]``.
    """

    starts: Int64
    codes: Int32


class AspectBlock(NamedTuple):
    """The aspects (features, or tastes of a user) of the items in lists (``shown``) and in the truth (``wanted``).

    Aspects of list q are numbered from 0 below ``width[q]``. ``mined`` holds the users' subprofiles (tastes), None if
    aspects are features.
    """

    shown: AspectSets
    wanted: AspectSets
    width: Int64
    mined: Subprofiles | None

    @property
    def most(self) -> int:
        """Return the largest number of different aspects that any list of the block can have."""
        return int(self.width.max(initial=0))


class AspectGains(NamedTuple):
    """How much items of the truth add to each of their aspects: arrays with an entry per row of the block's truth.

    ``amount`` is what an item adds to each of its aspects (0: not relevant). ``keep`` is the factor by which an item in
    a list multiplies what items below it add to the same aspects.
    """

    amount: Values
    keep: Values


@dataclass(frozen=True, repr=False)
class WithAspects(UnitMetric):
    """A metric of the aspects of items.

    ``aspects``: ``features`` of the table of items; or ``subprofiles`` of the user, mined from the training log as SPAD
    does. A subprofile is an item with a rating of ``liked_from`` or more (any rating by default), with the items that
    have it among their ``k1`` nearest neighbours. An item has a subprofile if it is among the ``k2`` nearest neighbours
    of one of its items.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"items"})

    aspects: AspectSource = "features"
    k1: Annotated[int, COUNT] = 10
    k2: Annotated[int, COUNT] = 10
    liked_from: float | None = None

    @property
    def needed(self) -> frozenset[str]:
        return (self.needs - {"items"}) | NEEDS[self.aspects]

    @property
    def needs_whole_log(self) -> bool:
        return self.aspects == "subprofiles"

    def bind(self, lookup: ContextLookup) -> object:
        """Return (lookup, miner): codes of items in the log and the features, and an object that finds users' tastes.

        The tastes (subprofiles) are groups of similar items in the user's training log; the miner is None if aspects
        are features.
        """
        if self.aspects == "features":
            _ = lookup.feature_rows, lookup.truth_feature_rows
            return lookup, None
        _ = lookup.train_items, lookup.truth_train_items, lookup.train_users
        return lookup, lookup.context.miner(self.k1, self.k2, self.liked_from)

    @property
    def _aspect_key(self) -> tuple[object, ...]:
        return self.aspects, self.k1, self.k2, self.liked_from

    def aspects_of(self, lists: AlignedBlock) -> AspectBlock:
        """Return the aspects (features or tastes) of the items of a block.

        They are computed once for all metrics with the same source of aspects and cut-off.
        """
        return lists.remember(("aspects", self.k, *self._aspect_key), lambda: self._aspects_of(lists))  # type: ignore[arg-type, return-value]

    def _aspects_of(self, lists: AlignedBlock) -> AspectBlock:
        bound: tuple[ContextLookup, Miner | None] = lists.bound(self)
        lookup, miner = bound
        offsets, _ = lists.places(self.k)
        if miner is None:
            features = lookup.features
            rows = item_codes(lists, self.k, lookup.feature_rows), lookup.truth_feature_rows[lists.truth_rows]
            shown, wanted = (AspectSets(*gather_sets(features.offsets, features.codes, one)) for one in rows)
            return AspectBlock(shown, wanted, np.full(lists.size, features.names.len()), None)
        mined = miner.mine(lookup.train_users[lists.begin : lists.end])
        shown = AspectSets(*mined.aspects(offsets, item_codes(lists, self.k, lookup.train_items)))
        wanted = AspectSets(*mined.aspects(lists.truth_offsets, lookup.truth_train_items[lists.truth_rows]))
        return AspectBlock(shown, wanted, np.diff(mined.offsets), mined)


@dataclass(frozen=True, repr=False)
class AspectMetric(WithAspects, Accuracy):
    """A metric of the aspects (features, or tastes of the user) of the relevant items of a list."""

    family: ClassVar[str] = "beyond"
    no_formula: ClassVar[str] = "the credit of an item depends on the aspects of the items above it"

    def is_relevant(self, lists: AlignedBlock) -> Bool:
        """Return a mask of the rows of the truth that belong to the block: True where the item is relevant."""
        return np.asarray(lists.truth.gains[lists.truth_rows] >= self.relevant_from)

    def judgeable(self, lists: AlignedBlock) -> Bool:
        """Return a mask of the queries for which the metric is defined: some relevant item has a feature or taste."""
        return self.wanted_aspects(lists) > 0

    def wanted_aspects(self, lists: AlignedBlock) -> Values:
        """Return the number of different aspects (features or tastes) of the relevant items of each query."""

        def count() -> Values:
            wanted, out = self.aspects_of(lists).wanted, np.empty(lists.size)
            rows = np.arange(wanted.starts.size - 1, dtype=np.int32)
            _kernels.distinct_features(
                readonly(lists.truth_offsets), readonly(rows), readonly(self.is_relevant(lists)),
                readonly(wanted.starts), readonly(wanted.codes), self.aspects_of(lists).most, out,
            )  # fmt: skip
            return out

        return lists.remember(("wanted aspects", self.k, self.relevant_from, *self._aspect_key), count)  # type: ignore[return-value]

    def gained(self, lists: AlignedBlock, gains: AspectGains, discount: Values, weight: Values | None = None) -> Values:
        """Return, for each list, the sum over places of discount x gain of the item at the place.

        The gain of an item depends on the items above it: ``gains`` says what an item adds to each of its aspects, and
        which part of that is left to later items. ``discount`` has a number per place, and ``weight`` the weights of
        the aspects of all lists, one list after the other (None: equal).
        """
        block, out = self.aspects_of(lists), np.empty(lists.size)
        rows = lists.judged - lists.truth_rows.start
        amount = values_at_places(lists, self.k, gains.amount[rows])
        keep = 1.0 - values_at_places(lists, self.k, 1.0 - gains.keep[rows])
        first = np.append(0, np.cumsum(block.width))
        _kernels.gained(
            readonly(lists.places(self.k)[0]), readonly(amount), readonly(keep), readonly(block.shown.starts),
            readonly(block.shown.codes), block.most, readonly(first),
            readonly(np.empty(0) if weight is None else weight), readonly(discount), out,
        )  # fmt: skip
        return out

    def best(self, lists: AlignedBlock, gains: AspectGains, discount: Values, *, exact: bool = False) -> Values:
        """Return the gain of the ideal list of each query, which has as many places as ``discount``.

        It is built greedily, or is the best of all lists with ``exact``. ``gains`` says what an item adds to its
        aspects.
        """
        block, out = self.aspects_of(lists), np.empty(lists.size)
        arrays = (
            readonly(gains.amount), readonly(gains.keep), readonly(block.wanted.starts), readonly(block.wanted.codes),
            block.most, readonly(discount), out,
        )  # fmt: skip
        if exact:
            _kernels.exact_ideal(readonly(lists.truth_offsets), *arrays)
        else:
            items = lists.truth.items[lists.truth_rows]
            _kernels.greedy_ideal(readonly(lists.truth_offsets), readonly(items), *arrays)
        return out


@dataclass(frozen=True, repr=False)
class IntentMetric(AspectMetric):
    """A metric of the aspects of items (features, or tastes of the user), weighted by the user's interest in each.

    ``intents`` is the source of the interest p(a | u) of user u in aspect a. ``relevant``: equal for all aspects of the
    user's relevant items. ``profile``: from the user's training profile. A feature has its share of all features of the
    profile's items (equal shares if they have none), and a taste (subprofile) its share of the sizes of all tastes.
    """

    intents: Intents = "relevant"

    @property
    def needed(self) -> frozenset[str]:
        return super().needed | ({"train"} if self.intents == "profile" else set())

    def bind(self, lookup: ContextLookup) -> object:
        if self.intents == "profile":
            _ = lookup.train_users, lookup.train.by_user
            _ = lookup.train_feature_rows if self.aspects == "features" else None
        return super().bind(lookup)

    def weighted(self, lists: AlignedBlock, gains: AspectGains, discount: Values) -> Values:
        """Return the gain of each list, with each aspect weighted by the user's interest in it, p(a | u).

        ``gains`` says what an item adds to its aspects, and ``discount`` has a number per place.
        """
        if self.intents == "profile":
            return self.gained(lists, gains, discount, self.weights_of(lists))
        return self.gained(lists, gains, discount) / np.maximum(self.wanted_aspects(lists), 1.0)

    def weights_of(self, lists: AlignedBlock) -> Values:
        """Return p(a | u), the user's interest in each aspect, as one array: query by query, aspect by aspect."""
        mined = self.aspects_of(lists).mined
        if mined is not None:
            return mined.weights
        lookup, _ = lists.bound(self)
        features, (offsets, items) = lookup.features, lookup.train.by_user
        out = np.empty((lists.size, features.names.len()))
        feature_shares(
            readonly(offsets), readonly(items), readonly(lookup.train_feature_rows), readonly(features.offsets),
            readonly(features.codes), readonly(lookup.train_users[lists.begin : lists.end]), out,
        )  # fmt: skip
        return out.ravel()
