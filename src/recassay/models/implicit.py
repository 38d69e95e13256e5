"""Models of the library implicit: factors by alternating least squares or by pairwise ranking, and item neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from threadpoolctl import threadpool_limits

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.models.base import Lists, best_unseen, profiles
from recassay.optional import need
from recassay.rng import derive_seed


@dataclass(frozen=True, eq=False)
class FittedFactors:
    """A score is the product of a user's and an item's factors."""

    log: Interactions
    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items and scores, best first."""
        return best_unseen(self.scores, self.log, users, k)

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """A score of every item for each user."""
        return self.user_factors[users] @ self.item_factors.T


@dataclass(frozen=True)
class ALS:
    """Weighted least squares on all cells: confidence 1 + alpha where the user had the item, 1 elsewhere.

    Every user's and item's system is solved on its own, so threads do not change a bit.

    Reference: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008.
    """

    factors: int = 64
    regularization: float = 0.01
    alpha: float = 1.0
    iterations: int = 15
    seed: int = 0

    def fit(self, log: Interactions) -> FittedFactors:
        """Solves for users and items in turn."""
        model = need("implicit.cpu.als", for_="ALS").AlternatingLeastSquares(
            factors=self.factors,
            regularization=self.regularization,
            alpha=self.alpha,
            iterations=self.iterations,
            random_state=derive_seed(self.seed, "ALS") % 2**32,
        )
        return _fitted(model, log)


@dataclass(frozen=True)
class BPR:
    """Factors that rank what a user had above what the user had not, learnt pair by pair.

    Learnt on one thread: the library's threads write over one another, and no seed could repeat that.

    Reference: Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR, UAI 2009.
    """

    factors: int = 64
    learning_rate: float = 0.01
    regularization: float = 0.01
    iterations: int = 100
    seed: int = 0

    def fit(self, log: Interactions) -> FittedFactors:
        """Draws pairs and moves the factors."""
        model = need("implicit.cpu.bpr", for_="BPR").BayesianPersonalizedRanking(
            factors=self.factors,
            learning_rate=self.learning_rate,
            regularization=self.regularization,
            iterations=self.iterations,
            num_threads=1,
            random_state=derive_seed(self.seed, "BPR") % 2**32,
        )
        return _fitted(model, log)


@dataclass(frozen=True)
class ItemKNN:
    """The score of an item is the sum of its similarities to the items of the profile, over nearest neighbours only.

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    neighbours: int = 100
    similarity: Literal["cosine", "tfidf", "bm25"] = "cosine"

    def fit(self, log: Interactions) -> FittedItemKNN:
        """Finds every item's neighbours."""
        classes = {"cosine": "CosineRecommender", "tfidf": "TFIDFRecommender", "bm25": "BM25Recommender"}
        if self.similarity not in classes or self.neighbours < 1:
            raise UsageError("U102", f"{self} cannot be", hint=f"similarity one of {', '.join(classes)}")
        library = need("implicit.nearest_neighbours", for_="ItemKNN")
        # An item is its own nearest neighbour, and of no use: its user already had it.
        model = getattr(library, classes[self.similarity])(K=self.neighbours + 1, num_threads=1)
        matrix = profiles(log)
        with threadpool_limits(1):
            model.fit(csr_matrix(matrix), show_progress=False)
        return FittedItemKNN(log, matrix, csr_array(model.similarity))


@dataclass(frozen=True, eq=False)
class FittedItemKNN:
    """Profiles, and a row of similarities per item that is 0 but for the neighbours."""

    log: Interactions
    matrix: csr_array
    similarity: csr_array

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items and scores, best first."""
        return best_unseen(self.scores, self.log, users, k)

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        table: NDArray[np.float64] = (self.matrix[users] @ self.similarity).toarray()
        return table


def _fitted(model: Any, log: Interactions) -> FittedFactors:
    with threadpool_limits(1, user_api="blas"):  # a product of many threads rounds by their number
        model.fit(csr_matrix(profiles(log), dtype=np.float32), show_progress=False)
    return FittedFactors(log, np.asarray(model.user_factors), np.asarray(model.item_factors))
