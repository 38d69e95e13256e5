"""Any unseen item is as good as another: the floor every system must clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.models.base import BuiltIn, Scoring
from recassay.rng import derive


@dataclass(frozen=True, repr=False)
class Random(BuiltIn):
    """Scores are uniform on [0, 1), drawn from the seed and the user's id: the same user always gets the same list.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [4, 5, 6]}))
    >>> Random(seed=1).fit(log).recommend(np.array([0], np.int32), 2)[0].tolist()
    [[2, -1]]
    """

    name: ClassVar[str] = "Random"
    of_parts: ClassVar[bool] = True

    seed: int = 0

    def fit(self, log: Interactions) -> FittedRandom:
        """Learns which items there are, and nothing else."""
        return FittedRandom(self.seed, log)


@dataclass(frozen=True, eq=False)
class FittedRandom(Scoring):
    """Random lists over the items of a log."""

    seed: int
    log: Interactions

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        ids = self.log.user_vocabulary.decode(users).to_list()
        return np.stack([derive(self.seed, "random model", user).random(self.log.n_items) for user in ids])
