"""What all splits share: lots drawn from ids, places within a group, and the one spot where rows become folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.fold import Fold, Leakage
from recassay.data.identity import id_keys, mix, pair_keys, value_keys
from recassay.data.interactions import Interactions
from recassay.data.order import places
from recassay.data.vocabulary import Vocabulary
from recassay.errors import UsageError
from recassay.named import Named
from recassay.rng import derive_seed

Rows = NDArray[np.bool_]
Lots = NDArray[np.uint64]
SLACK = 1e-9  # 0.2 * 5 is one event, whatever the last bit says


@dataclass(frozen=True, eq=False)
class Part:
    """Which rows of a log are test, validation, or in no part and why; all others are for training.

    A row that is named more than once is removed for the first reason, else test, else validation. ``profile`` marks
    training rows that are only known of asked users; ``info`` says what came out.
    """

    test: Rows
    validation: Rows | None = None
    removed: Mapping[str, Rows] = field(default_factory=dict)
    profile: Rows | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0


class Cut(Named):
    """Base of whatever divides: a frozen description whose parameters are shares and counts."""

    def share(self, *parameters: str) -> None:
        """Refuse a parameter that is not strictly between 0 and 1."""
        for parameter in parameters:
            if not 0 < getattr(self, parameter) < 1:
                raise self.refuse(parameter, "it is no share of a log", "a number between 0 and 1, such as 0.2")

    def count(self, parameter: str, least: int) -> None:
        """Refuse a parameter below the least that makes sense."""
        if getattr(self, parameter) < least:
            raise self.refuse(parameter, f"it must be at least {least}", f"{parameter}={least}")


class Split(Cut):
    """Base of splits: a frozen description of how to cut a log; calling it cuts."""

    leakage: ClassVar[Leakage] = "global"

    def parts(self, log: Interactions) -> Iterator[Part]:
        """The cuts, each as masks of rows."""
        raise NotImplementedError(f"{type(self).__name__} must say which rows are test")

    def __call__(self, log: Interactions) -> tuple[Fold, ...]:
        """The folds of a log; train and test keep the users and items of the whole log."""
        return tuple(self._fold(log, part) for part in self.parts(log))

    def _fold(self, log: Interactions, part: Part) -> Fold:
        free = np.ones(len(log), np.bool_)
        removed = {}
        for reason, rows in part.removed.items():
            removed[reason] = int(np.count_nonzero(rows & free))
            free &= ~rows
        test = part.test & free
        held = None if part.validation is None else part.validation & free & ~test
        train = free & ~test if held is None else free & ~test & ~held
        for name, kept in (("training", train), ("test", test), ("validation", held)):
            if kept is not None and not kept.any():
                raise nothing_left(self, log, name)
        return Fold(
            log.take(train),
            log.take(test),
            self.leakage,
            {"split": str(self), "name": self.name, **self.parameters, **part.info},
            None if held is None else log.take(held),
            removed,
            part.number,
            None if part.profile is None else part.profile[train],
        )


def nothing_left(split: Split, log: Interactions, part: str) -> UsageError:
    """The error for a cut with an empty part."""
    return UsageError(
        "U116",
        f"of {len(log):,} rows of {log.n_users:,} users none is left for {part}",
        where=str(split),
        hint="choose other shares or instants, or look at the log: recassay stats LOG",
    )


def keys_of(vocabulary: Vocabulary) -> Lots:
    """A number for every id of a log."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return id_keys(vocabulary.ids)


def user_lots(log: Interactions, seed: int, name: str) -> Lots:
    """A random number for each user, from (seed, name, user id)."""
    return mix(mix(keys_of(log.user_vocabulary)) ^ np.uint64(derive_seed(seed, name, "user") % 2**64))


def row_lots(log: Interactions, seed: int, name: str) -> Lots:
    """A random number for each row, from (seed, name, user id, item id): a pair that comes twice draws once."""
    users, items = keys_of(log.user_vocabulary), keys_of(log.item_vocabulary)
    return pair_keys(log.users, log.items, users, items, derive_seed(seed, name, "pair"))


def uniform(lots: Lots) -> NDArray[np.float64]:
    """Lots as numbers in ]0, 1[.

    >>> uniform(np.array([0, 2**64 - 1], np.uint64)).tolist() == [2.0**-53, 1 - 2.0**-53]
    True
    """
    return ((lots >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def places_by_lot(log: Interactions, groups: NDArray[np.int32], lots: NDArray[Any]) -> NDArray[np.int64]:
    """The place 0, 1, ... of each row in its group by lot; rows of the same lot by time and rating."""
    keys: list[NDArray[Any]] = [lots]
    if log.timestamps is not None:
        keys.insert(0, value_keys(log.timestamps))
    if log.ratings is not None:
        keys.insert(0, log.ratings)
    return places(groups, *keys)


def events(log: Interactions) -> NDArray[np.int64]:
    """Rows of each user."""
    return np.bincount(log.users, minlength=log.n_users)


def floor(values: NDArray[Any]) -> NDArray[np.int64]:
    """Rounded down, with room for the last bit."""
    whole: NDArray[np.int64] = np.floor(values + SLACK).astype(np.int64)
    return whole
