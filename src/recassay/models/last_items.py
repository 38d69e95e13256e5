"""Items like those that a user had last."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.models.base import BuiltIn, profiles
from recassay.models.sequential import Reading
from recassay.models.sums import rounded, step_for
from recassay.models.user_knn import UserKNN
from recassay.portable.elementary import power


@dataclass(frozen=True, repr=False)
class RecentItemKNN(BuiltIn):
    """The score of an item is the sum of its similarities to the ``last`` items of a history, older ones counting less.

    The item before which k others came after it weighs ``decay`` to the power of k. The similarity of two items that
    c users had both of is c / sqrt(n m), with n and m the users of each, times c / (c + ``shrink``), and 0 unless the
    scored item is among the nearest ``neighbours`` of the other; equally similar ones are taken in order of id.

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
        """Counts are at least 1, and nothing old weighs more than what is new."""
        self.at_least(1, "last", "neighbours")
        self.at_least(0, "decay", "shrink")
        if self.decay > 1:
            raise self.refuse("decay", "older items would count more", "from 0, the last item alone, to 1")

    def fit(self, log: Interactions) -> FittedRecentItemKNN:
        """Finds every item's neighbours."""
        similar = UserKNN(self.neighbours, "cosine", self.shrink).nearest(csr_array(profiles(log).T))
        return FittedRecentItemKNN(log, self.last, self.decay, similar)


@dataclass(frozen=True, eq=False)
class FittedRecentItemKNN(Reading):
    """A row of similarities per item that is 0 but for its neighbours."""

    log: Interactions
    last: int
    decay: float
    similar: csr_array

    def next_scores(self, histories: Histories) -> NDArray[np.float64]:
        """A score of every item after each history."""
        items = histories.last(self.last, pad=-1)
        row, place = np.nonzero(items >= 0)
        weights = power(self.decay, self.last - 1.0 - place)
        terms = self.similar[items[row, place]]  # a row for each item of a history
        terms.data = rounded(terms.data * np.repeat(weights, np.diff(terms.indptr)), self.step)
        added = csr_array((np.ones(row.size), (row, np.arange(row.size))), shape=(len(histories), row.size))
        table: NDArray[np.float64] = (added @ terms).toarray()
        return table

    @functools.cached_property
    def step(self) -> float:
        """What terms are multiples of, so that their sums are exact: equal ones tie."""
        return step_for(float(self.similar.data.max(initial=0.0)), self.last)
