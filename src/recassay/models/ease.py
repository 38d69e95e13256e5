"""EASE: a linear model of item-to-item weights with a closed-form solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.io.edge import available_memory
from recassay.errors import UsageError, out_of_memory
from recassay.models.base.model import BuiltIn, FittedProduct, user_item_matrix
from recassay.naming.named import COUNT, POSITIVE, Ranges
from recassay.threads import blocks, one_library_thread

ITEMS_PER_BLOCK = 512  # rows of the item-to-item matrix that are built or mirrored at a time
Table = NDArray[np.float32]


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

    name: ClassVar[str] = "EASE"

    l2: float = 500.0
    max_items: int = 20_000

    ranges: ClassVar[Ranges] = {COUNT: ("max_items",), POSITIVE: ("l2",)}

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
        _require_memory(log.n_items, str(self))
        matrix = user_item_matrix(log).astype(np.float32)
        with one_library_thread("blas"):  # several threads round differently from run to run
            weights = inverse(co_counts(matrix, self.l2))
        if weights is None:
            raise self.refuse("l2", "the item-to-item counts are too close to singular in single precision", "l2=500")
        diagonal = weights.diagonal().copy()
        weights /= -diagonal
        np.fill_diagonal(weights, 0.0)
        return FittedProduct(log, matrix, weights)


def _require_memory(n_items: int, where: str) -> None:
    """Raise U143 if the matrix of items x items, and a block of rows beside it, do not fit into the free memory."""
    needed, free = 4 * n_items * (n_items + ITEMS_PER_BLOCK), available_memory()
    if needed > free:
        raise out_of_memory(
            f"EASE needs {needed / 1e9:,.1f} GB for {n_items:,} items, and {free / 1e9:,.1f} GB are free",
            where=where,
            hint="filter rare items (core(items=5)), or take ItemKNN or ALS",
        )


def co_counts(matrix: scipy.sparse.csr_array, l2: float) -> Table:
    """Return X'X of a 0/1 matrix X in Fortran order, with ``l2`` added to its diagonal."""
    n_items = matrix.shape[1]
    by_item = scipy.sparse.csr_array(matrix.T)
    table = np.empty((n_items, n_items), np.float32, order="F")
    for begin, end in blocks(n_items, ITEMS_PER_BLOCK):
        table[:, begin:end] = (by_item[begin:end] @ matrix).toarray().T
    table[np.diag_indices(n_items)] += np.float32(l2)
    return table


def inverse(table: Table) -> Table | None:
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
    inverted: Table = factor.T  # symmetric; rows together, as a product of sparse rows reads them
    return inverted
