"""Test parts with less popularity bias: uniform test item profiles, and draws that prefer rare items or quiet users.

Reference: Bellogín, Castells, Cantador, Statistical biases in information retrieval metrics for recommender systems,
Information Retrieval Journal 2017.

    ratings per item, most popular first    12  10   8   6   5   4   3   2     share 0.2 of 50 is 10, epsilon 0.5
    g = floor(half of them)                  6   5   4   3   2   2   1   1
    k * g                                    6  10  12  12  10  12   7   8     k = 6 is the last to reach 10

    so the six most popular items are candidates, with two test ratings each

    Ann             a  b  c            test: one rating of a and one of b, those with the lowest random draws;
    Bob             a  b               c has one rating, so it is not a candidate; its rating stays in training
    Carol           a  b

Leakage: global. Training ratings of a user are not ranked again, and popular items are among them more often. So some
effect of popularity remains in such a test; it is small where ratings are sparse, and not small where they are dense.

With ``skew`` and ``wtd``, ratings of rare items, or of rare items and quiet users, are drawn more often:

    log             Ann a b c | Bob a b | Carol a      a has three ratings, b two, c one
    held out        Ann a c | Bob a                    at random, each rating independently
    skew            c weighs 1, a weighs 1/3           test: Ann c, most likely; what is not drawn is removed

Held-out ratings that are not drawn are removed: training on them would undo the debiasing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import Keys, ordered_keys
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.naming.named import BELOW_1, INSIDE
from recassay.split.base import RowAssignment, Split
from recassay.split.partitions import (
    SLACK,
    Boundary,
    ItemSums,
    PartitionedLog,
    draw_ranks,
    events_per_user,
    find_boundaries,
    item_counts,
    round_down,
    row_draws,
    uniform,
)


@dataclass(frozen=True, repr=False)
class UniformItems(Split):
    """The same number of test ratings for every candidate item, so that popular items are not hit more often.

    Items in order of their ratings c_1 >= c_2 >= ... (equal counts by id); g_k = floor((1 - epsilon) c_k). The last k
    with g_k >= 1 and k g_k >= test * ratings is the number of candidates, and g_k the number of test ratings of each,
    drawn at random. If there is no such k, the error names the largest feasible share. All other ratings are for
    training. ``compat="jsocialnetworks"`` removes the ratings of all other items; it also compares (1 - epsilon) c_k k,
    not rounded, and strictly, for all items but the last. Rank only the items of the test part when you evaluate
    (designs of the family TI).

    ``flatten="train"`` gives each candidate the same number of *training* ratings, the rest is test.
    ``balance_on="positive"`` counts and draws only ratings of ``positive_from`` or more; others stay in training.
    ``how`` holds ``candidates``, ``per_item``, the candidates' share of the items, and their share of the ratings.

    >>> import polars as pl
    >>> counts = [12, 10, 8, 6, 5, 4, 3, 2]
    >>> rows = [(user, item) for item, count in enumerate(counts) for user in range(count)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"))
    >>> fold = UniformItems(test=0.2)(log)[0]
    >>> np.bincount(fold.test.items).tolist(), fold.how["candidates"], fold.how["per_item"]
    ([2, 2, 2, 2, 2, 2], 6, 2)
    """

    name: ClassVar[str] = "uniform_items"

    test: Annotated[float, INSIDE]
    epsilon: Annotated[float, BELOW_1] = 0.5
    balance_on: Literal["all", "positive"] = "all"
    positive_from: float | None = None
    flatten: Literal["test", "train"] = "test"
    compat: Literal["jsocialnetworks"] | None = None
    seed: int = 0

    def validate(self) -> None:
        """Raise an error unless ``positive_from`` is given exactly where it is needed."""
        if (self.balance_on == "positive") != (self.positive_from is not None):
            raise self.refuse("positive_from", "it goes with balance_on='positive'", "positive_from=4")

    def facts(self, log: PartitionedLog) -> tuple[ItemSums, Mapping[str, Any]]:
        """Return the limits of test ratings of each item (see :meth:`_limits`), and what ``fold.how`` records."""
        counts = log.total(self._counts)
        counted, items = counts.values[:, 1], counts.values.shape[0]
        order = np.lexsort((np.arange(items), -counted))
        candidates, each = self._candidates(counted[order])
        candidate = counts.only(np.isin(np.arange(items), order[:candidates]))
        info = {
            "candidates": candidates,
            "per_item": each,
            "share_of_items": candidates / items,
            "share_of_ratings": float(candidate.values[:, 1].sum() / counted.sum()),
        }
        return log.total(partial(self._limits, candidate, each), "item"), info

    def cuts(self, log: Interactions, facts: tuple[ItemSums, Mapping[str, Any]]) -> Iterator[RowAssignment]:
        """Yield one assignment: the ratings of candidate items up to the limits in ``facts`` are test."""
        limits, info = facts
        limit, ties = limits.of(log).T
        candidate = (ties > 0)[log.items]
        open_to_draw = log.liked(self.positive_from) & candidate
        draws = row_draws(log, self.seed, self.name)
        chosen = open_to_draw & (draws < limit[log.items])
        last = np.flatnonzero(open_to_draw & (draws == limit[log.items]))
        rank = draw_ranks(log.take(last), log.items[last], draws[last])
        chosen[last] = rank < ties[log.items[last]].astype(np.int64)
        test = chosen if self.flatten == "test" else open_to_draw & ~chosen
        dropped = ~candidate if self.compat else np.zeros(len(log), np.bool_)
        trained = np.bincount(log.users[~test & ~dropped], minlength=log.n_users)
        removed = {"no candidate": dropped} if self.compat else {}
        counts = {"users_without_training": int(np.count_nonzero(trained == 0))}
        yield RowAssignment(test, removed=removed, info=info, counts=counts)

    def _counts(self, log: Interactions) -> ItemSums:
        """Return two counts per item of a log: all of its ratings, and those of ``positive_from`` or more."""
        counted = np.bincount(log.items[log.liked(self.positive_from)], minlength=log.n_items)
        return ItemSums(log.item_vocabulary, np.stack([log.item_events, counted], axis=1))

    def _limits(self, candidate: ItemSums, each: int, log: Interactions) -> ItemSums:
        """Return two numbers per item: the draw of its last test rating, and how many test ratings have that draw.

        Both are 0 for items that are no candidates. ``candidate`` holds the candidate items, ``each`` is the number of
        test ratings of each, and ``log`` has all rows of some items.
        """
        pool = log.take(log.liked(self.positive_from) & (candidate.of(log)[:, 1] > 0)[log.items])
        draws = row_draws(pool, self.seed, self.name)
        rank = draw_ranks(pool, pool.items, draws)
        found = np.zeros((log.n_items, 2), np.uint64)
        last = rank == each - 1
        found[pool.items[last], 0] = draws[last]
        drawn = pool.items[(rank < each) & (draws == found[pool.items, 0])]
        found[:, 1] = np.bincount(drawn, minlength=log.n_items)
        return ItemSums(log.item_vocabulary, found)

    def _candidates(self, counts: NDArray[np.int64]) -> tuple[int, int]:
        """Return how many of the most popular items are candidates, and the number of test ratings of each.

        ``counts`` are the ratings of all items in descending order. Raise U116 if no number of candidates suffices.
        """
        wanted = self.test if self.flatten == "test" else 1 - self.test
        each, ranks, total = round_down((1 - self.epsilon) * counts), np.arange(1, counts.size + 1), int(counts.sum())
        if self.compat is None:
            reached: NDArray[np.floating] = (ranks * each).astype(np.float64)
            enough = (each >= 1) & (reached >= wanted * total - SLACK)
        else:
            reached = (1 - self.epsilon) * counts * ranks
            enough = (each >= 1) & (ranks < counts.size) & (reached > wanted * total + SLACK)
        found = np.flatnonzero(enough)
        if found.size:
            return int(found[-1]) + 1, int(each[found[-1]])
        largest = float(reached[each >= 1].max(initial=0)) / max(total, 1)
        most = (
            np.floor(largest * 1e6 + (SLACK if self.compat is None else -1)) / 1e6
        )  # a strict bound must not be reached
        limit = f"test={most:.6g} is the most" if self.flatten == "test" else f"test={1 - most:.6g} is the least"
        raise UsageError(
            "U116",
            f"the largest uniform test part of {counts.size:,} items and {total:,} ratings has a share of {most:.6g}, "
            f"got {wanted:g}",
            where=str(self),
            hint=f"{limit} with epsilon={self.epsilon:g}; a smaller epsilon allows more",
        )


@dataclass(frozen=True, repr=False)
class DebiasedTest(Split):
    """Base of splits that hold out ratings at random and draw the test part from these, each with a weight.

    Every rating is held out with the same probability. Of n held-out ratings floor(n * test / held_out) are drawn one
    after the other without replacement, each with probability proportional to its weight: those with the smallest
    -log(u) / weight for u uniform on (0, 1) (Efraimidis and Spirakis 2006).
    """

    test: Annotated[float, INSIDE]
    held_out: Annotated[float, INSIDE]
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if the test share is larger than the share that is held out."""
        if self.test > self.held_out:
            raise self.refuse("test", "it is drawn from the held-out ratings, so it cannot be larger", "held_out=0.4")

    def weights(self, log: Interactions, popularity: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weight of each row; ``popularity`` is the number of ratings of each item in the whole log."""
        raise NotImplementedError(f"{type(self).__name__} must define the weight of a rating")

    def facts(self, log: PartitionedLog) -> tuple[ItemSums, Boundary]:
        """Return the number of ratings of each item, and the boundary up to which held-out ratings are test."""
        popularity, drawn = log.bare().total(item_counts), self.test / self.held_out
        keys = partial(self._keys, popularity)
        (last,) = find_boundaries(log, keys, lambda n: [int(round_down(np.array(drawn * n)))])
        return popularity, last

    def cuts(self, log: Interactions, facts: tuple[ItemSums, Boundary]) -> Iterator[RowAssignment]:
        """Yield one assignment: held-out rows up to the boundary in ``facts`` are test, other held-out rows removed."""
        popularity, last = facts
        rows, keys = self._held(popularity, log)
        drawn = last.before(log.take(rows), keys)
        test, removed = np.zeros((2, len(log)), np.bool_)
        test[rows[drawn]], removed[rows[~drawn]] = True, True
        yield RowAssignment(test, removed={"held out and not drawn": removed})

    def _held(self, popularity: ItemSums, log: Interactions) -> tuple[NDArray[np.int64], Keys]:
        """Return (row numbers, sort keys) of the held-out rows; the rows with the smallest keys are test.

        ``popularity`` is the number of ratings of each item in the whole log. The keys are integers in the order of
        -log(u) / weight, with u the random draw of a row as a number between 0 and 1.
        """
        coins = uniform(row_draws(log, self.seed, "intervened hold out"))  # another name would change results
        rows = np.flatnonzero(coins < self.held_out)
        draws = row_draws(log.take(rows), self.seed, self.name)
        weights = self.weights(log, popularity.of(log))[rows]
        return rows, ordered_keys(-np.log(uniform(draws)) / weights)

    def _keys(self, popularity: ItemSums, log: Interactions) -> Keys:
        return self._held(popularity, log)[1]


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
