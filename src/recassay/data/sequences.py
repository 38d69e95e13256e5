"""Items of users in order of time: whole histories, and sequences such as listening sessions and playlists."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import SECOND, Keys, id_keys, mix, value_keys
from recassay.columnar.layout import chosen_rows, ranges, row_groups, rows_of_groups
from recassay.columnar.order import lexsort_groups
from recassay.columnar.times import TimeKind, TimeScale
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.times import TimeValues, has_dates, row_times
from recassay.errors import InputError
from recassay.shown import Displayable
from recassay.threads import each_block

SEQUENCES_PER_BLOCK = 1 << 14
SALTS = (1, 2)  # for the two sums of a fingerprint
SINGLE_ROW = "item alone in its sequence"

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histories:
    """Sequences of item codes, one per history, oldest first: history h is ``items[offsets[h]:offsets[h + 1]]``.

    ``users`` has the user of each history, and ``times`` the time of each item, where they are known. The users of
    sequences are codes of the fold's ``user_vocabulary``; a code that does not occur in training is a new user.
    """

    offsets: Int64
    items: Int32
    users: Int32 | None = None
    times: TimeValues | None = None

    @classmethod
    def of(cls, log: Interactions) -> Histories:
        """Return the history of every user of a log, in the order of user codes.

        Events at equal times, or without times, are in row order.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"user_id": [1, 2, 1], "item_id": [7, 8, 9], "timestamp": [5, 1, 3]})
        >>> Histories.of(Interactions.from_frame(frame)).rows()
        [[2, 0], [1]]
        """
        keys = () if log.timestamps is None else (row_times(log),)
        counts = np.bincount(log.users, minlength=log.n_users)
        users = np.arange(log.n_users, dtype=np.int32)
        return cls(np.append(0, np.cumsum(counts)), log.items[lexsort_groups(log.users, keys)], users)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    @property
    def lengths(self) -> Int64:
        """Return the number of events of each history."""
        return np.diff(self.offsets)

    def take(self, which: NDArray[np.integer]) -> Histories:
        """Return some of the histories, in this order."""
        rows, offsets = rows_of_groups(self.offsets, which)
        users = None if self.users is None else self.users[which]
        return Histories(offsets, self.items[rows], users, None if self.times is None else self.times[rows])

    def last(self, length: int, *, pad: int) -> NDArray[np.int32]:
        """Return the last ``length`` items of each history (n, length), right-aligned and padded with ``pad``.

        >>> Histories(np.array([0, 1, 4]), np.array([5, 6, 7, 8], np.int32)).last(2, pad=-1).tolist()
        [[-1, 5], [7, 8]]
        """
        table = np.full((len(self), length), pad, np.int32)
        row = row_groups(self.offsets)
        from_end = self.offsets[1:][row] - np.arange(self.items.size)
        kept = from_end <= length
        table[row[kept], length - from_end[kept]] = self.items[kept]
        return table

    def rows(self) -> list[list[int]]:
        """Return the histories as lists of item codes."""
        return [self.items[begin:end].tolist() for begin, end in zip(self.offsets, self.offsets[1:], strict=False)]


@dataclass(frozen=True, eq=False, repr=False)
class Sequences(Displayable):
    """Sequences of two items or more: s is ``items[offsets[s]:offsets[s + 1]]``, oldest first, all of one user.

    ``users`` has the user of each sequence. ``times`` has the time of each row, if known, and ``kind`` is what the
    times can order (as ``times`` of :class:`~recassay.data.interactions.Interactions`); ``dates`` says whether they are
    seconds of dates, not numbers of the log. Items are coded 0..n-1 in ascending order of id. The vocabulary holds all
    items of the sequences that this part was taken from. ``removed`` counts, by reason, the rows that belong to no
    sequence.

    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babcc"]})
    >>> made = Sequences.from_frame(frame)
    >>> len(made), made.n_items, made.seeds.tolist(), made.references.rows()
    (2, 3, [1, 2], [[0, 1], [2]])
    """

    offsets: Int64
    items: Int32
    users: Int32
    times: TimeValues | None
    item_vocabulary: Vocabulary
    user_vocabulary: Vocabulary
    origin: str = field(default="", repr=False)
    removed: Mapping[str, int] = field(default_factory=dict)
    kind: TimeKind | None = None
    dates: bool = False

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, origin: str = "", kind: TimeKind | None = None) -> Sequences:
        """Return ready-made sequences from columns sequence_id, item_id, and optionally user_id, timestamp, position.

        Rows of a sequence are ordered by position, else by timestamp, else as they come. Without a user column every
        sequence has its own user. A sequence of one row is dropped and counted.
        """
        for column in ("sequence_id", "item_id"):
            if column not in frame.columns:
                raise InputError(
                    "I201",
                    f"ready-made sequences have no column {column}: there are {', '.join(frame.columns)}",
                    where=origin,
                    hint=f"frame.rename({{'...': '{column}'}})",
                )
        log = Interactions.from_frame(frame.with_columns(user_id="sequence_id"), origin=origin, times=kind)
        time = None if log.timestamps is None else row_times(log)
        place = frame["position"].to_numpy() if "position" in frame.columns else time
        order = lexsort_groups(log.users, () if place is None else (place,))
        size = np.bincount(log.users, minlength=log.n_users)
        order = order[size[log.users[order]] > 1]
        kept = np.flatnonzero(size > 1)
        if not kept.size:
            raise no_sequences_error(len(log), log.n_users, origin)
        offsets, numbers = np.append(0, np.cumsum(size[kept])), log.users[order]
        if "position" in frame.columns:
            positions = frame["position"].to_numpy()[order]
            same = positions[1:] == positions[:-1]
            _check_rows(log, numbers, same, "two rows have the same position", "number positions 0, 1, 2, ...")
        user_ids = frame["user_id" if "user_id" in frame.columns else "sequence_id"]
        user_vocabulary, users = Vocabulary.dense(user_ids.gather(order))
        _check_rows(
            log, numbers, users[1:] != users[:-1], "there are several users", "give each user their own sequences"
        )
        item_vocabulary, items = log.item_vocabulary.without_unused(log.items[order])
        users, removed = users[offsets[:-1]], {SINGLE_ROW: len(log) - order.size}
        time = None if time is None else time[order]
        kinds = log.times, has_dates(log)
        return cls(offsets, items, users, time, item_vocabulary, user_vocabulary, origin, removed, *kinds)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    @property
    def time_scale(self) -> TimeScale:
        """Return the counts, minima and maxima of the times by magnitude, which reveal wrong units."""
        return TimeScale() if self.times is None else replace(TimeScale.of(pl.Series(self.times)), dates=self.dates)

    @property
    def n_items(self) -> int:
        """Return the number of items of the vocabulary."""
        return self.item_vocabulary.size

    @property
    def n_users(self) -> int:
        """Return the number of users of the vocabulary."""
        return self.user_vocabulary.size

    @property
    def lengths(self) -> Int64:
        """Return the number of rows of each sequence."""
        return np.diff(self.offsets)

    @property
    def seeds(self) -> Int32:
        """Return the first item of each sequence."""
        return self.items[self.offsets[:-1]]

    @property
    def starts(self) -> TimeValues | None:
        """Return the time of the first row of each sequence.

        It is None if the times are not known.
        """
        return None if self.times is None else self.times[self.offsets[:-1]]

    @property
    def histories(self) -> Histories:
        """Return the sequences as histories: all items including the first, with users and times."""
        return Histories(self.offsets, self.items, self.users, self.times)

    @functools.cached_property
    def references(self) -> Histories:
        """Return each sequence without its first item; this is what a system must generate."""
        return Histories(self.offsets - np.arange(self.offsets.size), np.delete(self.items, self.offsets[:-1]))

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> Sequences:
        """Return some of the sequences, by number or mask, over the same users and items; codes keep their meaning.

        >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babcc"]})
        >>> part = Sequences.from_frame(frame).take(np.array([1]))
        >>> part.histories.rows(), part.n_items
        ([[2, 2]], 3)
        """
        chosen = chosen_rows(which, len(self))
        rows, offsets = rows_of_groups(self.offsets, chosen)
        return Sequences(
            offsets,
            self.items[rows],
            self.users[chosen],
            None if self.times is None else self.times[rows],
            self.item_vocabulary,
            self.user_vocabulary,
            self.origin,
            kind=self.kind,
            dates=self.dates,
        )

    def frame(self) -> pl.DataFrame:
        """Return the sequences as a table that :meth:`from_frame` can read; they are numbered from 0."""
        numbers = row_groups(self.offsets)
        columns: dict[str, Any] = {
            "sequence_id": numbers,
            "user_id": self.user_vocabulary.decode(self.users[numbers]),
            "item_id": self.item_vocabulary.decode(self.items),
        }
        return pl.DataFrame(columns if self.times is None else {**columns, "timestamp": self.times})

    @functools.cached_property
    def identities(self) -> Keys:
        """Return a 64-bit hash of each sequence, made of its user and its items with their times, not of its position.

        Identical sequences get different hashes: the second, third, ... copy of a sequence has its own.

        >>> frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 3, 3], "user_id": [7] * 6, "item_id": [*"ababba"]})
        >>> made = Sequences.from_frame(frame)
        >>> len(set(made.identities.tolist()))
        3
        >>> bool(made.take(np.array([2, 0])).identities[0] == made.identities[2])
        True
        """
        item_keys = mix(id_keys(self.item_vocabulary.stored_ids) ^ SECOND)
        of_user = mix(id_keys(self.user_vocabulary.stored_ids))[self.users]
        found = np.empty(len(self), np.uint64)

        def fill(begin: int, end: int) -> None:
            first, last = self.offsets[begin], self.offsets[end]
            starts = self.offsets[begin:end]
            place = ranges(0, np.diff(self.offsets[begin : end + 1]))
            keys = mix(item_keys[self.items[first:last]] + mix(place.astype(np.uint64)))
            if self.times is not None:
                keys = mix(keys + mix(value_keys(pl.Series(self.times[first:last]))))
            found[begin:end] = mix(np.add.reduceat(keys, starts - first) ^ of_user[begin:end])

        each_block(fill, len(self), size=SEQUENCES_PER_BLOCK)
        return _distinguish_copies(found)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of the sequences as a set: their order does not matter."""
        kinds = [self.user_vocabulary.kind, self.item_vocabulary.kind, self.times is not None]
        sums = [int(mix(self.identities ^ np.uint64(salt)).sum(dtype=np.uint64)) for salt in SALTS]
        text = f"{kinds} {len(self)} {self.items.size} {self.n_items} {sums}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class SequenceFold(Displayable):
    """Sequences to learn from and sequences to evaluate on, over the same users and items.

    ``how`` records the split, its parameters and what it measured; ``removed`` counts, by reason, the rows that belong
    to neither part.
    """

    train: Sequences
    test: Sequences
    how: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    number: int = 0

    @property
    def n_items(self) -> int:
        """Return the number of items of the vocabulary, which covers training and test."""
        return self.train.n_items

    @property
    def leakage(self) -> str:
        """Return how much of the future the training sequences may hold, as the split says: see ``SequenceSplit``."""
        return str(self.how.get("leakage", "global"))

    @functools.cached_property
    def counts(self) -> Int64:
        """Return how often each item occurs in training, repeats included."""
        return np.bincount(self.train.items, minlength=self.n_items)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of both parts and of how they were made."""
        text = "\n".join([self.train.fingerprint, self.test.fingerprint, repr(sorted(self.how.items()))])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def no_sequences_error(rows: int, sequences: int, origin: str) -> InputError:
    """Return the error for ready-made sequences that all have a single row."""
    return InputError(
        "I351",
        f"none of {rows:,} rows in {sequences:,} sequences is in a sequence of two or more",
        where=origin,
        hint="check the column sequence_id",
    )


def _distinguish_copies(keys: Keys) -> Keys:
    """Return the hashes, all different: the second, third, ... copy of a repeated hash is replaced by another one."""
    order = np.argsort(keys, kind="stable")
    starts = np.append(True, keys[order][1:] != keys[order][:-1])[: keys.size]
    if starts.all():
        return keys
    copy = np.empty(keys.size, np.uint64)
    copy[order] = np.arange(keys.size) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return np.where(copy > 0, mix(keys + mix(copy)), keys)


def _check_rows(log: Interactions, numbers: Int32, wrong: NDArray[np.bool_], what: str, hint: str) -> None:
    """Raise I351 if ``wrong`` marks a row that contradicts the previous row of the same sequence.

    ``wrong`` has a value for each row but the first. ``numbers`` is the sequence of each row; ``what`` and ``hint`` are
    texts of the error.
    """
    found = numbers[1:][wrong & (numbers[1:] == numbers[:-1])]
    if found.size:
        first = log.user_vocabulary.decode(found[:1])[0]
        raise InputError(
            "I351",
            f"{what} in {np.unique(found).size:,} sequences, the first is {first!r}",
            where=log.origin,
            hint=hint,
        )
