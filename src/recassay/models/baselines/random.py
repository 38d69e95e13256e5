"""Random lists of unseen items: the floor every system must clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, ScoringModel
from recassay.rng import derive


@dataclass(frozen=True, repr=False)
class Random(BuiltIn):
    """Random scores, uniform on [0, 1), drawn from the seed and the user id: a user always gets the same list.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [4, 5, 6]}))
    >>> Random(seed=1).fit(log).recommend(np.array([0], np.int32), 2)[0].tolist()
    [[2, -1]]
    """

    name: ClassVar[str] = "Random"
    fits_by_user: ClassVar[bool] = True

    seed: int = 0

    def fit(self, log: Interactions) -> FittedRandom:
        """Return the fitted model for the users and items of a log; nothing is learned."""
        require_log(log)
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
