"""Models of factors: of ratings, of 0/1 events, topics and singular vectors; and EASE, a linear model of item pairs.

ALS and BPR are those of the library implicit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from recassay._kernel_cache import njit
from recassay.arrays import Float, Float32, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.data.interactions import Interactions
from recassay.data.io.edge import available_memory
from recassay.errors import UsageError, out_of_memory
from recassay.models.base._biased_step import step
from recassay.models.base.model import (
    BuiltIn,
    FittedFactors,
    FittedProduct,
    fit_quietly,
    rating_values,
    user_item_matrix,
)
from recassay.naming.named import AT_LEAST_0, COUNT, POSITIVE, Departure
from recassay.optional import need
from recassay.rng import derive, derive_seed
from recassay.threads import blocks, one_library_thread

SPREAD = 0.1  # the largest factor at the start
PAIRS_PER_BLOCK = 65_536
SMALL = 200  # users or items up to which the full SVD is used: with repeated values the iterative one restarts randomly

ITEMS_PER_BLOCK = 512  # rows of the item-to-item matrix that are built or mirrored at a time


@dataclass(frozen=True, repr=False)
class BiasedMF(BuiltIn):
    """Biased matrix factorisation: the score of an item is its predicted rating m + b_u + b_i + p_u . q_i.

    m is the mean rating; biases b and factors p and q are learned by stochastic gradient descent. In each of ``epochs``
    every rating is learned once, in random order: with the error e of its prediction, b_u += ``rate`` (e - ``reg``
    b_u), the same for b_i, p_u += ``rate`` (e q_i - ``reg`` p_u) and q_i += ``rate`` (e p_u - ``reg`` q_i), with the
    factors before the step. Factors start at random within 0.1.

    Edges: a user or item without ratings has no bias and no factors. Items are ranked by predicted rating, so an item
    with few and high ratings can be first: papers that compare such models report that this ranks poorly. A log without
    ratings raises I307. The order of rows does not matter.

    >>> import polars as pl
    >>> rows = [(1, "a", 5), (1, "b", 1), (2, "a", 5), (2, "c", 1), (3, "b", 1)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    >>> fitted = BiasedMF(factors=2, epochs=200, rate=0.05).fit(log)
    >>> fitted.scores(np.array([2], np.int32)).argmax(axis=1).tolist()
    [0]

    Reference: Koren, Bell and Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
    """

    reads_ratings: ClassVar[bool | None] = True

    factors: Annotated[int, COUNT] = 50
    epochs: Annotated[int, COUNT] = 20
    rate: Annotated[float, POSITIVE] = 0.005
    reg: Annotated[float, AT_LEAST_0] = 0.02
    seed: int = 0

    def fit(self, log: Interactions) -> FittedBiasedMF:
        """Learn biases and factors; raise I307 for a log without ratings."""
        ratings = rating_values(log, self.name)
        by_id = np.lexsort((ratings, log.items, log.users))  # the order of rows must not matter
        columns = readonly(log.users[by_id]), readonly(log.items[by_id]), readonly(ratings[by_id])
        rng = derive(self.seed, "biased factors")
        factors = [SPREAD * (2 * rng.random((size, self.factors)) - 1) for size in (log.n_users, log.n_items)]
        biases = [np.zeros(log.n_users), np.zeros(log.n_items)]
        mean = float(ratings.sum() / max(ratings.size, 1))
        errors = []
        for _ in range(self.epochs):
            order = readonly(rng.permutation(ratings.size))
            total = _descend(*columns, order, mean, self.rate, self.reg, *biases, *factors)
            errors.append(float(np.sqrt(total / max(ratings.size, 1))))
        factors[0][np.bincount(log.users, minlength=log.n_users) == 0] = 0
        factors[1][np.bincount(log.items, minlength=log.n_items) == 0] = 0
        ones = np.ones(log.n_users), np.ones(log.n_items)
        users = np.column_stack([factors[0], mean + biases[0], ones[0]]).astype(np.float32)
        items = np.column_stack([factors[1], ones[1], biases[1]]).astype(np.float32)
        return FittedBiasedMF(log, users, items, tuple(errors))


@dataclass(frozen=True, eq=False)
class FittedBiasedMF(FittedFactors):
    """A fitted biased factor model: factors with two columns for biases, and the RMSE of training by epoch."""

    errors: tuple[float, ...]

    def predict(self, users: Int32, items: Int32) -> Float32:
        """Return the predicted rating of each pair of a user and an item."""
        return np.asarray((self.user_factors[users] * self.item_factors[items]).sum(axis=1))


@njit(nogil=True, cache=True)
def _descend(
    users: Int32, items: Int32, ratings: Float, order: Int64, mean: float, rate: float, reg: float,
    user_bias: Float, item_bias: Float, user_factors: Float, item_factors: Float,
) -> float:  # fmt: skip
    """Learn each rating once, in ``order``, and return the sum of squared errors, each before its step.

    Rating r is ``ratings[r]`` of user ``users[r]`` for item ``items[r]``, and ``mean`` is the mean of all. ``rate`` is
    the learning rate and ``reg`` the penalty. Biases and factors (rows, factors) are changed in place.
    """
    total = 0.0
    for row in order:
        error = step(
            users[row], items[row], ratings[row], mean, rate, reg, user_bias, item_bias, user_factors, item_factors
        )
        total += error * error
    return total


@dataclass(frozen=True, repr=False)
class ALS(BuiltIn):
    """Factors by weighted least squares over all pairs of user and item: weight ``alpha`` if the user had it, else 1.

    The equations of each user and item are solved separately, so results do not depend on the number of threads.

    Reference: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008.
    """

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

    factors: Annotated[int, COUNT] = 64
    regularization: Annotated[float, AT_LEAST_0] = 0.01
    alpha: Annotated[float, AT_LEAST_0] = 10.0
    iterations: Annotated[int, COUNT] = 15
    seed: int = 0

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

    library: ClassVar[str] = "implicit"

    factors: Annotated[int, COUNT] = 64
    learning_rate: Annotated[float, AT_LEAST_0] = 0.01
    regularization: Annotated[float, AT_LEAST_0] = 0.01
    iterations: Annotated[int, COUNT] = 100
    seed: int = 0

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


def _fit_factors(model: Any, log: Interactions) -> FittedFactors:
    """Fit a factor model of the library and return its factors."""
    fit_quietly(model, scipy.sparse.csr_matrix(user_item_matrix(log), dtype=np.float32))
    return FittedFactors(log, np.asarray(model.user_factors), np.asarray(model.item_factors))


@dataclass(frozen=True, repr=False)
class PLSA(BuiltIn):
    """Probabilistic latent semantic analysis: an item's score is p(i | u) = sum over aspects z of p(z | u) p(i | z).

    The probabilities are fitted by expectation maximisation. With n(u, i) = 1 where the user had the item, a step
    multiplies p(z | u) by sum_i n(u, i) p(i | z) / p(i | u) and p(i | z) by sum_u n(u, i) p(z | u) / p(i | u). Both use
    the values before the step and are normalised to sum to 1. The likelihood never decreases.

    Edges: a user without items gets the mean mixture.

    Reference: Hofmann, Latent semantic models for collaborative filtering, TOIS 22, 2004.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The article by Hofmann that the paper cites has models with and without ratings, and the paper does not "
            "say which it takes; PLSA takes who rated what.",
        ),
    )

    factors: Annotated[int, COUNT] = 50
    iterations: Annotated[int, COUNT] = 50
    seed: int = 0

    def fit(self, log: Interactions) -> FittedPLSA:
        """Fit mixtures and aspects from a random start, and return them."""
        matrix = user_item_matrix(log)
        rng = derive(self.seed, "pLSA")
        mixtures = _distributions(1 + rng.random((log.n_users, self.factors)), axis=1)
        aspects = _distributions(1 + rng.random((log.n_items, self.factors)), axis=0)
        likelihood = []
        with one_library_thread():
            for _ in range(self.iterations):
                mixtures, aspects, log_likelihood = _step(matrix, mixtures, aspects)
                likelihood.append(log_likelihood)
        return FittedPLSA(log, mixtures.astype(np.float32), aspects.astype(np.float32), tuple(likelihood))


