"""The users for whom a system must recommend, without any information about the relevant items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary
from recassay.shown import Displayable


@dataclass(frozen=True, eq=False, repr=False)
class Queries(Displayable):
    """Users to recommend to, as ascending codes of the log that a system was fitted on.

    A recommender receives queries and never the truth: the two are different types.
    """

    users: NDArray[np.int32]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return int(self.users.size)

    @property
    def ids(self) -> pl.Series:
        """Return the ids of the users."""
        return self.vocabulary.decode(self.users)
