"""Probabilistic latent semantic analysis: users are mixtures of aspects, each a distribution over items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, FittedFactors, user_item_matrix
from recassay.naming.named import Departure
from recassay.rng import derive
from recassay.threads import blocks, one_library_thread

PAIRS_PER_BLOCK = 65_536


@dataclass(frozen=True, repr=False)
class PLSA(BuiltIn):
    """Probabilistic latent semantic analysis: an item's score is p(i | u) = sum over aspects z of p(z | u) p(i | z).

    The probabilities are fitted by expectation maximisation. With n(u, i) = 1 where the user had the item, a step
    multiplies p(z | u) by sum_i n(u, i) p(i | z) / p(i | u) and p(i | z) by sum_u n(u, i) p(z | u) / p(i | u). Both use
    the values before the step and are normalised to sum to 1. The likelihood never decreases.

    Edges: a user without items gets the mean mixture.

    Reference: Hofmann, Latent semantic models for collaborative filtering, TOIS 22, 2004.
    """

    name: ClassVar[str] = "PLSA"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The article by Hofmann that the paper cites has models with and without ratings, and the paper does not "
            "say which it takes; PLSA takes who rated what.",
        ),
    )

    factors: int = 50
    iterations: int = 50
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 if a count is below 1."""
        self.at_least(1, "factors", "iterations")

    def fit(self, log: Interactions) -> FittedPLSA:
        """Fit mixtures and aspects from a random start, and return them."""
        require_log(log)
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


Table = NDArray[np.float64]


def _step(matrix: scipy.sparse.csr_array, mixtures: Table, aspects: Table) -> tuple[Table, Table, float]:
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


def _distributions(table: Table, axis: int) -> Table:
    """Return a table scaled so that it sums to 1 along an axis; sums of 0 stay 0."""
    total = table.sum(axis=axis, keepdims=True)
    return table / np.where(total > 0, total, 1)
