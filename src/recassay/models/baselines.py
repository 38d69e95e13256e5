"""Baselines that every study should include: popularity, recency, random lists and Markov chains.

Popularity is hard to beat where relevant items are popular too, and random lists are the floor every system must clear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.times import require_times
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.data.times import row_times
from recassay.models.base.model import BuiltIn, FittedRow, HistoryModel, ScoringModel
from recassay.naming.named import ABOVE_0_UP_TO_1, AT_LEAST_0
from recassay.rng import derive


@dataclass(frozen=True, repr=False)
class Popular(BuiltIn):
    """The popularity baseline: the score of an item is the number of distinct users who had it.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> items, scores = Popular().fit(log).recommend(np.array([2], np.int32), 2)
    >>> items.tolist(), scores.tolist()
    ([[0, 1]], [[2.0, 1.0]])
    """

    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedRow:
        """Return the fitted model, which scores items by the log's number of users of each item."""
        return FittedRow(log, log.item_users.astype(np.float64))


@dataclass(frozen=True, repr=False)
class RecentPopular(BuiltIn):
    """Recent popularity: the score of an item is the number of distinct users who had it in a recent period.

    Ties are ordered by the number of users at any time. With a ``window``, the period is that span before the last
    event, both ends included, in the unit of the log's times (seconds for dates); it needs clock times. Without a
    window it is the latest ``share`` of the events, at least one, and all other events at the time of the first of
    these. A log without times is then read in the order of its rows.

    >>> import polars as pl
    >>> frame = {"user_id": [1, 2, 3, 3, 4], "item_id": [*"aaabb"], "timestamp": [1, 2, 3, 8, 9]}
    >>> log = Interactions.from_frame(pl.DataFrame(frame))
    >>> [RecentPopular(window=window).fit(log).row.round(1).tolist() for window in (1, 6, 99)]
    [[0.6, 2.4], [1.6, 2.4], [3.6, 2.4]]
    >>> RecentPopular(share=0.4).fit(log).scores(np.array([0], np.int32)).tolist()
    [[0.6, 2.4]]

    Reference: Ji, Sun, Zhang and Li, A re-visit of the popularity baseline in recommender systems, SIGIR 2020.
    """

    window: Annotated[float | None, AT_LEAST_0] = None
    share: Annotated[float, ABOVE_0_UP_TO_1] = 0.1

    def fit(self, log: Interactions) -> FittedRow:
        """Count the distinct users of every item among recent events, and return the fitted model."""
        require_times(log, None if self.window is None else "clock", self)
        in_order = log.timestamps is None
        when = np.arange(len(log)) if in_order else row_times(log)
        ordered = np.sort(when)
        latest = ordered[-max(1, round(self.share * when.size)) :]
        since = latest[:1] if self.window is None else ordered[-1:] - self.window
        any_time = log.item_users / (log.n_users + 1)  # below 1: it only breaks ties
        return FittedRow(log, log.take(when >= since).item_users + any_time)


@dataclass(frozen=True, repr=False)
class Random(BuiltIn):
    """Random scores, uniform on [0, 1), drawn from the seed and the user id: a user always gets the same list.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [4, 5, 6]}))
    >>> Random(seed=1).fit(log).recommend(np.array([0], np.int32), 2)[0].tolist()
    [[2, -1]]
    """

    fits_by_user: ClassVar[bool] = True

    seed: int = 0

    def fit(self, log: Interactions) -> FittedRandom:
        """Return the fitted model for the users and items of a log; nothing is learned."""
        return FittedRandom(self.seed, log)


@dataclass(frozen=True, eq=False)
class FittedRandom(ScoringModel):
    """Random scores for every user and item of a log, drawn from a seed."""

    personal: ClassVar[bool] = False

    seed: int
    log: Interactions

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes."""
        ids = self.log.user_vocabulary.decode(users).to_list()
        return np.stack([derive(self.seed, "random model", user).random(self.log.n_items) for user in ids])


@dataclass(frozen=True, repr=False)
class Markov(BuiltIn):
    """A Markov chain: the score of item j after item i is the transition probability p(j | i), smoothed by popularity.

    With n_ij the number of times that j came right after i, n_i the sum of n_ij over j, and p_j the share of events
    with item j, p(j | i) = (n_ij + ``smoothing`` p_j) / (n_i + ``smoothing``).

    Edges: after an empty history the score is p_j. Without smoothing it is also p_j after an item that nothing followed
    in training.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 1], "item_id": [*"abac"]}))
    >>> Markov(smoothing=2).fit(log).scores(np.array([0], np.int32)).tolist()
    [[0.5, 0.25, 0.25]]
    >>> Markov(smoothing=2).fit(log).next_scores(Histories(np.array([0, 1]), np.array([0], np.int32))).tolist()
    [[0.25, 0.375, 0.375]]

    Reference: Zimdars, Chickering and Meek, Using temporal data for making recommendations, UAI 2001.
    """

    smoothing: Annotated[float, AT_LEAST_0] = 1.0

    def fit(self, log: Interactions) -> FittedMarkov:
        """Count how often each item came right after each other item, and return the fitted model."""
        histories = Histories.of(log)
        user = row_groups(histories.offsets)
        same_user = user[1:] == user[:-1]
        pairs = histories.items[:-1][same_user], histories.items[1:][same_user]
        after = scipy.sparse.csr_array((np.ones(pairs[0].size), pairs), shape=(log.n_items, log.n_items))
        return FittedMarkov(log, self.smoothing, after, log.item_events / max(len(log), 1))


@dataclass(frozen=True, eq=False)
class FittedMarkov(HistoryModel):
    """A fitted Markov chain: ``after[i, j]`` is how often item j came right after i; ``popularity`` are item shares."""

    reads_items_only: ClassVar[bool] = True
    personal: ClassVar[bool] = False  # after an empty history it has the shares of items

    log: Interactions
    smoothing: float
    after: scipy.sparse.csr_array
    popularity: NDArray[np.float64]

    def next_scores(self, histories: Histories) -> NDArray[np.float64]:
        """Return the probability of every item after each history (n, items)."""
        last = histories.last(1, pad=-1)[:, 0]
        table: NDArray[np.float64] = self.after[np.maximum(last, 0)].toarray() * (last >= 0)[:, None]
        total = table.sum(axis=1, keepdims=True) + self.smoothing
        table += self.smoothing * self.popularity
        np.divide(table, total, out=table, where=total > 0)
        return np.where(total > 0, table, self.popularity)

    def next_probabilities(self, histories: Histories) -> NDArray[np.float64]:
        """Return the scores (n, items) of :meth:`next_scores`, which are probabilities."""
        return self.next_scores(histories)
