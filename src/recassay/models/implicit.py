"""Models of the library implicit: alternating least squares, pairwise ranking, and item neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from recassay.data.interactions import Interactions
from recassay.models.base.model import (
    BuiltIn,
    FittedFactors,
    FittedProduct,
    fit_quietly,
    rounded,
    step_for,
    user_item_matrix,
)
from recassay.naming.named import AT_LEAST_0, COUNT, Departure, Ranges
from recassay.optional import need
from recassay.rng import derive_seed
from recassay.threads import one_library_thread


@dataclass(frozen=True, repr=False)
class ALS(BuiltIn):
    """Factors by weighted least squares over all pairs of user and item: weight ``alpha`` if the user had it, else 1.

    The equations of each user and item are solved separately, so results do not depend on the number of threads.

    Reference: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008.
    """

    name: ClassVar[str] = "ALS"
    library: ClassVar[str] = "implicit"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The matrix factorisation of the paper is that of Koren, Bell and Volinsky, which predicts ratings; the "
            "study takes ALS, which learns who rated what, because rating predictions rank poorly.",
            "BiasedMF()",
        ),
        Departure(
            "sudden-death",
            "The matrix factorisation of the paper is set up as in an article that we do not have (Kaya and Bridge "
            "2019); the studies take ALS with 50 factors.",
        ),
    )

    factors: int = 64
    regularization: float = 0.01
    alpha: float = 10.0
    iterations: int = 15
    seed: int = 0

    ranges: ClassVar[Ranges] = {COUNT: ("factors", "iterations"), AT_LEAST_0: ("regularization", "alpha")}

    def fit(self, log: Interactions) -> FittedFactors:
        """Solve for user factors and item factors in turn, and return them."""
        library = need("implicit.cpu.als", for_="ALS")
        with one_library_thread("blas"):  # the library warns on creation if BLAS has several threads
            model = library.AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.alpha,
                iterations=self.iterations,
                random_state=derive_seed(self.seed, "ALS") % 2**32,
            )
            return _fit_factors(model, log)


@dataclass(frozen=True, repr=False)
class BPR(BuiltIn):
    """Factors that rank items a user had above items the user did not have, learned pair by pair.

    Training uses one thread: the library's threads overwrite each other's results, so no seed could reproduce them.

    Reference: Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR, UAI 2009.
    """

    name: ClassVar[str] = "BPR"
    library: ClassVar[str] = "implicit"

    factors: int = 64
    learning_rate: float = 0.01
    regularization: float = 0.01
    iterations: int = 100
    seed: int = 0

    ranges: ClassVar[Ranges] = {
        COUNT: ("factors", "iterations"),
        AT_LEAST_0: ("regularization", "learning_rate"),
    }

    def fit(self, log: Interactions) -> FittedFactors:
        """Fit factors on sampled pairs of items, and return them."""
        model = need("implicit.cpu.bpr", for_="BPR").BayesianPersonalizedRanking(
            factors=self.factors,
            learning_rate=self.learning_rate,
            regularization=self.regularization,
            iterations=self.iterations,
            num_threads=1,
            random_state=derive_seed(self.seed, "BPR") % 2**32,
        )
        return _fit_factors(model, log)


@dataclass(frozen=True, repr=False)
class ItemKNN(BuiltIn):
    """Item-kNN: the score of an item is the sum of its similarities to the user's items, over nearest neighbours only.

    Similarities are rounded in their last bits so that sums are exact in any order: equal sums tie.

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    name: ClassVar[str] = "ItemKNN"
    library: ClassVar[str] = "implicit"

    neighbours: int = 100
    similarity: Literal["cosine", "tfidf", "bm25"] = "cosine"

    ranges: ClassVar[Ranges] = {COUNT: ("neighbours",)}

    def fit(self, log: Interactions) -> FittedProduct:
        """Find the nearest neighbours of every item, and return the fitted model."""
        classes = {"cosine": "CosineRecommender", "tfidf": "TFIDFRecommender", "bm25": "BM25Recommender"}
        library = need("implicit.nearest_neighbours", for_="ItemKNN")
        # One more: an item is its own nearest neighbour, which is useless, because the user already has it.
        model = getattr(library, classes[self.similarity])(K=self.neighbours + 1, num_threads=1)
        matrix = user_item_matrix(log)
        fit_quietly(model, scipy.sparse.csr_matrix(matrix))
        similarity = scipy.sparse.csr_array(model.similarity)
        longest = int(np.diff(matrix.indptr).max(initial=0))
        step = step_for(float(np.abs(similarity.data).max(initial=0.0)), longest)
        similarity.data = rounded(similarity.data, step)
        return FittedProduct(log, matrix, similarity)


def _fit_factors(model: Any, log: Interactions) -> FittedFactors:
    """Fit a factor model of the library and return its factors."""
    fit_quietly(model, scipy.sparse.csr_matrix(user_item_matrix(log), dtype=np.float32))
    return FittedFactors(log, np.asarray(model.user_factors), np.asarray(model.item_factors))
