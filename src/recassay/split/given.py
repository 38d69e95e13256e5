"""Given-N: exactly N events of each user are for training, all others for test.

    time            1  2  3  4  5      given(n=2, by='time')
    Ann             a  .  b  .  c      train a b | test c
    Bob             .  a  .  b  .      train a b
    Carol           a  .  .  .  .      train a

Leakage: global, or per user with ``by="time"``. Nothing is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.columnar.order import positions_in_groups
from recassay.columnar.time_kind import TimeKind
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.split.base import RowAssignment, Split
from recassay.split.draws import draw_ranks, events_per_user, row_draws


@dataclass(frozen=True, repr=False)
class Given(Split):
    """Exactly ``n`` events of each user for training (Given-N), drawn at random or the earliest; all others for test.

    A user with n events or fewer keeps all of them in training and is not tested. ``by="time"`` needs an order within
    each user; ties are in row order. ``user_folds(given=N)`` does the same for a part of the users, and keeps all
    events of the others for training. All-but-N is ``leave_out(n)`` at random, ``last(n)`` by time and
    ``user_folds(all_but=N)`` for a part of the users.

    Reference: Breese, Heckerman and Kadie, Empirical analysis of predictive algorithms for collaborative filtering,
    UAI 1998.

    >>> import polars as pl
    >>> rows = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> Given(n=1, by="time")(log)[0].test.frame().rows()
    [('ann', 'b', 3), ('ann', 'c', 5), ('bob', 'b', 4)]
    """

    name: ClassVar[str] = "given"

    n: int = 1
    by: Literal["chance", "time"] = "chance"
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if ``n`` is below 1."""
        self.count("n", 1)

    @property
    def needs(self) -> TimeKind | None:
        """Return ``user``, an order within each user, for ``by="time"``; None otherwise."""
        return "user" if self.by == "time" else None

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield one assignment: all but ``n`` rows of each user are test."""
        if self.by == "time":
            rank = positions_in_groups(log.users, row_times(log))
        else:
            rank = draw_ranks(log, log.users, row_draws(log, self.seed, self.name))
        enough = (events_per_user(log) > self.n)[log.users]
        yield RowAssignment(enough & (rank >= self.n))