@dataclass(frozen=True, eq=False)
class FittedPLSA(FittedFactors):
    """A fitted PLSA: p(z | u) (users, aspects), p(i | z) (items, aspects), and the log-likelihood before each step."""

    likelihood: tuple[float, ...]


def _step(matrix: scipy.sparse.csr_array, mixtures: Float, aspects: Float) -> tuple[Float, Float, float]:
    """Return p(z | u), p(i | z) after one step of expectation maximisation, and the log-likelihood before it.

    ``matrix`` is the 0/1 matrix of users and items, ``mixtures`` are p(z | u) (users, aspects), and ``aspects`` are p(i
    | z) (items, aspects).
    """
    users = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    probability = np.empty(matrix.nnz)
    for begin, end in blocks(matrix.nnz, PAIRS_PER_BLOCK):
        pairs = slice(begin, end)
        np.einsum("pz,pz->p", mixtures[users[pairs]], aspects[matrix.indices[pairs]], out=probability[pairs])
    weights = scipy.sparse.csr_array((matrix.data / probability, matrix.indices, matrix.indptr), shape=matrix.shape)
    responsible = mixtures * (weights @ aspects)
    responsible[np.diff(matrix.indptr) == 0] = responsible.sum(axis=0)
    explained = aspects * (weights.T @ mixtures)
    return _distributions(responsible, axis=1), _distributions(explained, axis=0), float(np.log(probability).sum())


def _distributions(table: Float, axis: int) -> Float:
    """Return a table scaled so that it sums to 1 along an axis; sums of 0 stay 0."""
    total = table.sum(axis=axis, keepdims=True)
    return table / np.where(total > 0, total, 1)


