"""Splits in which time plays no part: a lot decides.

    time            1  2  3  4  5      random(test=0.4, by='user')    leave_out(n=1)
    Ann             a  b  c  d  e      test d e | train a b c         test e | train a b c d
    Bob             a  .  b  .  .      train a b                      test a | train b
    Carol           .  .  .  .  a      train a                        train a

Leakage: global. Training may hold the future of a test event, of the same user too. Nothing is removed. A lot comes
from the seed and the ids of user and item, so the order of rows does not matter, and the rows of a pair that comes more
than once draw the same lot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.split.base import Part, Split
from recassay.split.borders import Border, borders
from recassay.split.in_parts import InParts
from recassay.split.lots import Lots, events, floor, places_by_lot, row_lots, uniform, user_lots


@dataclass(frozen=True, repr=False)
class Random(Split):
    """A share of the ratings: by a coin for each rating, or by a count for each user.

    ``by="rating"``: a rating is test if its lot is below ``test``. ``by="user"``: floor(test * events) ratings of each
    user, so a user with too few gives none, and none gives all. ``validation`` is a share of all ratings too.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": ["ann"] * 5 + ["bob"] * 2, "item_id": [*"abcdeab"]}))
    >>> fold = Random(test=0.4, by="user", seed=7)(log)[0]
    >>> fold.test.frame().rows(), len(fold.train)
    ([('ann', 'd'), ('ann', 'e')], 5)
    """

    name: ClassVar[str] = "random"

    test: float
    by: Literal["rating", "user"] = "rating"
    validation: float = 0.0
    seed: int = 0

    def validate(self) -> None:
        """Shares are shares, together too."""
        self.share("test", *(["validation"] if self.validation else []))
        if self.test + self.validation >= 1:
            raise self.refuse("validation", "with test nothing is left to train on")

    def cuts(self, log: Interactions, facts: None) -> Iterator[Part]:
        """One cut."""
        lots = row_lots(log, self.seed, self.name)
        if self.by == "rating":
            lot = uniform(lots)
            test, held = lot < self.test, lot < self.test + self.validation
        else:
            size, place = events(log), places_by_lot(log, log.users, lots)
            n_test = floor(self.test * size)
            test, held = place < n_test[log.users], place < (n_test + floor(self.validation * size))[log.users]
        yield Part(test, held if self.validation else None)


@dataclass(frozen=True, repr=False)
class LeaveOut(Split):
    """``n`` events of each user at random, and perhaps more for validation; at least one stays for training.

    A user with too few events (n + validation, or fewer) keeps them all and is not asked about.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "ann", "carol"], "item_id": [1, 2, 1]}))
    >>> LeaveOut(n=1)(log)[0].test.frame().rows()
    [('ann', 2)]
    """

    name: ClassVar[str] = "leave_out"

    n: int = 1
    validation: int = 0
    seed: int = 0

    def validate(self) -> None:
        """Counts are counts."""
        self.count("n", 1)
        self.count("validation", 0)

    def cuts(self, log: Interactions, facts: None) -> Iterator[Part]:
        """One cut."""
        place = places_by_lot(log, log.users, row_lots(log, self.seed, self.name))
        enough = (events(log) > self.n + self.validation)[log.users]
        held = enough & (place < self.n + self.validation) if self.validation else None
        yield Part(enough & (place < self.n), held)


@dataclass(frozen=True, repr=False)
class KFolds(Split):
    """The ratings in k parts of sizes that differ by at most one, each of which is test once.

    ``by="rating"`` cuts the whole log, ``by="user"`` the ratings of each user, starting at a part of their own.
    ``validation`` is the share of ratings that stand behind the test part on the circle of lots, rounded down.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 5, "item_id": [*"abcde"]}))
    >>> [fold.test.frame()["item_id"].to_list() for fold in KFolds(k=2)(log)]
    [['a', 'c', 'e'], ['b', 'd']]
    """

    name: ClassVar[str] = "k_folds"

    k: int = 5
    by: Literal["rating", "user"] = "rating"
    validation: float = 0.0
    seed: int = 0

    def validate(self) -> None:
        """One fold alone leaves nothing to train on."""
        self.count("k", 2)
        if self.validation:
            self.share("validation")
            if self.validation + 1 / self.k >= 1:
                raise self.refuse("validation", "with the test part nothing is left to train on")

    def facts(self, log: InParts) -> list[Border]:
        """Where parts begin and end in the order of all lots, if it is the whole log that is cut."""
        return [] if self.by == "user" else borders(log, self._lots, self._cuts)

    def cuts(self, log: Interactions, facts: list[Border]) -> Iterator[Part]:
        """k cuts."""
        lots = self._lots(log)
        if self.by == "rating":  # the place of the last border before a row will do
            groups, size, start = np.zeros(len(log), np.int32), np.array([facts[-1].place]), np.zeros(1, np.int64)
            place = np.zeros(len(log), np.int64)
            for border in facts:
                place[~border.before(log, lots)] = border.place
        else:
            groups, size = log.users, events(log)
            start = (user_lots(log, self.seed, self.name) % np.uint64(self.k)).astype(np.int64)
            place = places_by_lot(log, groups, lots)
        part = (place * self.k // size[groups] + start[groups]) % self.k
        for number in range(self.k):
            held = None
            if self.validation:
                end = self._end((number - start) % self.k, size)
                held = (place - end[groups]) % size[groups] < floor(self.validation * size)[groups]
            yield Part(part == number, held, number=number)

    def _lots(self, log: Interactions) -> Lots:
        return row_lots(log, self.seed, self.name)

    def _end(self, part: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place behind the last of a part."""
        return -(-(part + 1) * size // self.k)

    def _cuts(self, n: int) -> list[int]:
        """Places at which a part of all rows ends, or the validation part behind it; the last is n."""
        ends = self._end(np.arange(self.k), np.array(n))
        held = (ends + floor(np.array(self.validation * n))) % max(n, 1)
        return [*np.unique(np.append(ends, held)).tolist()]
