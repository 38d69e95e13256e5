"""Sequences cut into those to learn from and those to be judged by; every sequence is in one part, whole.

    time                  1  2  3  4  5  6      latest_sequences(test=0.5)      ... strict=True
    Ann                   a  b  c  .  .  .      train a b c                     train a b     c is not before 3
    Bob                   .  .  d  e  .  .      test d e                        test d e
    Carol                 .  a  .  b  .  .      train a b                       a alone: in no part
    Dan                   .  .  .  .  e  a      test e a                        test e a

Of n sequences ceil(n * (1 - test)) are for training. The items of both parts together are the catalogue: what occurs in
test alone can be recommended, and no system has learnt it.

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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.fold import Leakage
from recassay.data.identity import mix
from recassay.data.layout import stretch_of
from recassay.data.order import places
from recassay.data.sequences import ALONE, SequenceFold, Sequences
from recassay.data.time_kind import TimeKind, require_order
from recassay.errors import InputError, UsageError
from recassay.named import Registry
from recassay.rng import derive_seed
from recassay.split.in_parts import Rows, not_here
from recassay.split.lots import SLACK
from recassay.split.sessions import Sequencing


class SequenceSplit(Sequencing):
    """Base of splits of sequences: a frozen description of how to cut them; calling it cuts."""

    @property
    def leakage(self) -> Leakage:
        """What of the future a system can see, as for :class:`~recassay.Fold`."""
        return "global"

    def __call__(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """The folds; users and items keep the codes they have in the whole."""
        if not isinstance(sequences, Sequences):
            raise not_here(f"{self.name} orders all sequences", "sequences.here()", str(self))
        if sequences.times is not None:
            require_order(sequences.kind, self.needs, self, sequences.origin)
        return self.folds(sequences)

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """The folds of sequences in memory."""
        raise NotImplementedError(f"{type(self).__name__} must say which sequences are test")

    def fold(
        self, train: Sequences, test: Sequences, removed: Mapping[str, int], number: int = 0, **info: Any
    ) -> SequenceFold:
        """A fold with both its parts, or an error."""
        for part, name in ((train, "training"), (test, "test")):
            if not len(part):
                what = f"of {len(train) + len(test):,} sequences none is left for {name}"
                raise UsageError("U116", what, where=str(self), hint="choose another share, or make more sequences")
        how = {"split": str(self), "name": self.name, **self.parameters, "leakage": self.leakage, **info}
        return SequenceFold(train, test, how, removed, number)


@dataclass(frozen=True, repr=False)
class RandomSequences(SequenceSplit):
    """A share of the sequences, by lot.

    A lot comes from the seed, the user, the items and their times, so the order of sequences does not matter.
    Leakage: global.
    """

    name: ClassVar[str] = "random_sequences"

    test: float = 0.2
    seed: int = 0

    def validate(self) -> None:
        """A share is a share."""
        self.share("test")

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """One fold."""
        train = _places(sequences, self.seed) < training(len(sequences), self.test)
        return (self.fold(sequences.take(train), sequences.take(~train), {}),)


@dataclass(frozen=True, repr=False)
class LatestSequences(SequenceSplit):
    """A share of the sequences: those that begin last. Needs an order of all events.

    Sequences that begin at the same time stand by user id; ``how["ties"]`` counts those in test that begin with the
    last of training. Leakage: per user, for the end of a training sequence may be later than the beginning of a test
    sequence. ``strict=True`` removes training events at or after the first beginning of a test sequence, and what is
    then alone in its sequence, and counts them: leakage none.
    """

    name: ClassVar[str] = "latest_sequences"

    test: float = 0.2
    strict: bool = False

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of sequences that it accepts."""
        return "global"

    @property
    def leakage(self) -> Leakage:
        """None for a strict cut."""
        return "none" if self.strict else "per user"

    def validate(self) -> None:
        """A share is a share."""
        self.share("test")

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """One fold."""
        if (starts := sequences.starts) is None:
            raise InputError(
                "I201",
                "the sequences have no times, so none of them begins later than another",
                where=sequences.origin,
                hint="give a column timestamp, or choose random_sequences(test=0.2)",
            )
        everything = np.zeros(len(sequences), np.int32)
        early = places(everything, starts) < training(len(sequences), self.test)
        train, test = sequences.take(early), sequences.take(~early)
        if not (len(train) and len(test)):
            return (self.fold(train, test, {}),)
        cut = starts[~early].min()
        removed: Mapping[str, int] = {}
        if self.strict:
            assert train.times is not None
            train, removed = _less(train, train.times < cut)
        ties = int(np.count_nonzero(starts[~early] == starts[early].max()))
        return (self.fold(train, test, removed, cut=cut.item(), ties=ties),)


@dataclass(frozen=True, repr=False)
class SequenceFolds(SequenceSplit):
    """The sequences in k parts of sizes that differ by at most one, by lot; each part is test once. Leakage: global."""

    name: ClassVar[str] = "sequence_folds"

    k: int = 5
    seed: int = 0

    def validate(self) -> None:
        """One fold alone leaves nothing to train on."""
        self.count("k", 2)

    def folds(self, sequences: Sequences) -> tuple[SequenceFold, ...]:
        """k folds."""
        part = _places(sequences, self.seed) * self.k // max(len(sequences), 1)
        cuts = [(part == number, number) for number in range(self.k)]
        return tuple(self.fold(sequences.take(~test), sequences.take(test), {}, number) for test, number in cuts)


def training(n: int, test: float) -> int:
    """How many of n sequences are for training, when a share is for test.

    >>> [training(n, test) for n, test in ((10, 0.2), (7, 0.2), (3, 0.4), (10_551, 0.2), (400_261, 0.2))]
    [8, 6, 2, 8441, 320209]
    """
    return int(np.ceil(n * (1 - test) - SLACK))


def _places(sequences: Sequences, seed: int) -> NDArray[np.int64]:
    """The place 0, 1, ... of each sequence when they are shuffled: the same for every split of a seed."""
    lots = mix(sequences.identities ^ np.uint64(derive_seed(seed, "sequences") % 2**64))
    return places(np.zeros(len(sequences), np.int32), lots)


def _less(sequences: Sequences, kept: Rows) -> tuple[Sequences, dict[str, int]]:
    """Sequences with only some of their rows, without those of one row that are left, and counts of what is gone."""
    of = stretch_of(sequences.offsets)
    size = np.bincount(of[kept], minlength=len(sequences))
    stays = kept & (size > 1)[of]
    offsets = np.append(0, np.cumsum(size[size > 1]))
    assert sequences.times is not None, "rows go for their times"
    left = Sequences(
        offsets,
        sequences.items[stays],
        sequences.users[size > 1],
        sequences.times[stays],
        sequences.item_vocabulary,
        sequences.user_vocabulary,
        sequences.origin,
        kind=sequences.kind,
    )
    late, alone = int(np.count_nonzero(~kept)), int(np.count_nonzero(size == 1))
    return left, {"not before the first test sequence": late, ALONE: alone}


REGISTRY = Registry("split of sequences", "recassay.split", Sequencing)
parse = REGISTRY.parse
