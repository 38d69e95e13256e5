"""Splits of sequences into training and test; every sequence is in one part, whole.

    time                  1  2  3  4  5  6      latest_sequences(test=0.5)      ... strict=True
    Ann                   a  b  c  .  .  .      train a b c                     train a b     c is not before 3
    Bob                   .  .  d  e  .  .      test d e                        test d e
    Carol                 .  a  .  b  .  .      train a b                       a alone: removed
    Dan                   .  .  .  .  e  a      test e a                        test e a

With sequences_since(at=3), Carol's sequence and Ann's begin before 3 and are for training; the others are test.

Of n sequences ceil(n * (1 - test)) are for training if a split takes a share. The items of both parts together are the
catalogue: what occurs in test alone can be recommended, although no system has learned it.

>>> from recassay.data.synthetic import log
>>> from recassay.split.sessions import Sessions
>>> made = Sessions(gap=1e6)(log(users=50, items=40, events=600))
>>> fold = RandomSequences(test=0.2, seed=7)(made)[0]
>>> len(fold.train), len(fold.test)
(89, 22)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.identity import mix
from recassay.columnar.layout import row_groups
from recassay.columnar.order import positions_in_groups
from recassay.columnar.times import TimeKind, require_order
from recassay.data.fold import Leakage
from recassay.data.sequences import SINGLE_ROW, SequenceFold, Sequences
from recassay.data.times import TimeValues, parse_instant
from recassay.errors import InputError, UsageError
from recassay.naming.named import AT_LEAST_2, INSIDE
from recassay.naming.registry import Registry
from recassay.rng import derive_seed
from recassay.split.partitions import SLACK, Rows, needs_memory_error
from recassay.split.sessions import Sequencer, Sequencing


class SequenceSplit(Sequencing):
    """Base of splits of sequences: a frozen description of how to cut them; calling it returns the folds."""

    @property
    def leakage(self) -> Leakage:
        """Return how much of the future the training sequences may hold: ``none``, ``per user`` or ``global``.

        ``none``: all training events are earlier than all test events. ``per user``: that holds within each user only.
        ``global``: the split ignores time.
        """
        return "global"

    def __call__(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return the folds. Users and items keep the codes that they have in ``sequences``."""
        if not isinstance(sequences, Sequences):
            raise needs_memory_error(f"{self.name} sorts all sequences", "sequences.here()", str(self))
        if sequences.times is not None:
            require_order(sequences.kind, self.needs, self, sequences.origin)
        return self.folds(sequences)

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return the folds of sequences that are in memory."""
        raise NotImplementedError(f"{type(self).__name__} must define which sequences are test")

    def fold(
        self, train: Sequences, test: Sequences, removed: Mapping[str, int], number: int = 0, **info: Any
    ) -> SequenceFold:
        """Return a fold made of its two parts; raise U116 if training or test has no sequence.

        ``removed`` counts removed rows by reason, ``number`` is the number of the fold, and ``info`` is added to
        ``how``.
        """
        for part, name in ((train, "training"), (test, "test")):
            if not len(part):
                what = f"of {len(train) + len(test):,} sequences, none is left for {name}"
                raise UsageError("U116", what, where=str(self), hint="choose another share, or make more sequences")
        how = {"split": str(self), "name": self.name, **self.parameters, "leakage": self.leakage, **info}
        return SequenceFold(train, test, how, removed, number)


@dataclass(frozen=True, repr=False)
class RandomSequences(SequenceSplit):
    """A random share of the sequences for test.

    The draw of a sequence depends on the seed, the user, the items and their times, so the order of sequences does not
    matter. Leakage: global.
    """

    name: ClassVar[str] = "random_sequences"

    test: Annotated[float, INSIDE] = 0.2
    seed: int = 0

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return one fold: the sequences with the highest draws are test."""
        train = _ranks(sequences, self.seed) < n_training(len(sequences), self.test)
        return (self.fold(sequences.take(train), sequences.take(~train), {}),)


class TimedSequences(SequenceSplit):
    """Base of splits of sequences by the time at which they begin; ``strict`` removes training events after the cut."""

    times: ClassVar[TimeKind | None] = "global"

    strict: bool

    @property
    def leakage(self) -> Leakage:
        """Return "none" for a strict split, else "per user"."""
        return "none" if self.strict else "per user"

    def starts_of(self, sequences: Sequences) -> TimeValues:
        """Return the time of the first event of each sequence; raise I201 if the sequences have no times."""
        if (starts := sequences.starts) is None:
            raise InputError(
                "I201",
                "the sequences have no times, so the latest ones are unknown",
                where=sequences.origin,
                hint="give a column timestamp, or choose random_sequences(test=0.2)",
            )
        return starts

    def cut(self, sequences: Sequences, early: Rows, at: float, why: str, **info: Any) -> tuple[SequenceFold, ...]:
        """Return one fold: the sequences in the mask ``early`` are for training, the others for test.

        A strict split removes training events at the time ``at`` or later, and counts them as removed for the reason
        ``why``. ``info`` is added to the fold's ``how``.
        """
        train, test = sequences.take(early), sequences.take(~early)
        removed: Mapping[str, int] = {}
        if self.strict and len(train) and len(test):
            assert train.times is not None, "starts are times"
            train, removed = _keep_rows(train, train.times < at, why)
        return (self.fold(train, test, removed, cut=at, **info),)


