"""The log: which user interacted with which item, when, and with what rating."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, pair_keys, set_digest, value_keys
from recassay.columnar.layout import chosen_rows, row_groups
from recassay.columnar.times import TimeKind, TimeScale, infer_kind
from recassay.columnar.vocabulary import Recoding, Vocabulary, concat_ids
from recassay.errors import InputError, UsageError
from recassay.shown import Displayable


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """The number of users and of events of each item of a log; the counts of disjoint user groups add up.

    ``ids`` are the items, ascending; ``users`` and ``events`` count in the order of ``ids``; ``n_users`` is the number
    of users of the log.

    >>> one = ItemCounts(pl.Series([5, 7]), np.array([2, 1]), np.array([2, 3]), 2)
    >>> both = one + ItemCounts(pl.Series([7, 9]), np.array([1, 1]), np.array([1, 4]), 1)
    >>> both.ids.to_list(), both.users.tolist(), both.events.tolist(), both.n_users
    ([5, 7, 9], [2, 2, 1], [2, 4, 4], 3)
    """

    ids: pl.Series
    users: NDArray[np.int64]
    events: NDArray[np.int64]
    n_users: int

    def __add__(self, other: ItemCounts) -> ItemCounts:
        counts = {"users": np.append(self.users, other.users), "events": np.append(self.events, other.events)}
        rows = pl.DataFrame({"item": concat_ids([self.ids, other.ids]), **counts})
        sums = rows.group_by("item").agg(pl.col("users", "events").sum()).sort("item")
        return ItemCounts(
            sums["item"], sums["users"].to_numpy(), sums["events"].to_numpy(), self.n_users + other.n_users
        )

    @property
    def rows(self) -> int:
        """Return the number of events of all items, which is the number of rows of the log."""
        return int(self.events.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Displayable):
    """Rows of (user, item, timestamp?, rating?) in their given order; ids are coded 0..n-1 in ascending order.

    ``times`` is what the timestamps can order, see :mod:`recassay.columnar.times`: ``clock`` unless stated
    otherwise, ``global`` or ``user`` for a mere order, None without timestamps. ``whole`` is set if the rows are those
    of some users only: it holds the item counts of the whole log. ``remarks`` are texts that findings report about the
    log's file, by finding code.

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
    remarks: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Set the kind of times: None without timestamps, ``clock`` unless stated otherwise."""
        times = None if self.timestamps is None else self.times or "clock"
        object.__setattr__(self, "times", times)

    @property
    def user_ids(self) -> pl.Series:
        """Return the ids of users, by code."""
        return self.user_vocabulary.stored_ids

    @property
    def item_ids(self) -> pl.Series:
        """Return the ids of items, by code."""
        return self.item_vocabulary.stored_ids

    @classmethod
    def from_frame(
        cls,
        frame: pl.DataFrame,
        *,
        whole: ItemCounts | None = None,
        origin: str = "",
        times: TimeKind | None = None,
        remarks: Mapping[str, str] | None = None,
    ) -> Interactions:
        """Return the log of a table with columns user_id, item_id and optionally timestamp and rating.

        If the table has all rows of some users only, ``whole`` are the item counts of the whole log. Items, item counts
        and ``n_users`` are then those of the whole log; everything else describes these rows. Raise I421 if a row has
        an item that is not among those counted before.

        >>> rows = pl.DataFrame({"user_id": [7, 3, 7, 8], "item_id": ["a", "b", "a", "c"]})
        >>> counts = Interactions.from_frame(rows).item_counts
        >>> log = Interactions.from_frame(rows.filter(user_id=3), whole=counts)
        >>> len(log), log.n_users, log.items.tolist(), log.item_users.tolist()
        (1, 3, [1], [1, 1, 1])
        """
        user_vocabulary, users = Vocabulary.dense(frame["user_id"])
        if whole is None:
            item_vocabulary, items = Vocabulary.dense(frame["item_id"])
        else:
            vocabulary, codes = Vocabulary.encode(frame["item_id"])
            item_vocabulary, items = Vocabulary(whole.ids), Recoding.between(vocabulary, whole.ids)(codes)
            new = items < 0
            if new.any():
                raise InputError(
                    "I421",
                    f"{int(new.sum()):,} of {new.size:,} rows have an item that was not there when the log was "
                    f"counted, such as {frame['item_id'][int(np.argmax(new))]!r}",
                    where=origin,
                    hint="score again while nothing writes to the files",
                )
        timestamps = frame["timestamp"] if "timestamp" in frame.columns else None
        ratings = frame["rating"].cast(pl.Float64).to_numpy() if "rating" in frame.columns else None
        return cls(
            users, items, user_vocabulary, item_vocabulary, timestamps, ratings, origin, whole, times, remarks or {}
        )

    def __len__(self) -> int:
        return int(self.users.size)

    def with_inferred_times(self, *, named: bool = False) -> Interactions:
        """Return the log with the kind of its times inferred: clock, global or user.

        ``named`` says that the time column has a name for positions, not for times.
        """
        return replace(self, times=infer_kind(self.users, self.timestamps, named=named))

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""
        return TimeScale.of(self.timestamps)

    @property
    def n_users(self) -> int:
        """Return the number of distinct users of the whole log."""
        return self.user_vocabulary.size if self.whole is None else self.whole.n_users

    @property
    def n_items(self) -> int:
        """Return the number of distinct items."""
        return self.item_vocabulary.size

    @functools.cached_property
    def item_events(self) -> NDArray[np.int64]:
        """Return the number of rows of each item in the whole log, repeats included."""
        return np.bincount(self.items, minlength=self.n_items) if self.whole is None else self.whole.events

    @property
    def item_counts(self) -> ItemCounts:
        """Return the items of the whole log, with the numbers of users and rows of each, and the number of users.

        If this log has only some users of a larger log, these are the counts of the larger one.
        """
        if self.whole is not None:
            return self.whole
        return ItemCounts(self.item_ids, self.item_users, self.item_events, self.n_users)

    @functools.cached_property
    def by_user(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (offsets, items): user u has the distinct items ``items[offsets[u]:offsets[u + 1]]``, ascending."""
        pairs = np.sort(self.users.astype(np.int64) * self.n_items + self.items)
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]]
        offsets = np.searchsorted(pairs, np.arange(self.user_vocabulary.size + 1) * self.n_items)
        return offsets, (pairs % max(self.n_items, 1)).astype(np.int32)

    @functools.cached_property
    def by_item(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (offsets, users): item i has the distinct users ``users[offsets[i]:offsets[i + 1]]``, ascending."""
        if self.whole is not None:
            raise whole_log_needed("the users of each item")
        offsets, items = self.by_user
        order = np.argsort(items, kind="stable")
        return np.searchsorted(items[order], np.arange(self.n_items + 1)), row_groups(offsets)[order].astype(np.int32)

    @functools.cached_property
    def item_users(self) -> NDArray[np.int64]:
        """Return the number of distinct users of each item in the whole log."""
        return np.bincount(self.by_user[1], minlength=self.n_items) if self.whole is None else self.whole.users

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Interactions:
        """Return some of the rows, by number or mask, over the same users and items, so that codes keep their meaning.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> part = log.take(np.array([1]))
        >>> len(part), part.n_users, part.items.tolist()
        (1, 2, [1])
        """
        places = chosen_rows(rows, len(self))
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
            self.remarks,
        )

    def concat(self, other: Interactions) -> Interactions:
        """Return these rows followed by those of another part of the same log.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> log.take(np.array([2])).concat(log.take(np.array([1]))).frame().rows()
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
            self.remarks,
        )

    def compact(self) -> Interactions:
        """Return the same rows without unused users and items; codes are renumbered in the same order.

        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 7], "item_id": ["a", "b", "a"]}))
        >>> part = log.take(np.array([0])).compact()
        >>> part.n_users, part.n_items, part.frame().rows()
        (1, 1, [(7, 'a')])
        """
        user_vocabulary, users = self.user_vocabulary.without_unused(self.users)
        item_vocabulary, items = self.item_vocabulary.without_unused(self.items)
        columns = (self.timestamps, self.ratings, self.origin)
        return Interactions(
            users, items, user_vocabulary, item_vocabulary, *columns, times=self.times, remarks=self.remarks
        )

    def liked(self, at_least: float | None) -> NDArray[np.bool_]:
        """Return a mask of the rows with a rating of at least ``at_least``; all rows for None.

        >>> frame = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "rating": [5, 3]})
        >>> Interactions.from_frame(frame).liked(4).tolist()
        [True, False]
        """
        if at_least is None:
            return np.ones(len(self), np.bool_)
        if self.ratings is None:
            raise no_ratings_to_compare(at_least, self.origin)
        return self.ratings >= at_least

    def frame(self) -> pl.DataFrame:
        """Return the log as a table."""
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
        """Return a digest of the rows as a set: the order of rows does not matter.

        The type of an id counts (7 is not "7"), the width of an integer does not. The digest is made of two sums,
        modulo 2^64, of a hash per row.
        """
        users, items = id_keys(self.user_ids), id_keys(self.item_ids)
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


def whole_log_needed(what: str, where: str = "") -> UsageError:
    """Return the error U110: ``what`` needs the whole log, but only the rows of some users are available at a time."""
    return UsageError(
        "U110",
        f"{what} need the whole training log, and only the rows of some of its users are available at a time",
        where=where,
        hint="leave this out, or score with a log that fits into memory, without Spark",
    )


def no_ratings_to_compare(at_least: float, where: str) -> InputError:
    """Return the error I307: only ratings of at least ``at_least`` are relevant, but the log has no ratings."""
    return InputError(
        "I307",
        f"relevance was defined as a rating of at least {at_least:g}, and the log has no ratings",
        where=where,
        hint="leave the threshold out: then every event is relevant",
    )
