"""Random splits, which ignore time, and given and user_folds, which may also reveal the earliest events of a user.

    time            1  2  3  4  5      random(test=0.4, by='user')    leave_out(n=1)             given(n=2, by='time')
    Ann             a  b  c  d  e      test d e | train a b c         test e | train a b c d     test c d e | train a b
    Bob             a  .  b  .  .      train a b                      test a | train b           train a b
    Carol           .  .  .  .  a      train a                        train a                    train a

Leakage: global; per user for given with ``by="time"``. Training may hold events later than a test event, even of the
same user. Nothing is removed. A random draw depends on the seed and the ids of user and item. So the order of rows does
not matter, and repeated rows of a user and item have the same draw.

``subsample`` removes test ratings of a fold, to see how a metric changes when less is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import positions_in_groups
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.errors import UsageError
from recassay.naming.named import AT_LEAST_0, AT_LEAST_2, BELOW_1, COUNT, INSIDE, Departure
from recassay.split.base import RowAssignment, Split
from recassay.split.partitions import (
    Boundary,
    Draws,
    PartitionedLog,
    draw_ranks,
    events_per_user,
    find_boundaries,
    needs_memory_error,
    round_down,
    row_draws,
    uniform,
    user_draws,
)

MOST_FOLDS = 1_000_000


@dataclass(frozen=True, repr=False)
class RandomSplit(Split):
    """A random share of the ratings for test: drawn rating by rating, or a fixed number of each user.

    ``by="rating"``: a rating is test with probability ``test``, independently. ``by="user"``: floor(test * events)
    ratings of each user are test, so a user with few events may have none. ``validation`` is the share of ratings for
    validation.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": ["ann"] * 5 + ["bob"] * 2, "item_id": [*"abcdeab"]}))
    >>> fold = RandomSplit(test=0.4, by="user", seed=7)(log)[0]
    >>> fold.test.frame().rows(), len(fold.train)
    ([('ann', 'd'), ('ann', 'e')], 5)
    """

    name: ClassVar[str] = "random"

    test: Annotated[float, INSIDE]
    by: Literal["rating", "user"] = "rating"
    validation: Annotated[float, BELOW_1] = 0.0
    seed: int = 0

    def validate(self) -> None:
        """Raise an error unless the shares leave rows for training."""
        if self.test + self.validation >= 1:
            raise self.refuse("validation", "together with test it leaves nothing for training")

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield one assignment: the test and validation rows of each user."""
        draws = row_draws(log, self.seed, self.name)
        if self.by == "rating":
            draw = uniform(draws)
            test, held = draw < self.test, draw < self.test + self.validation
        else:
            size, rank = events_per_user(log), draw_ranks(log, log.users, draws)
            n_test = round_down(self.test * size)
            test, held = rank < n_test[log.users], rank < (n_test + round_down(self.validation * size))[log.users]
        yield RowAssignment(test, held if self.validation else None)


