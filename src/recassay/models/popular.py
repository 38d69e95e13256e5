"""What most users had: hard to beat where the truth is popular too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.models.base import BuiltIn, Scoring


@dataclass(frozen=True, repr=False)
class Popular(BuiltIn):
    """The score of an item is the number of distinct users who had it.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> items, scores = Popular().fit(log).recommend(np.array([2], np.int32), 2)
    >>> items.tolist(), scores.tolist()
    ([[0, 1]], [[2.0, 1.0]])
    """

    name: ClassVar[str] = "Popular"
    of_parts: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedPopular:
        """Counts the users of every item."""
        return FittedPopular(log)


@dataclass(frozen=True, eq=False)
class FittedPopular(Scoring):
    """Lists by the number of users of each item."""

    log: Interactions

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        return np.broadcast_to(self.log.item_users.astype(np.float64), (users.size, self.log.n_items))
