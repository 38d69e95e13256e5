"""Users and items in a few dimensions, those that explain the log best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.models.base import BuiltIn, Scoring, profiles

SMALL = 200  # up to so many users or items all is computed: where values repeat, iterating starts anew at random


@dataclass(frozen=True, repr=False)
class PureSVD(BuiltIn):
    """With R the 0/1 matrix of users and items and V its ``factors`` leading right singular vectors: R V V'.

    Edges: ``factors`` must be smaller than the number of users and of items. The signs of V cancel.

    Reference: Cremonesi, Koren and Turrin, Performance of recommender algorithms on top-n recommendation tasks,
    RecSys 2010.
    """

    name: ClassVar[str] = "PureSVD"

    factors: int = 50

    def fit(self, log: Interactions) -> FittedSVD:
        """Takes the matrix apart."""
        if not 1 <= self.factors < min(log.n_users, log.n_items):
            raise UsageError(
                "U102",
                f"{self.factors} factors cannot be had from {log.n_users:,} users and {log.n_items:,} items",
                hint=f"at least 1 and at most {min(log.n_users, log.n_items) - 1:,}",
            )
        matrix = profiles(log)
        start = np.ones(min(matrix.shape))  # a fixed start, so the same log gives the same vectors
        with threadpool_limits(1, user_api="blas"):  # sums of many threads round as they come
            if min(matrix.shape) <= SMALL:
                vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)[2][: self.factors]
            else:
                _, _, vectors = svds(matrix, k=self.factors, v0=start, return_singular_vectors="vh")
        return FittedSVD(log, matrix, np.ascontiguousarray(vectors))


@dataclass(frozen=True, eq=False)
class FittedSVD(Scoring):
    """A log and its leading item vectors, (factors, items)."""

    log: Interactions
    matrix: csr_array
    vectors: NDArray[np.float64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        scores: NDArray[np.float64] = (self.matrix[users] @ self.vectors.T) @ self.vectors
        return scores