@dataclass(frozen=True, repr=False)
class LeaveOut(Split):
    """``n`` random events of each user for test, and ``validation`` more for validation; the others stay in training.

    This is All-but-N for all users; ``given`` is Given-N. A user with n + validation events or fewer keeps all of them
    in training and is not tested.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "ann", "carol"], "item_id": [1, 2, 1]}))
    >>> LeaveOut(n=1)(log)[0].test.frame().rows()
    [('ann', 2)]
    """

    name: ClassVar[str] = "leave_out"

    n: Annotated[int, COUNT] = 1
    validation: Annotated[int, AT_LEAST_0] = 0
    seed: int = 0

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield one assignment: the rows with the ``n`` lowest draws of each user are test."""
        rank = draw_ranks(log, log.users, row_draws(log, self.seed, self.name))
        enough = (events_per_user(log) > self.n + self.validation)[log.users]
        held = enough & (rank < self.n + self.validation) if self.validation else None
        yield RowAssignment(enough & (rank < self.n), held)


@dataclass(frozen=True, repr=False)
class KFolds(Split):
    """The ratings in k random parts whose sizes differ by at most one; each part is test once.

    ``by="rating"`` divides the whole log; ``by="user"`` divides the ratings of each user, starting at a random part.
    ``validation`` is the share of ratings, rounded down, that follow the test part in the circular order of draws.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 5, "item_id": [*"abcde"]}))
    >>> [fold.test.frame()["item_id"].to_list() for fold in KFolds(k=2)(log)]
    [['a', 'c', 'e'], ['b', 'd']]
    """

    name: ClassVar[str] = "k_folds"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The paper tosses a coin for every rating, with a chance of 0.8 to be in training, and calls five of "
            "these a cross-validation; k_folds tests every rating once, so that folds have equal sizes and do not "
            "overlap.",
        ),
    )

    k: Annotated[int, AT_LEAST_2] = 5
    by: Literal["rating", "user"] = "rating"
    validation: Annotated[float, BELOW_1] = 0.0
    seed: int = 0

    def validate(self) -> None:
        """Raise an error unless some ratings are left for training."""
        if self.k > MOST_FOLDS:
            raise self.refuse("k", f"there are at most {MOST_FOLDS:,} folds")
        if self.validation and self.validation + 1 / self.k >= 1:
            raise self.refuse("validation", "together with the test part it leaves nothing for training")

    def facts(self, log: PartitionedLog) -> list[Boundary]:
        """Return the boundaries of parts in the order of all random draws; [] for ``by="user"``, which needs none."""
        return [] if self.by == "user" else find_boundaries(log, self._draws, self._ranks)

    def cuts(self, log: Interactions, facts: list[Boundary]) -> Iterator[RowAssignment]:
        """Yield one assignment per part: the part is the test part, the others are for training.

        ``facts`` has the boundaries between the parts, in the order of the random draws, as :meth:`facts` found them.
        """
        draws = self._draws(log)
        if self.by == "rating":  # the rank of the last boundary before a row is enough
            groups, size, start = np.zeros(len(log), np.int32), np.array([facts[-1].rank]), np.zeros(1, np.int64)
            rank = np.zeros(len(log), np.int64)
            for boundary in facts:
                rank[~boundary.before(log, draws)] = boundary.rank
        else:
            groups, size = log.users, events_per_user(log)
            start = (user_draws(log, self.seed, self.name) % np.uint64(self.k)).astype(np.int64)
            rank = draw_ranks(log, groups, draws)
        part = (rank * self.k // size[groups] + start[groups]) % self.k
        for number in range(self.k):
            held = None
            if self.validation:
                end = self._end((number - start) % self.k, size)
                held = (rank - end[groups]) % size[groups] < round_down(self.validation * size)[groups]
            yield RowAssignment(part == number, held, number=number)

    def _draws(self, log: Interactions) -> Draws:
        return row_draws(log, self.seed, self.name)

    def _end(self, part: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rank at which each part ends (excluded), if k parts of almost equal size divide ``size`` ranks.

        ``part`` are the numbers of the parts.
        """
        return -(-(part + 1) * size // self.k)

    def _ranks(self, n: int) -> list[int]:
        """Return, ascending, all ranks among n rows at which a test part or a validation part ends, and n itself."""
        ends = self._end(np.arange(self.k), np.array(n))
        held = (ends + round_down(np.array(self.validation * n))) % max(n, 1)
        return [*np.unique(np.append(ends, held)).tolist()]


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

    n: Annotated[int, COUNT] = 1
    by: Literal["chance", "time"] = "chance"
    seed: int = 0

    def cuts(self, log: Interactions, facts: None) -> Iterator[RowAssignment]:
        """Yield one assignment: all but ``n`` rows of each user are test."""
        rank = _user_ranks(self, log)
        enough = (events_per_user(log) > self.n)[log.users]
        yield RowAssignment(enough & (rank >= self.n))


def _user_ranks(split: Given | UserFolds, log: Interactions) -> NDArray[np.int64]:
    """Return the rank 0, 1, ... of each row among the rows of its user: by time, or by its random draw."""
    if split.by == "time":
        return positions_in_groups(log.users, row_times(log))
    return draw_ranks(log, log.users, row_draws(log, split.seed, split.name))


@dataclass(frozen=True, repr=False)
class UserFolds(Split):
    """Folds of the users: k groups whose sizes differ by at most one, each of which is the test group once.

    A split by user asks for strong generalisation: can a system serve users it has not learned from (Marlin 2004)? Of
    the test users of a fold, training holds only the revealed events. Leakage: global.

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

    k: Annotated[int, AT_LEAST_2] = 5
    reveal: Annotated[float, INSIDE] = 0.8
    by: Literal["chance", "time"] = "chance"
    seed: int = 0
    given: Annotated[int | None, COUNT] = None
    all_but: Annotated[int | None, COUNT] = None

    def validate(self) -> None:
        """Raise an error if ``given`` and ``all_but`` are both there."""
        if self.given is not None and self.all_but is not None:
            raise self.refuse("given", "Given-N and All-but-N exclude each other", "give one of them")

    def user_order(self, log: Interactions) -> Draws:
        """Return a random number for each user; users in ascending order of it are dealt to the k folds in turn."""
        return user_draws(log, self.seed, self.name)

    def cuts(self, log: Interactions, facts: NDArray[np.int64]) -> Iterator[RowAssignment]:
        """Yield one assignment per fold; ``facts`` is the rank of each user in the random order of all users."""
        fold_of = facts % self.k
        rank = _user_ranks(self, log)
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


def subsample(fold: Fold, fraction: float, *, seed: int = 0) -> Fold:
    """Return the fold with floor(fraction * n) of its n test rows removed, chosen by a seeded permutation.

    Training stays the same, and so do fitted systems. A fraction of 0 removes nothing; a fraction of 1 is an error.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> from recassay import split
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 8, "item_id": [*range(8)]}))
    >>> fold = split.random(test=0.5, by="user")(log)[0]
    >>> len(fold.test), len(subsample(fold, 0.5).test), dict(subsample(fold, 0.5).removed)
    (4, 2, {'thinned': 2})
    """
    if not 0 <= fraction < 1:
        what = f"fraction must be at least 0 and below 1, got {fraction}"
        raise UsageError("U102", what, where="subsample", hint="0.5 removes half of the test rows")
    if not isinstance(fold, Fold):
        raise needs_memory_error("subsample permutes all test rows", "fold.here()", "subsample")
    n = len(fold.test)
    n_removed = int(round_down(np.array(fraction * n)))
    draws = row_draws(fold.test, seed, "thin")  # the name is part of the seed: another one would change results
    kept = draw_ranks(fold.test, np.zeros(n, np.int32), draws) >= n_removed
    return replace(
        fold,
        test=fold.test.take(kept),
        removed={**fold.removed, "thinned": fold.removed.get("thinned", 0) + n_removed},
        how={**fold.how, "thinned": fraction, "thinning_seed": seed},
    )
