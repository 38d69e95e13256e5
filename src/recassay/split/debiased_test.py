"""Test parts with less popularity bias: ratings of rare items, and of users with few ratings, are drawn more often.

    log             Ann a b c | Bob a b | Carol a      a has three ratings, b two, c one
    held out        Ann a c | Bob a                    at random, each rating independently
    skew            c weighs 1, a weighs 1/3           test: Ann c, most likely; what is not drawn is removed

Leakage: global. Held-out ratings that are not drawn are removed: training on them would undo the debiasing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import Keys, ordered_keys
from recassay.data.interactions import Interactions
from recassay.split.base import RowAssignment, Split
from recassay.split.boundaries import Boundary, find_boundaries
from recassay.split.draws import Draws, events_per_user, round_down, row_draws, uniform
from recassay.split.partitions import ItemSums, PartitionedLog, item_counts


@dataclass(frozen=True, repr=False)
class DebiasedTest(Split):
    """Base of splits that hold out ratings at random and draw the test part from these, each with a weight.

    Every rating is held out with the same probability. Of n held-out ratings floor(n * test / held_out) are drawn one
    after the other without replacement, each with probability proportional to its weight: those with the smallest
    -log(u) / weight for u uniform on (0, 1) (Efraimidis and Spirakis 2006).
    """

    test: float
    held_out: float
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if the test share is larger than the share that is held out."""
        self.share("test", "held_out")
        if self.test > self.held_out:
            raise self.refuse("test", "it is drawn from the held-out ratings, so it cannot be larger", "held_out=0.4")

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weight of each row; ``popularity`` is the number of ratings of each item in the whole log."""
        raise NotImplementedError(f"{type(self).__name__} must define the weight of a rating")

    def facts(self, log: PartitionedLog) -> DrawLimits:
        """Return the number of ratings of each item, and the sort key up to which held-out ratings are test."""
        popularity = log.bare().total(item_counts)
        keys, drawn = partial(self._keys, popularity), self.test / self.held_out
        (last,) = find_boundaries(log, keys, lambda n: [int(round_down(np.array(drawn * n)))])
        if not last.ties:
            return DrawLimits(popularity, last)
        (among,) = find_boundaries(log, partial(self._draws_at, popularity, last.key), lambda _: [last.ties])
        return DrawLimits(popularity, last, among)

    def cuts(self, log: Interactions, facts: DrawLimits) -> Iterator[RowAssignment]:
        """Yield one assignment: held-out rows up to the limit in ``facts`` are test, other held-out rows removed."""
        rows, draws, keys = self._held(facts.popularity, log)
        drawn = keys < np.uint64(facts.last.key)
        if facts.among is not None:
            same = np.flatnonzero(keys == np.uint64(facts.last.key))
            drawn[same[facts.among.before(log.take(rows[same]), draws[same])]] = True
        test, removed = np.zeros((2, len(log)), np.bool_)
        test[rows[drawn]], removed[rows[~drawn]] = True, True
        yield RowAssignment(test, removed={"held out and not drawn": removed})

    def _held(self, popularity: ItemSums, log: Interactions) -> tuple[NDArray[np.int64], Draws, Keys]:
        """Return (row numbers, random draws, sort keys) of the held-out rows; the rows with the smallest keys are test.

        ``popularity`` is the number of ratings of each item in the whole log. The keys are integers in the order of
        -log(u) / weight, with u the draw as a number between 0 and 1.
        """
        coins = uniform(row_draws(log, self.seed, "intervened hold out"))  # another name would change results
        rows = np.flatnonzero(coins < self.held_out)
        draws = row_draws(log.take(rows), self.seed, self.name)
        weights = self.weights(log, popularity.of(log))[rows]
        return rows, draws, ordered_keys(-np.log(uniform(draws)) / weights)

    def _keys(self, popularity: ItemSums, log: Interactions) -> Keys:
        _, _, keys = self._held(popularity, log)
        return keys

    def _draws_at(self, popularity: ItemSums, key: int, log: Interactions) -> Keys:
        """Return the random draws of the held-out rows whose sort key equals ``key``; the smallest draws are test."""
        _, draws, keys = self._held(popularity, log)
        return np.asarray(draws[keys == np.uint64(key)])


@dataclass(frozen=True, eq=False)
class DrawLimits:
    """The end of the test part: the number of ratings of each item, and the limit ``last`` of the sort keys.

    If several rows have exactly the sort key of ``last``, ``among`` is the limit of their random draws, else None.
    """

    popularity: ItemSums
    last: Boundary
    among: Boundary | None = None


@dataclass(frozen=True, repr=False)
class Skew(DebiasedTest):
    """Test ratings drawn with weight 1 / |R(i)|, with R(i) the ratings of the item in the log (Liang et al. 2016).

    >>> import polars as pl
    >>> rows = [("ann", "a"), ("ann", "b"), ("ann", "c"), ("bob", "a"), ("bob", "b"), ("carol", "a")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> fold = Skew(test=0.3, held_out=0.6, seed=3)(log)[0]
    >>> fold.test.frame().rows(), dict(fold.removed)
    ([('ann', 'c')], {'held out and not drawn': 2})
    """

    name: ClassVar[str] = "skew"

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 / popularity of the item of each row."""
        return 1 / popularity[log.items]


@dataclass(frozen=True, repr=False)
class Wtd(DebiasedTest):
    """Test ratings drawn with weight P(u) P(i) / (P'(u) P'(i)), as if missing at random (Carraro and Bridge 2022).

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
        """Return 1 / (activity of the user * popularity of the item) of each row."""
        return 1 / (events_per_user(log)[log.users] * popularity[log.items])
