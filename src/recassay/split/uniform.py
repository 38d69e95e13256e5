"""Uniform test item profiles: equally many test ratings of every candidate item (Bellogin, Castells, Cantador 2017).

    ratings per item, most popular first    12  10   8   6   5   4   3   2     share 0.2 of 50 is 10, epsilon 0.5
    g = floor(half of them)                  6   5   4   3   2   2   1   1
    k * g                                    6  10  12  12  10  12   7   8     k = 6 is the last to reach 10

    so the six most popular items are candidates, with two test ratings each

    Ann             a  b  c            test one rating of a, one of b (whose lots are lowest); c is rated once, so it is
    Bob             a  b               no candidate, and its rating stays in training
    Carol           a  b

Leakage: global. Training ratings of a user are not ranked again, and popular items are among them more often: what is
left of popularity in such a test is small where ratings are sparse and not where they are dense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.split.base import Part, Split
from recassay.split.in_parts import ByItem, InParts
from recassay.split.lots import SLACK, Lots, floor, places_by_lot, row_lots


@dataclass(frozen=True, repr=False)
class UniformItems(Split):
    """As many test ratings of one candidate item as of another, so that popular items are not found more often.

    Items in order of their ratings c_1 >= c_2 >= ... (equal counts by id); g_k = floor((1 - epsilon) c_k). The last k
    with g_k >= 1 and k g_k >= test * ratings says how many items are candidates, and g_k how many test ratings each
    has, drawn by lot. No such k is an error that names the largest share that is feasible. All other ratings are for
    training; those of items that are no candidates are removed by ``compat="jsocialnetworks"``, which also compares
    (1 - epsilon) c_k k, not rounded, and strictly, for all items but the last. The candidates are the items of the
    test part (designs of the family TI): other items must not stand in a target set.

    ``flatten="train"`` gives each candidate the same number of *training* ratings, the rest is test.
    ``balance_on="positive"`` counts and draws only ratings of ``positive_from`` or more; others stay in training.
    ``how`` has ``candidates``, ``per_item``, and the shares of items and ratings that the candidates are and have.

    >>> import polars as pl
    >>> counts = [12, 10, 8, 6, 5, 4, 3, 2]
    >>> rows = [(user, item) for item, count in enumerate(counts) for user in range(count)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"))
    >>> fold = UniformItems(test=0.2)(log)[0]
    >>> np.bincount(fold.test.items).tolist(), fold.how["candidates"], fold.how["per_item"]
    ([2, 2, 2, 2, 2, 2], 6, 2)
    """

    name: ClassVar[str] = "uniform_items"

    test: float
    epsilon: float = 0.5
    balance_on: Literal["all", "positive"] = "all"
    positive_from: float | None = None
    flatten: Literal["test", "train"] = "test"
    compat: Literal["jsocialnetworks"] | None = None
    seed: int = 0

    def validate(self) -> None:
        """A share, a reserve, and a threshold where one is needed."""
        self.share("test")
        if not 0 <= self.epsilon < 1:
            raise self.refuse("epsilon", "it is outside [0, 1[", "epsilon=0.5")
        if (self.balance_on == "positive") != (self.positive_from is not None):
            raise self.refuse("positive_from", "it goes with balance_on='positive'", "positive_from=4")

    def facts(self, log: InParts) -> Chosen:
        """The candidates, and the lots below which their ratings are drawn."""
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
        return Chosen(log.total(partial(self._limits, candidate, each), "item"), info)

    def cuts(self, log: Interactions, facts: Chosen) -> Iterator[Part]:
        """One cut."""
        limit, ties = facts.limits.of(log).T
        candidate = (ties > 0)[log.items]
        open_to_draw = log.liked(self.positive_from) & candidate
        lots = self._lots(log)
        chosen = open_to_draw & (lots < limit[log.items])
        last = np.flatnonzero(open_to_draw & (lots == limit[log.items]))  # of one user and item, for they have one lot
        place = places_by_lot(log.take(last), log.items[last], lots[last])
        chosen[last] = place < ties[log.items[last]].astype(np.int64)
        test = chosen if self.flatten == "test" else open_to_draw & ~chosen
        dropped = ~candidate if self.compat else np.zeros(len(log), np.bool_)
        trained = np.bincount(log.users[~test & ~dropped], minlength=log.n_users)
        removed = {"no candidate": dropped} if self.compat else {}
        counts = {"users_without_training": int(np.count_nonzero(trained == 0))}
        yield Part(test, removed=removed, info=facts.info, counts=counts)

    def _lots(self, log: Interactions) -> Lots:
        return row_lots(log, self.seed, self.name)

    def _counts(self, log: Interactions) -> ByItem:
        """Ratings of each item, and those that count."""
        counted = np.bincount(log.items[log.liked(self.positive_from)], minlength=log.n_items)
        return ByItem(log.item_vocabulary, np.stack([log.item_events, counted], axis=1))

    def _limits(self, candidate: ByItem, each: int, log: Interactions) -> ByItem:
        """The lot of the last rating drawn of each candidate, and how many ratings with this lot are drawn."""
        pool = log.take(log.liked(self.positive_from) & (candidate.of(log)[:, 1] > 0)[log.items])
        lots = self._lots(pool)
        place = places_by_lot(pool, pool.items, lots)
        found = np.zeros((log.n_items, 2), np.uint64)
        last = place == each - 1
        found[pool.items[last], 0] = lots[last]
        drawn = pool.items[(place < each) & (lots == found[pool.items, 0])]
        found[:, 1] = np.bincount(drawn, minlength=log.n_items)
        return ByItem(log.item_vocabulary, found)

    def _candidates(self, counts: NDArray[np.int64]) -> tuple[int, int]:
        """How many of the most popular items are candidates, and how many ratings of each are drawn."""
        wanted = self.test if self.flatten == "test" else 1 - self.test
        each, ranks, total = floor((1 - self.epsilon) * counts), np.arange(1, counts.size + 1), int(counts.sum())
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
        most = np.floor(largest * 1e6 + (SLACK if self.compat is None else -1)) / 1e6  # a strict bound is not reached
        limit = f"test={most:.6g} is the most" if self.flatten == "test" else f"test={1 - most:.6g} is the least"
        raise UsageError(
            "U117",
            f"equally many ratings of some of {counts.size:,} items reach a share of {most:.6g} of {total:,} ratings, "
            f"and {wanted:g} was wanted",
            where=str(self),
            hint=f"{limit} with epsilon={self.epsilon:g}; a smaller epsilon allows more",
        )


@dataclass(frozen=True)
class Chosen:
    """For each item the lot below which its ratings are drawn and how many with just this lot; what came out."""

    limits: ByItem
    info: Mapping[str, Any]
