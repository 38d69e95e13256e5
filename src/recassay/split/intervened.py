"""Test parts drawn so that popularity counts for less: rare items, and quiet users, are drawn more often.

    log             Ann a b c | Bob a b | Carol a      a has three ratings, b two, c one
    held out        Ann a c | Bob a                    by a coin for each rating
    skew            c weighs 1, a weighs 1/3           test: Ann c, most likely; what is not drawn is removed

Leakage: global. Held-out ratings that are not drawn are in no part: training on them would undo the drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.order import Keys, ordinals
from recassay.portable.elementary import log as log_of
from recassay.split.base import Part, Split
from recassay.split.borders import Border, borders
from recassay.split.in_parts import ByItem, InParts, item_counts
from recassay.split.lots import Lots, events, floor, row_lots, uniform


@dataclass(frozen=True, repr=False)
class Intervened(Split):
    """Base of splits that hold out a share of ratings by a coin for each, and draw the test part from it by weight.

    Of n held-out ratings floor(n * test / held_out) are drawn one after the other without replacement, each with
    chances in proportion to its weight: those with the smallest -log(lot) / weight (Efraimidis and Spirakis 2006).
    """

    test: float
    held_out: float
    seed: int = 0

    def validate(self) -> None:
        """The test part is taken from what is held out."""
        self.share("test", "held_out")
        if self.test > self.held_out:
            raise self.refuse("test", "it is drawn from what is held out, and cannot be more", "held_out=0.4")

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weight of each row; ``popularity`` has the ratings of each item in the whole log."""
        raise NotImplementedError(f"{type(self).__name__} must say what a rating weighs")

    def facts(self, log: InParts) -> Drawing:
        """How popular items are, and where the drawing ends."""
        popularity = log.bare().total(item_counts)
        arrivals, drawn = partial(self._arrivals, popularity), self.test / self.held_out
        (last,) = borders(log, arrivals, lambda n: [int(floor(np.array(drawn * n)))])
        if not last.ties:
            return Drawing(popularity, last)
        (among,) = borders(log, partial(self._lots_at, popularity, last.key), lambda _: [last.ties])
        return Drawing(popularity, last, among)

    def cuts(self, log: Interactions, facts: Drawing) -> Iterator[Part]:
        """One cut."""
        rows, lots, arrivals = self._held(facts.popularity, log)
        drawn = arrivals < np.uint64(facts.last.key)
        if facts.among is not None:
            same = np.flatnonzero(arrivals == np.uint64(facts.last.key))
            drawn[same[facts.among.before(log.take(rows[same]), lots[same])]] = True
        test, removed = np.zeros((2, len(log)), np.bool_)
        test[rows[drawn]], removed[rows[~drawn]] = True, True
        yield Part(test, removed={"held out and not drawn": removed})

    def _held(self, popularity: ByItem, log: Interactions) -> tuple[NDArray[np.int64], Lots, Keys]:
        """The rows that are held out, their lots, and when each is drawn."""
        rows = np.flatnonzero(uniform(row_lots(log, self.seed, "intervened hold out")) < self.held_out)
        lots = row_lots(log.take(rows), self.seed, self.name)
        weights = self.weights(log, popularity.of(log))[rows]
        return rows, lots, ordinals(-log_of(uniform(lots)) / weights)

    def _arrivals(self, popularity: ByItem, log: Interactions) -> Keys:
        _, _, arrivals = self._held(popularity, log)
        return arrivals

    def _lots_at(self, popularity: ByItem, key: int, log: Interactions) -> Keys:
        """Lots of the rows that are drawn at the same time, by which they are told apart."""
        _, lots, arrivals = self._held(popularity, log)
        return np.asarray(lots[arrivals == np.uint64(key)])


@dataclass(frozen=True, eq=False)
class Drawing:
    """How popular items are, when the last is drawn, and, of rows that are drawn just then, which lot is the last."""

    popularity: ByItem
    last: Border
    among: Border | None = None


@dataclass(frozen=True, repr=False)
class Skew(Intervened):
    """Test ratings drawn with weight 1 / |R(i)|, the ratings of the item in the whole log (Liang et al. 2016).

    >>> import polars as pl
    >>> rows = [("ann", "a"), ("ann", "b"), ("ann", "c"), ("bob", "a"), ("bob", "b"), ("carol", "a")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> fold = Skew(test=0.3, held_out=0.6, seed=3)(log)[0]
    >>> fold.test.frame().rows(), dict(fold.removed)
    ([('ann', 'c')], {'held out and not drawn': 2})
    """

    name: ClassVar[str] = "skew"

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """One over the popularity of the item."""
        return 1 / popularity[log.items]


@dataclass(frozen=True, repr=False)
class Wtd(Intervened):
    """Test ratings drawn with weight P(u) P(i) / (P'(u) P'(i)): as if missing at random (Carraro and Bridge 2022).

    P' are the shares of ratings that the user and the item have in the whole log. P are those of ratings missing at
    random, for which the uniform distribution is assumed (the variant WTD_H), so the weight is 1 / (|R(u)| |R(i)|) up
    to a constant.

    >>> import polars as pl
    >>> rows = [("ann", "a"), ("ann", "b"), ("ann", "c"), ("bob", "a"), ("bob", "b"), ("carol", "a")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> Wtd(test=0.3, held_out=0.6).weights(log, log.item_events).round(2).tolist()
    [0.11, 0.17, 0.33, 0.17, 0.25, 0.33]
    """

    name: ClassVar[str] = "wtd"

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """One over the activity of the user times the popularity of the item."""
        return 1 / (events(log)[log.users] * popularity[log.items])
