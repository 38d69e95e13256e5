"""Models of the library implicit: factors by alternating least squares or by pairwise ranking, and item neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from threadpoolctl import threadpool_limits

from recassay.data.interactions import Interactions
from recassay.models.base import BuiltIn, FittedFactors, Scoring, profiles
from recassay.models.sums import rounded, step_for
from recassay.optional import need
from recassay.rng import derive_seed


@dataclass(frozen=True, repr=False)
class ALS(BuiltIn):
    """Weighted least squares on all cells: a weight of alpha where the user had the item, 1 elsewhere.

    Every user's and item's system is solved on its own, so threads do not change a bit.

    Reference: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008.
    """

    name: ClassVar[str] = "ALS"

    factors: int = 64
    regularization: float = 0.01
    alpha: float = 10.0
    iterations: int = 15
    seed: int = 0

    def validate(self) -> None:
        """Counts are at least 1, weights not negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "regularization", "alpha")

    def fit(self, log: Interactions) -> FittedFactors:
        """Solves for users and items in turn."""
        library = need("implicit.cpu.als", for_="ALS")
        with threadpool_limits(1, user_api="blas"):  # the library warns at once of a BLAS of many threads
            model = library.AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.alpha,
                iterations=self.iterations,
                random_state=derive_seed(self.seed, "ALS") % 2**32,
            )
            return _fitted(model, log)


@dataclass(frozen=True, repr=False)
class BPR(BuiltIn):
    """Factors that rank what a user had above what the user had not, learnt pair by pair.

    Learnt on one thread: the library's threads write over one another, and no seed could repeat that.

    Reference: Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR, UAI 2009.
    """

    name: ClassVar[str] = "BPR"

    factors: int = 64
    learning_rate: float = 0.01
    regularization: float = 0.01
    iterations: int = 100
    seed: int = 0

    def validate(self) -> None:
        """Counts are at least 1, weights not negative."""
        self.at_least(1, "factors", "iterations")
        self.at_least(0, "regularization", "learning_rate")

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


@dataclass(frozen=True, repr=False)
class ItemKNN(BuiltIn):
    """The score of an item is the sum of its similarities to the items of the profile, over nearest neighbours only.

    Similarities are rounded, by a unit in their last places, so that such sums are exact: equal ones tie.

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    name: ClassVar[str] = "ItemKNN"

    neighbours: int = 100
    similarity: Literal["cosine", "tfidf", "bm25"] = "cosine"

    def validate(self) -> None:
        """At least one neighbour."""
        self.at_least(1, "neighbours")

    def fit(self, log: Interactions) -> FittedItemKNN:
        """Finds every item's neighbours."""
        classes = {"cosine": "CosineRecommender", "tfidf": "TFIDFRecommender", "bm25": "BM25Recommender"}
        library = need("implicit.nearest_neighbours", for_="ItemKNN")
        # An item is its own nearest neighbour, and of no use: its user already had it.
        model = getattr(library, classes[self.similarity])(K=self.neighbours + 1, num_threads=1)
        matrix = profiles(log)
        fit_quietly(model, csr_matrix(matrix))
        similarity = csr_array(model.similarity)
        longest = int(np.diff(matrix.indptr).max(initial=0))
        step = step_for(float(np.abs(similarity.data).max(initial=0.0)), longest)
        similarity.data = rounded(similarity.data, step)
        return FittedItemKNN(log, matrix, similarity)


@dataclass(frozen=True, eq=False)
class FittedItemKNN(Scoring):
    """Profiles, and a row of similarities per item that is 0 but for the neighbours."""

    log: Interactions
    matrix: csr_array
    similarity: csr_array

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item for each user."""
        table: NDArray[np.float64] = (self.matrix[users] @ self.similarity).toarray()
        return table


def _fitted(model: Any, log: Interactions) -> FittedFactors:
    fit_quietly(model, csr_matrix(profiles(log), dtype=np.float32))
    return FittedFactors(log, np.asarray(model.user_factors), np.asarray(model.item_factors))


def fit_quietly(model: Any, matrix: csr_matrix) -> None:
    """Fit a model of the library on one thread of linear algebra: a product of many rounds by their number."""
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Method expects CSR input")  # said of a product of its own
        model.fit(matrix, show_progress=False)
