"""What most often came right after the last item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.models.base import BuiltIn
from recassay.models.sequential import Reading


@dataclass(frozen=True, repr=False)
class Markov(BuiltIn):
    """The score of item j after item i is the chance p(j | i) of a chain of first order, smoothed by popularity.

    With n_ij the number of times that j came right after i, n_i the sum of these over j, and p_j the share of events
    that are of j, p(j | i) = (n_ij + ``smoothing`` p_j) / (n_i + ``smoothing``).

    Edges: after an empty history, and without smoothing after an item that nothing came after, p_j.

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
        """Smoothing adds."""
        self.at_least(0, "smoothing")

    def fit(self, log: Interactions) -> FittedMarkov:
        """Counts what came after what."""
        histories = Histories.of(log)
        whose = stretch_of(histories.offsets)
        goes_on = whose[1:] == whose[:-1]
        pairs = histories.items[:-1][goes_on], histories.items[1:][goes_on]
        after = csr_array((np.ones(pairs[0].size), pairs), shape=(log.n_items, log.n_items))
        return FittedMarkov(log, self.smoothing, after, log.item_events / max(len(log), 1))


@dataclass(frozen=True, eq=False)
class FittedMarkov(Reading):
    """How often each item came after each, and the shares of all events."""

    log: Interactions
    smoothing: float
    after: csr_array
    popularity: NDArray[np.float64]

    def next_scores(self, histories: Histories) -> NDArray[np.float64]:
        """The chance of every item after each history."""
        last = histories.last(1, pad=-1)[:, 0]
        table: NDArray[np.float64] = self.after[np.maximum(last, 0)].toarray() * (last >= 0)[:, None]
        total = table.sum(axis=1, keepdims=True) + self.smoothing
        table += self.smoothing * self.popularity
        np.divide(table, total, out=table, where=total > 0)
        return np.where(total > 0, table, self.popularity)

    def next_probabilities(self, histories: Histories) -> NDArray[np.float64]:
        """The same: scores are chances."""
        return self.next_scores(histories)
