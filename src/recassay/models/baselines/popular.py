"""Popularity: the items that most users had. It is hard to beat where relevant items are popular too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, ScoringModel


@dataclass(frozen=True, repr=False)
class Popular(BuiltIn):
    """The popularity baseline: the score of an item is the number of distinct users who had it.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> items, scores = Popular().fit(log).recommend(np.array([2], np.int32), 2)
    >>> items.tolist(), scores.tolist()
    ([[0, 1]], [[2.0, 1.0]])
    """

    name: ClassVar[str] = "Popular"
    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedPopular:
        """Return the fitted model, which scores items by the log's number of users of each item."""
        require_log(log)
        return FittedPopular(log)


@dataclass(frozen=True, eq=False)
class FittedPopular(ScoringModel):
    """A fitted popularity baseline: every user gets the same scores, the number of users of each item."""

    personal: ClassVar[bool] = False

    log: Interactions

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes."""
        return np.broadcast_to(self.log.item_users.astype(np.float64), (users.size, self.log.n_items))
