"""Truncated singular value decomposition of the user-item matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.errors import UsageError
from recassay.models.base.model import BuiltIn, ScoringModel, user_item_matrix
from recassay.threads import one_library_thread

SMALL = 200  # users or items up to which the full SVD is used: with repeated values the iterative one restarts randomly


@dataclass(frozen=True, repr=False)
class PureSVD(BuiltIn):
    """Truncated SVD: scores are R V V', with R the 0/1 matrix of users and items.

    V has the ``factors`` leading right singular vectors of R.

    Edges: ``factors`` must be smaller than the number of users and of items. The signs of V cancel out.

    Reference: Cremonesi, Koren and Turrin, Performance of recommender algorithms on top-n recommendation tasks, RecSys
    2010.
    """

    name: ClassVar[str] = "PureSVD"

    factors: int = 50

    def fit(self, log: Interactions) -> FittedSVD:
        """Compute the leading item vectors, and return the fitted model; raise U102 for too few users or items."""
        require_log(log)
        if not 1 <= self.factors < min(log.n_users, log.n_items):
            raise UsageError(
                "U102",
                f"{self.factors} factors cannot be computed from {log.n_users:,} users and {log.n_items:,} items",
                hint=f"factors must be at least 1 and at most {min(log.n_users, log.n_items) - 1:,}",
            )
        matrix = user_item_matrix(log)
        start = np.ones(min(matrix.shape))  # a fixed start vector, so the same log gives the same vectors
        with one_library_thread("blas"):  # sums of several threads round differently from run to run
            if min(matrix.shape) <= SMALL:
                vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)[2][: self.factors]
            else:
                from scipy.sparse.linalg import svds  # slow to import

                _, _, vectors = svds(matrix, k=self.factors, v0=start, return_singular_vectors="vh")
        return FittedSVD(log, matrix, np.ascontiguousarray(vectors))


@dataclass(frozen=True, eq=False)
class FittedSVD(ScoringModel):
    """A fitted SVD: the user-item ``matrix`` and its leading item ``vectors`` (factors, items)."""

    log: Interactions
    matrix: scipy.sparse.csr_array
    vectors: NDArray[np.float64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes."""
        scores: NDArray[np.float64] = (self.matrix[users] @ self.vectors.T) @ self.vectors
        return scores
