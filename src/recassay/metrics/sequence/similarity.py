"""How alike two items are, for the pairs that stand together in some list, and for no others.

A table of all pairs of 200,000 items would be forty billion numbers; lists of five show a few hundred thousand pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.layout import readonly
from recassay.data.recoding import Recoding
from recassay.data.sequences import SequenceFold
from recassay.errors import InputError
from recassay.metrics.sequence import _kernels
from recassay.threads import blocks, each_block

Codes = NDArray[np.int64]
Float = NDArray[np.float64]
OfPairs = Callable[[Codes, Codes], Float]

OWNERS_PER_BLOCK = 512
PAIRS_PER_BLOCK = 1 << 18
FIRST_TABLE = 1 << 12
ROUNDING = 1e-9


class Similarity:
    """Similarities of pairs, computed when a list first shows a pair.

    ``own`` is the similarity of each item to itself. Items that are not ``known`` are like nothing: 0. ``of_pairs``
    answers for pairs of different known items.
    """

    def __init__(self, own: Float, known: NDArray[np.bool_], of_pairs: OfPairs) -> None:
        self.own, self.known, self.of_pairs = own, known, of_pairs
        self._keys, self._values, self._count = np.full(FIRST_TABLE, -1, np.int64), np.empty(FIRST_TABLE), 0

    def meet(self, items: NDArray[np.int32], k: int) -> None:
        """Compute what the first k places of these lists need. Call it on one thread, before :meth:`apart`."""
        table = _kernels.note_pairs(readonly(items), k, readonly(self.known), self._keys, self._values, self._count)
        self._keys, self._values, self._count = table
        missing = np.flatnonzero((self._keys >= 0) & np.isnan(self._values))
        low, high = np.divmod(self._keys[missing], self.own.size)
        self._values[missing] = self.of_pairs(low, high)

    def apart(self, items: NDArray[np.int32], k: int) -> Float:
        """For each of the first k places the sum of 1 - similarity over the places before it."""
        out = np.empty((items.shape[0], k))
        _kernels.distances(readonly(items), readonly(self.own), readonly(self._keys), readonly(self._values), out)
        return out


def of_training(fold: SequenceFold, threads: int | None = None) -> Similarity:
    """Cosine of the vectors of how often two items occur in each training sequence."""
    train, counts = fold.train, fold.counts
    starts, numbers = _kernels.occurrences(readonly(train.offsets), readonly(train.items), readonly(counts))
    norms = _kernels.squared_norms(starts, numbers).astype(np.float64)

    def cosine(low: Codes, high: Codes) -> Float:
        rare = counts[low] <= counts[high]
        owner, partner = np.where(rare, low, high), np.where(rare, high, low)  # a pair costs what its rarer item costs
        order = np.argsort(owner, kind="stable")
        owner, partner = owner[order], partner[order]
        heads = np.flatnonzero(np.diff(owner, prepend=-1))
        bounds, products = np.append(heads, owner.size), np.empty(owner.size, np.int64)

        def multiply(begin: int, end: int) -> None:
            _kernels.shared_sequences(
                readonly(owner[heads[begin:end]]), readonly(bounds[begin : end + 1]), readonly(partner),
                readonly(starts), readonly(numbers), readonly(train.offsets), readonly(train.items), products,
            )  # fmt: skip

        each_block(multiply, heads.size, size=OWNERS_PER_BLOCK, threads=threads)
        out = np.empty(owner.size)
        out[order] = np.minimum(products / np.sqrt(norms[owner] * norms[partner]), 1.0)
        return out

    return Similarity((counts > 0).astype(np.float64), counts > 0, cosine)


def of_features(fold: SequenceFold, features: Features) -> Similarity:
    """Cosine of the sets of features of two items; an item without features is like nothing, itself included."""
    from scipy.sparse import csr_array

    every = np.arange(fold.n_items, dtype=np.int32)
    rows = Recoding.between(fold.train.item_vocabulary, features.items)(every)
    if not (rows >= 0).any():
        ours, theirs = fold.train.item_vocabulary.decode(every[:3]).to_list(), features.items.head(3).to_list()
        raise InputError(
            "I407",
            f"no item of the sequences (such as {', '.join(map(repr, ours))}) is in the item features "
            f"(such as {', '.join(map(repr, theirs))})",
            where=features.origin,
            hint="check that both use the same ids",
        )
    shape = (features.n_items, features.names.len())
    has = csr_array((np.ones(features.codes.size), features.codes, features.offsets), shape)
    sizes = np.where(rows >= 0, np.diff(features.offsets)[rows], 0)

    def cosine(low: Codes, high: Codes) -> Float:
        out = np.empty(low.size)
        for begin, end in blocks(low.size, PAIRS_PER_BLOCK):
            one, other = low[begin:end], high[begin:end]
            shared = (has[rows[one]] * has[rows[other]]).sum(axis=1)
            out[begin:end] = shared / np.sqrt(sizes[one] * sizes[other])
        return out

    return Similarity((sizes > 0).astype(np.float64), sizes > 0, cosine)


def of_matrix(fold: SequenceFold, matrix: Any) -> Similarity:
    """Similarities as they were given: a dense or sparse symmetric matrix over the items, ascending by id."""
    from scipy.sparse import csr_array, issparse

    given: Any = csr_array(matrix) if issparse(matrix) else np.asarray(matrix, np.float64)
    numbers = np.asarray(given.data if issparse(given) else given)
    why = ""
    if given.shape != (fold.n_items, fold.n_items):
        why = f"their shape is {given.shape}, and there are {fold.n_items:,} items"
    elif not (np.abs(numbers) <= 1 + ROUNDING).all():  # NaN is not within bounds either
        why = "a similarity is not between -1 and 1"
    elif numbers.size and abs(given - given.T).max() > ROUNDING:
        why = "they are not symmetric: how alike two items are must not depend on which comes first"
    if why:
        raise InputError(
            "I362", f"the given similarities cannot be used: {why}",
            hint="a dense or sparse matrix, one row and column for each item of the fold, ascending by id",
        )  # fmt: skip
    known = np.ones(fold.n_items, np.bool_)
    return Similarity(np.asarray(given.diagonal(), np.float64), known, lambda low, high: np.asarray(given[low, high]))
