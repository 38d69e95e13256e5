"""What is asked: of whom, and nothing about the answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Queries:
    """Users to recommend to, by their code in the log that a system was fitted on; ascending.

    A recommender is handed queries and cannot see the truth: the two are different types.
    """

    users: NDArray[np.int32]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return int(self.users.size)

    @property
    def ids(self) -> pl.Series:
        """The users' ids."""
        return self.vocabulary.decode(self.users)
