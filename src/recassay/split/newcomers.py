"""Strong generalisation: can a system serve users it has not learned from (Marlin 2004)?

    time            1  2  3  4  5      user_folds(k=3, reveal=0.5, by='time'), the fold that asks Ann
    Ann             a  .  b  .  c      profile a | test b c
    Bob             .  a  .  b  .      train a b
    Carol           a  .  .  .  .      train a            in the fold that asks Carol her one event is removed

Leakage: global. The users of a fold are new to it but for the revealed part of their events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.order import places
from recassay.data.time_kind import TimeKind
from recassay.data.times import times
from recassay.split.base import Part, Split
from recassay.split.lots import Lots, events, floor, places_by_lot, row_lots, user_lots


@dataclass(frozen=True, repr=False)
class UserFolds(Split):
    """The users in k parts of sizes that differ by at most one; each part is asked about once.

    Of the n events of an asked user max(1, floor(reveal * n)) are the profile, by lot or the earliest (``by="time"``,
    ties in row order), and the others are test. The profile is in ``fold.train``, so that every model knows whom it
    answers, and ``fold.profile`` marks it, for models that can leave it out of their learning. An asked user of one
    event has nothing to be asked about: the event is removed. ``by="time"`` needs an order within each user.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> for fold in UserFolds(k=2, reveal=0.5, by="time")(log):
    ...     print(fold.train.take(fold.profile).frame().rows(), fold.test.frame().rows(), dict(fold.removed))
    [('bob', 'a', 2)] [('bob', 'b', 4)] {'only event of a user': 1}
    [('ann', 'a', 1)] [('ann', 'b', 3), ('ann', 'c', 5)] {'only event of a user': 0}
    """

    name: ClassVar[str] = "user_folds"
    queues: ClassVar[bool] = True

    k: int = 5
    reveal: float = 0.8
    by: Literal["chance", "time"] = "chance"
    seed: int = 0

    def validate(self) -> None:
        """Folds and a share."""
        self.count("k", 2)
        self.share("reveal")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts."""
        return "user" if self.by == "time" else None

    def queue(self, log: Interactions) -> Lots:
        """Users are dealt out to folds in the order of their lots."""
        return user_lots(log, self.seed, self.name)

    def cuts(self, log: Interactions, facts: NDArray[np.int64]) -> Iterator[Part]:
        """k cuts; told is the place of each user among all."""
        fold_of = facts % self.k
        if self.by == "time":
            place = places(log.users, times(log))
        else:
            place = places_by_lot(log, log.users, row_lots(log, self.seed, self.name))
        size = events(log)
        revealed = (place < np.maximum(1, floor(self.reveal * size))[log.users]) & (size > 1)[log.users]
        alone = (size == 1)[log.users]
        for number in range(self.k):
            asked = (fold_of == number)[log.users]
            removed = {"only event of a user": asked & alone}
            yield Part(asked & ~revealed, removed=removed, profile=asked & revealed, number=number)
