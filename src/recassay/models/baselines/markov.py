"""Markov chain: the items that most often followed the last item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn
from recassay.models.base.sequential import HistoryModel


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

    name: ClassVar[str] = "Markov"

    smoothing: float = 1.0

    def validate(self) -> None:
        """Raise U102 if the smoothing is negative."""
        self.at_least(0, "smoothing")

    def fit(self, log: Interactions) -> FittedMarkov:
        """Count how often each item came right after each other item, and return the fitted model."""
        require_log(log)
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
