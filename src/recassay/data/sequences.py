"""Stretches of what users had, one item after the other: listening sessions, check-ins of a day, playlists."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.identity import SECOND, Keys, id_keys, mix, value_keys
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.order import order_of
from recassay.data.time_kind import TimeKind
from recassay.data.times import Moments, times
from recassay.data.vocabulary import Vocabulary
from recassay.errors import InputError
from recassay.threads import each_block

SEQUENCES_PER_BLOCK = 1 << 14
SALTS = (1, 2)  # of the two sums of a fingerprint
ALONE = "item alone in its sequence"

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of two items or more: s is ``items[offsets[s]:offsets[s + 1]]``, oldest first, all of one user.

    ``users`` has the user of every sequence, ``times`` the time of every row, if there are times, and ``kind`` says
    what they can tell (as ``times`` of :class:`~recassay.data.interactions.Interactions`). Items are coded
    0..n-1 in ascending order of id, and I, the vocabulary, is what occurs in a sequence of the whole that a part was
    taken from. ``removed`` counts rows that are in no sequence, by reason.

    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babcc"]})
    >>> made = Sequences.from_frame(frame)
    >>> len(made), made.n_items, made.seeds.tolist(), made.references.rows()
    (2, 3, [1, 2], [[0, 1], [2]])
    """

    offsets: Int64
    items: Int32
    users: Int32
    times: Moments | None
    item_vocabulary: Vocabulary
    user_vocabulary: Vocabulary
    origin: str = field(default="", repr=False)
    removed: Mapping[str, int] = field(default_factory=dict)
    kind: TimeKind | None = None

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, origin: str = "", kind: TimeKind | None = None) -> Sequences:
        """Ready-made sequences: columns sequence_id and item_id, and perhaps user_id, timestamp and position.

        Rows of a sequence stand by position, else by timestamp, else as they come. Without users every sequence is of
        a user of its own. A sequence of one row is dropped and counted.
        """
        for column in ("sequence_id", "item_id"):
            if column not in frame.columns:
                what = f"ready-made sequences have no column {column}: there are {', '.join(frame.columns)}"
                raise InputError("I201", what, where=origin, hint=f"frame.rename({{'...': '{column}'}})")
        log = Interactions.from_frame(frame.with_columns(user_id="sequence_id"), origin=origin, times=kind)
        time = None if log.timestamps is None else times(log)
        place = frame["position"].to_numpy() if "position" in frame.columns else time
        order = order_of(log.users, () if place is None else (place,))
        size = np.bincount(log.users, minlength=log.n_users)
        order = order[size[log.users[order]] > 1]
        kept = np.flatnonzero(size > 1)
        if not kept.size:
            raise no_sequence(len(log), log.n_users, origin)
        offsets, numbers = np.append(0, np.cumsum(size[kept])), log.users[order]
        if "position" in frame.columns:
            positions = frame["position"].to_numpy()[order]
            same = positions[1:] == positions[:-1]
            _refuse(log, numbers, same, "two rows stand at one position", "number positions 0, 1, 2, ...")
        user_ids = frame["user_id" if "user_id" in frame.columns else "sequence_id"]
        user_vocabulary, users = Vocabulary.dense(user_ids.gather(order))
        _refuse(
            log, numbers, users[1:] != users[:-1], "there are several users", "give each user sequences of their own"
        )
        item_vocabulary, items = log.item_vocabulary.without_unused(log.items[order])
        users, removed = users[offsets[:-1]], {ALONE: len(log) - order.size}
        time = None if time is None else time[order]
        return cls(offsets, items, users, time, item_vocabulary, user_vocabulary, origin, removed, log.times)

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    @property
    def n_items(self) -> int:
        """Number of items of the vocabulary."""
        return self.item_vocabulary.size

    @property
    def n_users(self) -> int:
        """Number of users of the vocabulary."""
        return self.user_vocabulary.size

    @property
    def lengths(self) -> Int64:
        """Rows of each sequence."""
        return np.diff(self.offsets)

    @property
    def seeds(self) -> Int32:
        """The first item of each sequence."""
        return self.items[self.offsets[:-1]]

    @property
    def starts(self) -> Moments | None:
        """The time of the first row of each sequence."""
        return None if self.times is None else self.times[self.offsets[:-1]]

    @property
    def histories(self) -> Histories:
        """The sequences, whole."""
        return Histories(self.offsets, self.items)

    @functools.cached_property
    def references(self) -> Histories:
        """What came after the first item of each sequence."""
        return Histories(self.offsets - np.arange(self.offsets.size), np.delete(self.items, self.offsets[:-1]))

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> Sequences:
        """Some of the sequences, by number or by mask, over the users and items of the whole: codes keep their meaning.

        >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babcc"]})
        >>> part = Sequences.from_frame(frame).take(np.array([1]))
        >>> part.histories.rows(), part.n_items
        ([[2, 2]], 3)
        """
        chosen = np.flatnonzero(which) if which.dtype == np.bool_ else which
        lengths = self.lengths[chosen]
        offsets = np.append(0, np.cumsum(lengths))
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        return Sequences(
            offsets,
            self.items[rows],
            self.users[chosen],
            None if self.times is None else self.times[rows],
            self.item_vocabulary,
            self.user_vocabulary,
            self.origin,
            kind=self.kind,
        )

    def frame(self) -> pl.DataFrame:
        """The sequences as a table, numbered from 0; :meth:`from_frame` reads it."""
        numbers = stretch_of(self.offsets)
        columns: dict[str, Any] = {
            "sequence_id": numbers,
            "user_id": self.user_vocabulary.decode(self.users[numbers]),
            "item_id": self.item_vocabulary.decode(self.items),
        }
        return pl.DataFrame(columns if self.times is None else {**columns, "timestamp": self.times})

    @functools.cached_property
    def identities(self) -> Keys:
        """A number for every sequence, of its user, its items and their times in order, and not of where it stands.

        Sequences that are alike in all of that are the first, the second, ... of their kind, and differ in number.

        >>> frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 3, 3], "user_id": [7] * 6, "item_id": [*"ababba"]})
        >>> made = Sequences.from_frame(frame)
        >>> len(set(made.identities.tolist()))
        3
        >>> bool(made.take(np.array([2, 0])).identities[0] == made.identities[2])
        True
        """
        assert self.item_vocabulary.ids is not None, "ids of sequences are dense"
        assert self.user_vocabulary.ids is not None, "ids of sequences are dense"
        item_keys = mix(id_keys(self.item_vocabulary.ids) ^ SECOND)
        of_user = mix(id_keys(self.user_vocabulary.ids))[self.users]
        found = np.empty(len(self), np.uint64)

        def fill(begin: int, end: int) -> None:
            first, last = self.offsets[begin], self.offsets[end]
            starts = self.offsets[begin:end]
            place = np.arange(first, last) - np.repeat(starts, self.offsets[begin + 1 : end + 1] - starts)
            keys = mix(item_keys[self.items[first:last]] + mix(place.astype(np.uint64)))
            if self.times is not None:
                keys = mix(keys + mix(value_keys(pl.Series(self.times[first:last]))))
            found[begin:end] = mix(np.add.reduceat(keys, starts - first) ^ of_user[begin:end])

        each_block(fill, len(self), size=SEQUENCES_PER_BLOCK)
        return _told_apart(found)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the sequences as a set: the same for the same sequences in any order."""
        kinds = [self.user_vocabulary.kind, self.item_vocabulary.kind, self.times is not None]
        sums = [int(mix(self.identities ^ np.uint64(salt)).sum(dtype=np.uint64)) for salt in SALTS]
        text = f"{kinds} {len(self)} {self.items.size} {self.n_items} {sums}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class SequenceFold:
    """Sequences to learn from and sequences to be judged by, over the same users and items.

    ``how`` is the split and its parameters, and what came out of them; ``removed`` counts the rows that are in no part,
    by reason.
    """

    train: Sequences
    test: Sequences
    how: Mapping[str, Any] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    number: int = 0

    @property
    def n_items(self) -> int:
        """Number of items of the vocabulary: those of training and test together."""
        return self.train.n_items

    @functools.cached_property
    def counts(self) -> Int64:
        """How often each item occurs in training, repeats counted."""
        return np.bincount(self.train.items, minlength=self.n_items)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of both parts and of how they were made."""
        text = "\n".join([self.train.fingerprint, self.test.fingerprint, repr(sorted(self.how.items()))])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def no_sequence(rows: int, sequences: int, origin: str) -> InputError:
    """The error for ready-made sequences of a row each."""
    what = f"of {rows:,} rows of {sequences:,} sequences none is in a sequence of two or more"
    return InputError("I352", what, where=origin, hint="look at the column sequence_id")


def _told_apart(keys: Keys) -> Keys:
    """The keys, with those that are equal made different: the second, third, ... of each gets another."""
    order = np.argsort(keys, kind="stable")
    starts = np.append(True, keys[order][1:] != keys[order][:-1])[: keys.size]
    if starts.all():
        return keys
    copy = np.empty(keys.size, np.uint64)
    copy[order] = np.arange(keys.size) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return np.where(copy > 0, mix(keys + mix(copy)), keys)


def _refuse(log: Interactions, numbers: Int32, wrong: NDArray[np.bool_], what: str, hint: str) -> None:
    """Refuse rows that contradict the row before them in the same sequence; ``numbers`` has the sequence of each."""
    found = numbers[1:][wrong & (numbers[1:] == numbers[:-1])]
    if found.size:
        first = log.user_vocabulary.decode(found[:1])[0]
        what = f"{what} in {np.unique(found).size:,} sequences, the first is {first!r}"
        raise InputError("I351", what, where=log.origin, hint=hint)
