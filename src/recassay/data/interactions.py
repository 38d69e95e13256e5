"""The log: who met what, when, and how much they liked it."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import id_keys, pair_keys, set_digest, value_keys
from recassay.data.item_counts import ItemCounts
from recassay.data.layout import stretch_of
from recassay.data.recoding import Recoding
from recassay.data.time_kind import TimeKind, read_kind
from recassay.data.time_scale import TimeScale
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError, UsageError

SCHEMA = {
    "user_id": "integer or string",
    "item_id": "integer or string",
    "timestamp": "any order of time, optional",
    "rating": "Float64, optional",
}


@dataclass(frozen=True, eq=False)
class Interactions:
    """Rows of (user, item, timestamp?, rating?) in the order they came; ids are coded 0..n-1 in ascending order.

    ``times`` says what the timestamps can tell, see :mod:`recassay.data.time_kind`: ``clock`` times unless stated
    otherwise, ``global`` or ``user`` for an order, None without timestamps. ``whole`` is given where the rows are only
    those of some users: what is known of the items of the whole log.

    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
    >>> log.users.tolist(), log.items.tolist(), log.item_users.tolist(), log.item_events.tolist()
    ([1, 0, 1], [0, 1, 0], [1, 1], [2, 1])
    """

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    user_vocabulary: Vocabulary
    item_vocabulary: Vocabulary
    timestamps: pl.Series | None = None
    ratings: NDArray[np.float64] | None = None
    origin: str = field(default="", repr=False)
    whole: ItemCounts | None = field(default=None, repr=False)
    times: TimeKind | None = None

    def __post_init__(self) -> None:
        """A log without timestamps has no times; one with them has clock times unless stated otherwise."""
        times = None if self.timestamps is None else self.times or "clock"
        object.__setattr__(self, "times", times)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, origin: str = "", times: TimeKind | None = None) -> Interactions:
        """Lay out a table with columns user_id, item_id and perhaps timestamp and rating."""
        user_vocabulary, users = Vocabulary.dense(frame["user_id"])
        item_vocabulary, items = Vocabulary.dense(frame["item_id"])
        timestamps = frame["timestamp"] if "timestamp" in frame.columns else None
        ratings = frame["rating"].cast(pl.Float64).to_numpy() if "rating" in frame.columns else None
        return cls(users, items, user_vocabulary, item_vocabulary, timestamps, ratings, origin, times=times)

    @classmethod
    def of_some(
        cls, frame: pl.DataFrame, whole: ItemCounts, *, origin: str = "", times: TimeKind | None = None
    ) -> Interactions:
        """The rows of some users, of whom each has all of his, and counts of all: a log that is elsewhere or too large.

        Items are those of the whole log, and so are their counts and ``n_users``; everything else is of these rows.

        >>> rows = pl.DataFrame({"user_id": [7, 3, 7, 8], "item_id": ["a", "b", "a", "c"]})
        >>> counts = Interactions.from_frame(rows).item_counts
        >>> log = Interactions.of_some(rows.filter(user_id=3), counts)
        >>> len(log), log.n_users, log.items.tolist(), log.item_users.tolist()
        (1, 3, [1], [1, 1, 1])
        """
        user_vocabulary, users = Vocabulary.dense(frame["user_id"])
        items = _known(frame["item_id"], whole.ids, origin)
        timestamps = frame["timestamp"] if "timestamp" in frame.columns else None
        ratings = frame["rating"].cast(pl.Float64).to_numpy() if "rating" in frame.columns else None
        return cls(users, items, user_vocabulary, Vocabulary(whole.ids), timestamps, ratings, origin, whole, times)

    def __len__(self) -> int:
        return int(self.users.size)

    def reading_times(self, *, named: bool = False) -> Interactions:
        """The log with the kind of its times told by their values; ``named``, if their column is one of positions."""
        return replace(self, times=read_kind(self.users, self.timestamps, named=named))

    @property
    def time_scale(self) -> TimeScale:
        """How large its times are."""
        return TimeScale.of(self.timestamps)

    @property
    def n_users(self) -> int:
        """Number of distinct users, of the whole log."""
        return self.user_vocabulary.size if self.whole is None else self.whole.n_users

    @property
    def n_items(self) -> int:
        """Number of distinct items."""
        return self.item_vocabulary.size

    @functools.cached_property
    def item_events(self) -> NDArray[np.int64]:
        """Rows of each item, repeats counted."""
        return np.bincount(self.items, minlength=self.n_items) if self.whole is None else self.whole.events

    @property
    def item_counts(self) -> ItemCounts:
        """What must be known of this log by who has only the rows of some users."""
        if self.whole is not None:
            return self.whole
        assert self.item_vocabulary.ids is not None, "a log's ids are dense"
        return ItemCounts(self.item_vocabulary.ids, self.item_users, self.item_events, self.n_users)

    @functools.cached_property
    def by_user(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Offsets and items of each user's profile: distinct items, ascending."""
        pairs = np.sort(self.users.astype(np.int64) * self.n_items + self.items)
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]]
        offsets = np.searchsorted(pairs, np.arange(self.user_vocabulary.size + 1) * self.n_items)
        return offsets, (pairs % max(self.n_items, 1)).astype(np.int32)

    @functools.cached_property
    def by_item(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Offsets and users of each item: distinct users, ascending."""
        if self.whole is not None:
            raise part_of_log("the users of each item")
        offsets, items = self.by_user
        order = np.argsort(items, kind="stable")
        return np.searchsorted(items[order], np.arange(self.n_items + 1)), stretch_of(offsets)[order].astype(np.int32)

    @functools.cached_property
    def item_users(self) -> NDArray[np.int64]:
        """Distinct users of each item."""
        return np.bincount(self.by_user[1], minlength=self.n_items) if self.whole is None else self.whole.users

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Interactions:
        """Some of the rows, by number or by mask, with all the users and items of the whole: codes keep their meaning.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> part = log.take(np.array([1]))
        >>> len(part), part.n_users, part.items.tolist()
        (1, 2, [1])
        """
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return Interactions(
            self.users[places],
            self.items[places],
            self.user_vocabulary,
            self.item_vocabulary,
            None if self.timestamps is None else self.timestamps.gather(places),
            None if self.ratings is None else self.ratings[places],
            self.origin,
            self.whole,
            self.times,
        )

    def followed_by(self, other: Interactions) -> Interactions:
        """These rows and then those of another part of the same log.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> log.take(np.array([2])).followed_by(log.take(np.array([1]))).frame().rows()
        [(7, 'a'), (3, 'b')]
        """
        return Interactions(
            np.append(self.users, other.users),
            np.append(self.items, other.items),
            self.user_vocabulary,
            self.item_vocabulary,
            None
            if self.timestamps is None or other.timestamps is None
            else pl.concat([self.timestamps, other.timestamps]),
            None if self.ratings is None or other.ratings is None else np.append(self.ratings, other.ratings),
            self.origin,
            self.whole,
            self.times,
        )

    def compact(self) -> Interactions:
        """The same rows without users and items that have none; codes are numbered anew, in the same order.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> part = log.take(np.array([0])).compact()
        >>> part.n_users, part.n_items, part.frame().rows()
        (1, 1, [(7, 'a')])
        """
        user_vocabulary, users = self.user_vocabulary.without_unused(self.users)
        item_vocabulary, items = self.item_vocabulary.without_unused(self.items)
        columns = (self.timestamps, self.ratings, self.origin)
        return Interactions(users, items, user_vocabulary, item_vocabulary, *columns, times=self.times)

    def liked(self, at_least: float | None) -> NDArray[np.bool_]:
        """Rows with a rating of at least so much; every row for None.

        >>> frame = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rating": [5, 3]})
        >>> Interactions.from_frame(frame).liked(4).tolist()
        [True, False]
        """
        if at_least is None:
            return np.ones(len(self), np.bool_)
        if self.ratings is None:
            raise InputError(
                "I307",
                f"a rating of {at_least:g} or more was to mean relevant, and the log has no ratings",
                where=self.origin,
                hint="leave the threshold out: then every event is relevant",
            )
        return self.ratings >= at_least

    def frame(self) -> pl.DataFrame:
        """The log as a table."""
        columns = {
            "user_id": self.user_vocabulary.decode(self.users),
            "item_id": self.item_vocabulary.decode(self.items),
        }
        if self.timestamps is not None:
            columns["timestamp"] = self.timestamps
        if self.ratings is not None:
            columns["rating"] = pl.Series(self.ratings)
        return pl.DataFrame(columns)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the rows as a set: the same log gives the same digest in any order of rows.

        The type of an id counts (7 is not "7"), the width of an integer does not. It is made of two sums, each modulo
        2^64, of a mixed number for every row.
        """
        assert self.user_vocabulary.ids is not None, "a log's ids are dense"
        assert self.item_vocabulary.ids is not None, "a log's ids are dense"
        users, items = id_keys(self.user_vocabulary.ids), id_keys(self.item_vocabulary.ids)
        kinds = [self.user_vocabulary.kind, self.item_vocabulary.kind]
        columns = []
        if self.timestamps is not None:
            kinds.append("timestamp")
            columns.append(value_keys(self.timestamps))
        if self.ratings is not None:
            kinds.append("rating")
            columns.append(value_keys(pl.Series(self.ratings)))
        sums = [set_digest(pair_keys(self.users, self.items, users, items, salt), columns) for salt in (1, 2)]
        return hashlib.blake2b(f"{kinds} {len(self)} {sums}".encode(), digest_size=16).hexdigest()


def part_of_log(what: str, where: str = "") -> UsageError:
    """The error for what only a whole log can tell."""
    return UsageError(
        "U224",
        f"{what} can only be told from the whole training log, and here are the rows of some of its users at a time",
        where=where,
        hint="leave it out, or judge with a log that fits into memory, without Spark",
    )


def _known(items: pl.Series, ids: pl.Series, where: str) -> NDArray[np.int32]:
    """Codes of items that were counted; I421 if one was not."""
    vocabulary, codes = Vocabulary.encode(items)
    found = Recoding.between(vocabulary, ids)(codes)
    strange = found < 0
    if strange.any():
        raise InputError(
            "I421",
            f"{int(strange.sum()):,} of {items.len():,} rows have an item that was not there when the log was counted, "
            f"such as {items[int(np.argmax(strange))]!r}",
            where=where,
            hint="judge again, with files that nobody writes to meanwhile",
        )
    return found
