"""Splits by user, for strong generalisation: can a system serve users it has not learned from (Marlin 2004)?

    time            1  2  3  4  5      user_folds(k=3, reveal=0.5, by='time'), the fold that tests Ann
    Ann             a  .  b  .  c      profile a | test b c
    Bob             .  a  .  b  .      train a b
    Carol           a  .  .  .  .      train a            in the fold that tests Carol her only event is removed

Leakage: global. Of the test users of a fold, training holds only the revealed events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import positions_in_groups
from recassay.columnar.time_kind import TimeKind
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.split.base import RowAssignment, Split
from recassay.split.partitions import Draws, draw_ranks, events_per_user, round_down, row_draws, user_draws


@dataclass(frozen=True, repr=False)
class UserFolds(Split):
    """Folds of the users: k groups whose sizes differ by at most one, each of which is the test group once.

    Of the n events of a test user max(1, floor(reveal * n)) are revealed to the system, as the user's profile: drawn at
    random, or the earliest (``by="time"``, ties in row order). The others are test. The profile is in ``fold.train``,
    so that every model can answer for the user. ``fold.profile`` marks it, for models that can leave it out when they
    learn. If a test user has one event, it is removed. ``by="time"`` needs an order within each user.

    ``given`` = N reveals exactly N events instead (Given-N), ``all_but`` = N all but N (All-but-N; Breese, Heckerman
    and Kadie 1998). The events of test users with too few for that are removed.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> for fold in UserFolds(k=2, reveal=0.5, by="time")(log):
    ...     print(fold.train.take(fold.profile).frame().rows(), fold.test.frame().rows(), dict(fold.removed))
    [('bob', 'a', 2)] [('bob', 'b', 4)] {'only event of a user': 1}
    [('ann', 'a', 1)] [('ann', 'b', 3), ('ann', 'c', 5)] {'only event of a user': 0}
    """

    name: ClassVar[str] = "user_folds"
    orders_users: ClassVar[bool] = True

    k: int = 5
    reveal: float = 0.8
    by: Literal["chance", "time"] = "chance"
    seed: int = 0
    given: int | None = None
    all_but: int | None = None

    def validate(self) -> None:
        """Raise an error if ``k`` is below 2, ``reveal`` is not between 0 and 1, or a number of events is below 1."""
        self.count("k", 2)
        self.share("reveal")
        for name in ("given", "all_but"):
            if getattr(self, name) is not None:
                self.count(name, 1)
        if self.given is not None and self.all_but is not None:
            raise self.refuse("given", "Given-N and All-but-N exclude each other", "give one of them")

    @property
    def needs(self) -> TimeKind | None:
        """Return ``user``, an order within each user, for ``by="time"``; None otherwise."""
        return "user" if self.by == "time" else None

    def user_order(self, log: Interactions) -> Draws:
        """Return a random number for each user; users in ascending order of it are dealt to the k folds in turn."""
        return user_draws(log, self.seed, self.name)

    def cuts(self, log: Interactions, facts: NDArray[np.int64]) -> Iterator[RowAssignment]:
        """Yield one assignment per fold; ``facts`` is the rank of each user in the random order of all users."""
        fold_of = facts % self.k
        if self.by == "time":
            rank = positions_in_groups(log.users, row_times(log))
        else:
            rank = draw_ranks(log, log.users, row_draws(log, self.seed, self.name))
        size = events_per_user(log)
        shown = self._revealed(size)
        few = ((shown < 1) | (shown >= size))[log.users]
        revealed = (rank < shown[log.users]) & ~few
        reason = "only event of a user" if self.given is None and self.all_but is None else "too few events of a user"
        for number in range(self.k):
            tested = (fold_of == number)[log.users]
            removed = {reason: tested & few}
            yield RowAssignment(tested & ~revealed, removed=removed, profile=tested & revealed, number=number)

    def _revealed(self, size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many events are revealed of users with ``size`` events each."""
        if self.given is not None:
            return np.full(size.size, self.given)
        if self.all_but is not None:
            return size - self.all_but
        return np.maximum(1, round_down(self.reveal * size))
