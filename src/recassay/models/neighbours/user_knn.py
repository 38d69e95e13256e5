"""User neighbours: users with common items, and the other items they had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import USERS_PER_BLOCK, BuiltIn, ScoringModel, user_item_matrix
from recassay.naming.named import Departure
from recassay.threads import blocks


@dataclass(frozen=True, repr=False)
class UserKNN(BuiltIn):
    """User-kNN: the score of an item is the sum of the similarities of the user's nearest neighbours who had it.

    With |u| items of user u, and c items in common: ``cosine`` is c / sqrt(|u| |v|), ``jaccard`` is c / (|u| + |v| -
    c); both are multiplied by c / (c + shrink). Equally similar users are taken in ascending order of id.

    Edges: a user who has no item in common with another user has scores of 0.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> UserKNN(1).fit(log).scores(np.array([0], np.int32)).round(3).tolist()
    [[0.707, 0.707, 0.0]]

    Reference: Cremonesi, Koren and Turrin, RecSys 2010.
    """

    name: ClassVar[str] = "UserKNN"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The neighbours of the paper use rating values; UserKNN takes who rated what, because rating predictions "
            "rank poorly.",
            "RatingKNN()",
        ),
    )

    neighbours: int = 100
    similarity: Literal["cosine", "jaccard"] = "cosine"
    shrink: float = 0.0

    def validate(self) -> None:
        """Raise U102 if the number of neighbours is below 1 or ``shrink`` is negative."""
        self.at_least(1, "neighbours")
        self.at_least(0, "shrink")

    def fit(self, log: Interactions) -> FittedUserKNN:
        """Find the nearest neighbours of every user, and return the fitted model."""
        require_log(log)
        matrix = user_item_matrix(log)
        return FittedUserKNN(log, matrix, self.nearest(matrix))

    def nearest(self, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return a sparse matrix (users, users) with the similarities of each user to the nearest other users only.

        ``matrix`` is the 0/1 matrix of users and items.
        """
        sizes = np.diff(matrix.indptr).astype(np.float64)
        columns, weights, lengths = [], [], [0]
        for begin, end in blocks(sizes.size, USERS_PER_BLOCK):
            common = (matrix[begin:end] @ matrix.T).tocsr()
            common.sort_indices()
            for row in range(end - begin):
                entries = slice(common.indptr[row], common.indptr[row + 1])
                others, similar = self._nearest(common.indices[entries], common.data[entries], begin + row, sizes)
                columns.append(others)
                weights.append(similar)
                lengths.append(others.size)
        found = (np.concatenate(weights), np.concatenate(columns), np.cumsum(lengths))
        return scipy.sparse.csr_array(found, shape=(sizes.size, sizes.size))

    def _nearest(
        self, others: NDArray[np.int32], common: NDArray[np.float64], user: int, sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the nearest other users of ``user``, farthest first, and their similarities.

        ``others`` are the users with common items, as row numbers; ``common[i]`` is the number of items in common with
        ``others[i]``, and ``sizes`` are the numbers of items of all users.
        """
        others, common = others[others != user], common[others != user]
        if self.similarity == "cosine":
            similar = np.sqrt(common * common / (sizes[user] * sizes[others]))  # equal fractions stay equal
        else:
            similar = common / (sizes[user] + sizes[others] - common)
        similar *= common / (common + self.shrink)
        # Ascending: a product of sparse matrices adds in this order, so equal similarities give equal sums.
        nearest = np.argsort(-similar, kind="stable")[: self.neighbours][::-1]
        return others[nearest], similar[nearest]


@dataclass(frozen=True, eq=False)
class FittedUserKNN(ScoringModel):
    """A fitted user-kNN: ``matrix`` has a row of items per user.

    ``neighbours`` has a sparse row per user with the similarities to the nearest users only.
    """

    log: Interactions
    matrix: scipy.sparse.csr_array
    neighbours: scipy.sparse.csr_array

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes."""
        table: NDArray[np.float64] = (self.neighbours[users] @ self.matrix).toarray()
        return table
