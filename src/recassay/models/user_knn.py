"""Users who had the same items, and what else they had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recassay.data.interactions import Interactions
from recassay.models.base import USERS_PER_BLOCK, BuiltIn, Scoring, profiles
from recassay.threads import blocks


@dataclass(frozen=True, repr=False)
class UserKNN(BuiltIn):
    """The score of an item is the sum of the similarities of those among the user's nearest neighbours who had it.

    With c items in common: ``cosine`` is c / sqrt(|u| |v|), ``jaccard`` is c / (|u| + |v| - c); both are
    multiplied by c / (c + shrink). Equally similar users are taken in ascending order of id.

    Edges: a user with nothing in common with anybody has scores of 0.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> UserKNN(1).fit(log).scores(np.array([0], np.int32)).round(3).tolist()
    [[0.707, 0.707, 0.0]]

    Reference: Cremonesi, Koren and Turrin, RecSys 2010.
    """

    name: ClassVar[str] = "UserKNN"

    neighbours: int = 100
    similarity: Literal["cosine", "jaccard"] = "cosine"
    shrink: float = 0.0

    def validate(self) -> None:
        """At least one neighbour, and a shrink that does not swell."""
        self.at_least(1, "neighbours")
        self.at_least(0, "shrink")

    def fit(self, log: Interactions) -> FittedUserKNN:
        """Finds everybody's neighbours."""
        matrix = profiles(log)
        return FittedUserKNN(log, matrix, self.nearest(matrix))

    def nearest(self, matrix: csr_array) -> csr_array:
        """A row per row of a 0/1 matrix: its similarities to the others, 0 but for its nearest neighbours."""
        sizes = np.diff(matrix.indptr).astype(np.float64)
        columns, weights, lengths = [], [], [0]
        for begin, end in blocks(sizes.size, USERS_PER_BLOCK):
            common = (matrix[begin:end] @ matrix.T).tocsr()
            common.sort_indices()
            for row in range(end - begin):
                part = slice(common.indptr[row], common.indptr[row + 1])
                others, similar = self._row(common.indices[part], common.data[part], begin + row, sizes)
                columns.append(others)
                weights.append(similar)
                lengths.append(others.size)
        found = (np.concatenate(weights), np.concatenate(columns), np.cumsum(lengths))
        return csr_array(found, shape=(sizes.size, sizes.size))

    def _row(
        self, others: NDArray[np.int32], common: NDArray[np.float64], user: int, sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        others, common = others[others != user], common[others != user]
        if self.similarity == "cosine":
            similar = np.sqrt(common * common / (sizes[user] * sizes[others]))  # equal where the fractions are
        else:
            similar = common / (sizes[user] + sizes[others] - common)
        similar *= common / (common + self.shrink)
        # Ascending: a product of sparse matrices adds in this order, and so equal similarities make equal sums.
        nearest = np.argsort(-similar, kind="stable")[: self.neighbours][::-1]
        return others[nearest], similar[nearest]


@dataclass(frozen=True, eq=False)
class FittedUserKNN(Scoring):
    """Profiles, and a row of similarities per user that is 0 but for the neighbours."""

    log: Interactions
    matrix: csr_array
    neighbours: csr_array

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        table: NDArray[np.float64] = (self.neighbours[users] @ self.matrix).toarray()
        return table