@dataclass(frozen=True, repr=False)
class PureSVD(BuiltIn):
    """Truncated SVD: scores are R V V', with R the 0/1 matrix of users and items.

    V has the ``factors`` leading right singular vectors of R.

    Edges: ``factors`` must be smaller than the number of users and of items. The signs of V cancel out.

    Reference: Cremonesi, Koren and Turrin, Performance of recommender algorithms on top-n recommendation tasks, RecSys
    2010.
    """

    factors: int = 50

    def fit(self, log: Interactions) -> FittedProduct:
        """Compute the leading item vectors, and return the fitted model; raise U102 for too few users or items."""
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
        vectors = np.ascontiguousarray(vectors)
        return FittedProduct(log, matrix @ vectors.T, vectors)


@dataclass(frozen=True, repr=False)
class EASE(BuiltIn):
    """A linear model: scores are X B; B minimises |X - X B|^2 + ``l2`` |B|^2 among matrices with a diagonal of zeros.

    X is the 0/1 matrix of users and items. With P the inverse of X'X + ``l2`` I, B[i, j] is -P[i, j] / P[j, j]. The
    whole matrix of items x items is kept in single precision: 4 bytes for each pair of items, 1.6 GB for 20,000 items.
    ``max_items`` is the largest catalogue that is accepted. Before anything is computed, the memory that is free is
    compared with what the matrix needs.

    Edges: a user without items has scores of 0. The inverse is computed on one thread, so that its bits do not depend
    on the number of threads: about four minutes for 20,000 items.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": [*"abbca"]}))
    >>> EASE(l2=1.0).fit(log).right.round(6).tolist()
    [[0.0, 0.333..., -0.125], [0.4..., 0.0, 0.375], [-0.2..., 0.5, 0.0]]

    Reference: Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019.
    """

    l2: Annotated[float, POSITIVE] = 500.0
    max_items: Annotated[int, COUNT] = 20_000

    def fit(self, log: Interactions) -> FittedProduct:
        """Compute the item-to-item weights, and return the fitted model; raise U102 beyond ``max_items`` items."""
        if log.n_items > self.max_items:
            raise UsageError(
                "U102",
                f"EASE keeps 4 bytes for each pair of items, {4 * log.n_items**2 / 1e9:,.1f} GB for {log.n_items:,} "
                f"items; the limit is max_items={self.max_items:,}",
                where=str(self),
                hint=f"filter rare items (core(items=5)), take ItemKNN or ALS, or say EASE(max_items={log.n_items})",
            )
        needed, free = 4 * log.n_items * (log.n_items + ITEMS_PER_BLOCK), available_memory()  # with a block of rows
        if needed > free:
            raise out_of_memory(
                f"EASE needs {needed / 1e9:,.1f} GB for {log.n_items:,} items, and {free / 1e9:,.1f} GB are free",
                where=str(self),
                hint="filter rare items (core(items=5)), or take ItemKNN or ALS",
            )
        matrix = user_item_matrix(log).astype(np.float32)
        with one_library_thread("blas"):  # several threads round differently from run to run
            weights = inverse(co_counts(matrix, self.l2))
        if weights is None:
            raise self.refuse("l2", "the item-to-item counts are too close to singular in single precision", "l2=500")
        diagonal = weights.diagonal().copy()
        weights /= -diagonal
        np.fill_diagonal(weights, 0.0)
        return FittedProduct(log, matrix, weights)


def co_counts(matrix: scipy.sparse.csr_array, l2: float) -> Float32:
    """Return X'X of a 0/1 matrix X in Fortran order, with ``l2`` added to its diagonal."""
    n_items = matrix.shape[1]
    by_item = scipy.sparse.csr_array(matrix.T)
    table = np.empty((n_items, n_items), np.float32, order="F")
    for begin, end in blocks(n_items, ITEMS_PER_BLOCK):
        table[:, begin:end] = (by_item[begin:end] @ matrix).toarray().T
    table[np.diag_indices(n_items)] += np.float32(l2)
    return table


def inverse(table: Float32) -> Float32 | None:
    """Return the inverse of a symmetric positive definite matrix in Fortran order, which is overwritten.

    The result is None if the matrix is singular up to the rounding of single precision.
    """
    from scipy.linalg.lapack import spotrf, spotri  # slow to import

    factor, failed = spotrf(table, lower=1, overwrite_a=1)
    if not failed:
        factor, failed = spotri(factor, lower=1, overwrite_c=1)
    if failed:
        return None
    for begin, end in blocks(len(table), ITEMS_PER_BLOCK):  # LAPACK fills the lower triangle only
        factor[begin:end, end:] = factor[end:, begin:end].T
        square = factor[begin:end, begin:end]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return np.asarray(factor.T)  # symmetric; rows together, as a product of sparse rows reads them
