"""Item neighbours of the last items of a history."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, user_item_matrix
from recassay.models.base.sequential import HistoryModel
from recassay.models.base.sums import rounded, step_for
from recassay.models.neighbours.user_knn import UserKNN


@dataclass(frozen=True, repr=False)
class RecentItemKNN(BuiltIn):
    """Item-kNN of the ``last`` items of a history: the score of an item is the sum of its similarities to these.

    Older items count less: one followed by k others has the weight ``decay`` to the power of k. The similarity of two
    items is c / sqrt(n m) times c / (c + ``shrink``), with n and m the users of each item and c those of both. It is
    0 unless the scored item is among the nearest ``neighbours`` of the other; ties are taken in order of id.

    Edges: after an empty history all scores are 0.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": [*"abbca"]}))
    >>> RecentItemKNN(last=2, decay=0.5).fit(log).scores(np.array([0, 2], np.int32)).tolist()
    [[0.5, 0.25, 0.7071067811865475], [0.0, 0.5, 0.0]]

    Reference: Ludewig and Jannach, Evaluation of session-based recommendation algorithms, UMUAI 28, 2018.
    """

    name: ClassVar[str] = "RecentItemKNN"

    last: int = 10
    decay: float = 0.8
    neighbours: int = 200
    shrink: float = 0.0

    def validate(self) -> None:
        """Raise U102 if a count is below 1, or if older items would weigh more than newer ones."""
        self.at_least(1, "last", "neighbours")
        self.at_least(0, "decay", "shrink")
        if self.decay > 1:
            raise self.refuse(
                "decay",
                "it must be at most 1, or older items would count more",
                "from 0 (only the last item counts) to 1",
            )

    def fit(self, log: Interactions) -> FittedRecentItemKNN:
        """Find the nearest neighbours of every item, and return the fitted model."""
        require_log(log)
        similar = UserKNN(self.neighbours, "cosine", self.shrink).nearest(
            scipy.sparse.csr_array(user_item_matrix(log).T)
        )
        return FittedRecentItemKNN(log, self.last, self.decay, similar)


@dataclass(frozen=True, eq=False)
class FittedRecentItemKNN(HistoryModel):
    """A fitted model of item neighbours: ``similar`` has a sparse row per item with its neighbours' similarities."""

    log: Interactions
    last: int
    decay: float
    similar: scipy.sparse.csr_array

    def next_scores(self, histories: Histories) -> NDArray[np.float64]:
        """Return scores (n, items) of the next item after each history."""
        items = histories.last(self.last, pad=-1)
        row, place = np.nonzero(items >= 0)
        weights = self.decay ** (self.last - 1.0 - place)
        terms = self.similar[items[row, place]]  # a row of similarities for each item of each history
        terms.data = rounded(terms.data * np.repeat(weights, np.diff(terms.indptr)), self.step)
        added = scipy.sparse.csr_array(
            (np.ones(row.size), (row, np.arange(row.size))), shape=(len(histories), row.size)
        )
        table: NDArray[np.float64] = (added @ terms).toarray()
        return table

    @functools.cached_property
    def step(self) -> float:
        """Return the power of two to which terms are rounded: sums are then exact, so equal sums tie."""
        return step_for(float(self.similar.data.max(initial=0.0)), self.last)