@dataclass(frozen=True, repr=False)
class LatestSequences(TimedSequences):
    """The share of the sequences that begin last, for test. Needs an order of all events.

    Sequences that begin at the same time are ordered by user id; ``how["ties"]`` counts test sequences that begin at
    the time of the last training sequence. Leakage: per user, because a training sequence may end after a test sequence
    begins. ``strict=True`` removes and counts training events at or after the beginning of the first test sequence,
    and events that are then alone in their sequence; leakage: none.
    """

    name: ClassVar[str] = "latest_sequences"

    test: Annotated[float, INSIDE] = 0.2
    strict: bool = False

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return one fold: the sequences that begin last are test."""
        starts = self.starts_of(sequences)
        one_group = np.zeros(len(sequences), np.int32)
        early = positions_in_groups(one_group, starts) < n_training(len(sequences), self.test)
        if early.all() or not early.any():
            return (self.fold(sequences.take(early), sequences.take(~early), {}),)
        ties = int(np.count_nonzero(starts[~early] == starts[early].max()))
        return self.cut(sequences, early, starts[~early].min().item(), "not before the first test sequence", ties=ties)


@dataclass(frozen=True, repr=False)
class SequencesSince(TimedSequences):
    """The sequences that begin at the time ``at`` or later, for test. Needs an order of all events.

    ``at`` is in the unit of the log, or a text such as '2017-12-01' if the times are dates or numbers since 1970.
    Leakage: per user, because a training sequence may end after ``at``. ``strict=True`` removes and counts training
    events at ``at`` or later, and events that are then alone in their sequence; leakage: none.

    >>> import polars as pl
    >>> rows = [(1, "a", 1), (1, "b", 4), (2, "c", 2), (2, "d", 3), (3, "a", 3), (3, "c", 5)]
    >>> made = Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id", "timestamp"], orient="row"))
    >>> fold = SequencesSince(at=3)(made)[0]
    >>> fold.train.starts.tolist(), fold.test.starts.tolist()
    ([1, 2], [3])
    """

    name: ClassVar[str] = "sequences_since"

    at: float | str
    strict: bool = False

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return one fold: the sequences that begin at the time or later are test."""
        starts, at = self.starts_of(sequences), parse_instant(self.at, str(self), sequences.time_scale)
        return self.cut(sequences, starts < at, at, "not before the cut")


@dataclass(frozen=True, repr=False)
class SequenceFolds(SequenceSplit):
    """The sequences in k random parts whose sizes differ by at most one; each is test once. Leakage: global."""

    name: ClassVar[str] = "sequence_folds"

    k: Annotated[int, AT_LEAST_2] = 5
    seed: int = 0

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """Return k folds, one per part."""
        part = _ranks(sequences, self.seed) * self.k // max(len(sequences), 1)
        cuts = [(part == number, number) for number in range(self.k)]
        return tuple(self.fold(sequences.take(~test), sequences.take(test), {}, number) for test, number in cuts)


def n_training(n: int, test: float) -> int:
    """Return how many of n sequences are for training if the share ``test`` is for test: n (1 - test) rounded up.

    Before it is rounded up, 1e-9 is subtracted, so that a rounding error does not count.

    >>> [n_training(n, test) for n, test in ((10, 0.2), (8, 0.2), (3, 0.4), (10_551, 0.2), (400_261, 0.2))]
    [8, 7, 2, 8441, 320209]
    """
    return int(np.ceil(n * (1 - test) - SLACK))


def _ranks(sequences: Sequences, seed: int) -> NDArray[np.int64]:
    """Return the rank 0, 1, ... of each sequence in a random order, the same for every split with this seed."""
    draws = mix(sequences.identities ^ np.uint64(derive_seed(seed, "sequences") % 2**64))
    return positions_in_groups(np.zeros(len(sequences), np.int32), draws)


def _keep_rows(sequences: Sequences, kept: Rows, why: str) -> tuple[Sequences, dict[str, int]]:
    """Return the sequences with only the rows in the mask ``kept``, and counts of the removed rows by reason.

    ``why`` is the reason for which the other rows are removed. A row that is then alone in its sequence is removed,
    too.
    """
    sequence_of = row_groups(sequences.offsets)
    size = np.bincount(sequence_of[kept], minlength=len(sequences))
    stays = kept & (size > 1)[sequence_of]
    offsets = np.append(0, np.cumsum(size[size > 1]))
    assert sequences.times is not None, "rows are removed by their times"
    left = Sequences(
        offsets,
        sequences.items[stays],
        sequences.users[size > 1],
        sequences.times[stays],
        sequences.item_vocabulary,
        sequences.user_vocabulary,
        sequences.origin,
        kind=sequences.kind,
        dates=sequences.dates,
    )
    late, alone = int(np.count_nonzero(~kept)), int(np.count_nonzero(size == 1))
    return left, {why: late, SINGLE_ROW: alone}


REGISTRY: Registry[type[Sequencing]] = Registry(
    "split of sequences", "recassay.split", Sequencing, group="recassay.sequence_splits"
)
parse = REGISTRY.parse


def parse_split(text: str) -> SequenceSplit:
    """Return the split of sequences that a text describes; raise U102 for a rule that makes sequences."""
    found = parse(text)
    if not isinstance(found, SequenceSplit):
        what = f"{found} makes sequences and does not split them"
        raise UsageError("U102", what, where=text, hint="name it as `sequences`, and split by latest_sequences()")
    return found


def parse_rule(text: str) -> Sequencer:
    """Return the rule for making sequences that a text describes; raise U102 for a split of sequences."""
    if isinstance(found := parse(text), Sequencer):
        return found
    what = f"{found} splits sequences and does not make them"
    raise UsageError("U102", what, where=text, hint="sessions(gap=3600), or ready_made where a user is a sequence")
