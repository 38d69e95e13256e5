"""A model: recommend what users of the same items had most, blended with popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from recassay import Interactions
from recassay.models.base.model import BuiltIn, ScoringModel, user_item_matrix
from recassay.naming.named import AT_LEAST_0


@dataclass(frozen=True, repr=False)
class Blend(BuiltIn):
    """Co-occurrence counts plus ``popularity`` times the number of users of an item."""

    popularity: Annotated[float, AT_LEAST_0] = 0.1

    def fit(self, log: Interactions) -> FittedBlend:
        """Return the fitted model; the description itself does not change."""
        matrix = user_item_matrix(log)
        together = np.asarray((matrix.T @ matrix).todense())
        np.fill_diagonal(together, 0.0)
        return FittedBlend(log, together, self.popularity * log.item_users)


@dataclass(frozen=True, eq=False)
class FittedBlend(ScoringModel):
    """Co-occurrence counts of items, and a bonus per item."""

    log: Interactions
    together: NDArray[np.float64]
    bonus: NDArray[np.float64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return a score of every item for each user."""
        offsets, items = self.log.by_user
        rows = [self.together[items[offsets[user] : offsets[user + 1]]].sum(axis=0) for user in users]
        return np.array(rows).reshape(users.size, self.log.n_items) + self.bonus
