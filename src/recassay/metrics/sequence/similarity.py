"""Similarities of items, computed only for pairs that occur together in some list.

A table of all pairs of 200,000 items would have forty billion entries; lists of five hold a few hundred thousand pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.layout import readonly
from recassay.columnar.vocabulary import Recoding, rows_in_table
from recassay.data.features import Features
from recassay.data.io.read import read_table
from recassay.data.sequences import SequenceFold
from recassay.errors import InputError
from recassay.threads import blocks, each_block

OfPairs = Callable[[Int64, Int64], Float]
HasPairs = Callable[[Int64, Int64], Bool]

OWNERS_PER_BLOCK = 512
PAIRS_PER_BLOCK = 1 << 18
FIRST_TABLE = 1 << 12
ROUNDING = 1e-9
PAIR_COLUMNS = ("item_id", "other_id", "similarity")  # of a table of pairs


class Similarity:
    """Similarities of pairs of items; each is computed once a list holds the pair.

    ``own`` is the similarity of each item to itself. Items that are not ``known`` have similarity 0 to every item.
    ``of_pairs`` computes the similarities of pairs of different known items, and ``has_pairs`` says which pairs have a
    given one (None: all pairs have).
    """

    def __init__(self, own: Float, known: Bool, of_pairs: OfPairs, has_pairs: HasPairs | None = None) -> None:
        self.own, self.known, self.of_pairs, self.has_pairs = own, known, of_pairs, has_pairs
        self._keys, self._values, self._count = np.full(FIRST_TABLE, -1, np.int64), np.empty(FIRST_TABLE), 0

    def add_pairs(self, items: Int32, k: int) -> None:
        """Compute and store the similarity of every two items that occur in the first k places of the same list.

        ``items`` are the lists, one per row. Call it on one thread, before other methods.
        """
        table = note_pairs(readonly(items), k, readonly(self.known), self._keys, self._values, self._count)
        self._keys, self._values, self._count = table
        missing = np.flatnonzero((self._keys >= 0) & np.isnan(self._values))
        low, high = np.divmod(self._keys[missing], self.own.size)
        self._values[missing] = self.of_pairs(low, high)

    def given_pairs(self) -> dict[str, int]:
        """Return the number of ``pairs`` of different items in lists, and of those with a ``given`` similarity."""
        low, high = np.divmod(self._keys[self._keys >= 0], self.own.size)
        return {
            "pairs": low.size,
            "given": low.size if self.has_pairs is None else int(self.has_pairs(low, high).sum()),
        }

    def distance_sums(self, items: Int32, k: int) -> Float:
        """Return (n, k): for each of the first k places, the sum of 1 - similarity to the items before it."""
        out = np.empty((items.shape[0], k))
        distances(readonly(items), readonly(self.own), readonly(self._keys), readonly(self._values), out)
        return out


def of_training(fold: SequenceFold, threads: int | None = None) -> Similarity:
    """Return similarities of items by training sequences.

    The similarity of two items is the cosine of two vectors: how often each occurs in each training sequence.
    """
    train, counts = fold.train, fold.counts
    starts, numbers, squares = occurrences(readonly(train.offsets), readonly(train.items), readonly(counts))
    norms = squares.astype(np.float64)

    def cosine(low: Int64, high: Int64) -> Float:
        rare = counts[low] <= counts[high]
        owner, partner = np.where(rare, low, high), np.where(rare, high, low)  # a pair costs as much as its owner
        order = np.argsort(owner, kind="stable")
        owner, partner = owner[order], partner[order]
        heads = np.flatnonzero(np.diff(owner, prepend=-1))
        bounds, products = np.append(heads, owner.size), np.empty(owner.size, np.int64)

        def multiply(begin: int, end: int) -> None:
            shared_sequences(
                readonly(owner[heads[begin:end]]), readonly(bounds[begin : end + 1]), readonly(partner),
                readonly(starts), readonly(numbers), readonly(train.offsets), readonly(train.items), products,
            )  # fmt: skip

        each_block(multiply, heads.size, size=OWNERS_PER_BLOCK, threads=threads)
        out = np.empty(owner.size)
        out[order] = np.minimum(products / np.sqrt(norms[owner] * norms[partner]), 1.0)
        return out

    return Similarity((counts > 0).astype(np.float64), counts > 0, cosine)


def of_features(fold: SequenceFold, features: Features | None) -> Similarity:
    """Return similarities of items by features: the cosine of their feature sets.

    An item without features has similarity 0 to every item, itself included. Raise I407 if no item of the fold has a
    row in the table of features.
    """
    from scipy.sparse import csr_array

    assert features is not None, "a metric that uses features requires them in ready()"
    features = features.required()
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
    has = csr_array(
        (np.ones(features.codes.size), features.codes, features.offsets), ((features.n_items, features.names.len()))
    )
    sizes = np.where(rows >= 0, np.diff(features.offsets)[rows], 0)

    def cosine(low: Int64, high: Int64) -> Float:
        out = np.empty(low.size)
        for begin, end in blocks(low.size, PAIRS_PER_BLOCK):
            one, other = low[begin:end], high[begin:end]
            shared = (has[rows[one]] * has[rows[other]]).sum(axis=1)
            out[begin:end] = shared / np.sqrt(sizes[one] * sizes[other])
        return out

    return Similarity((sizes > 0).astype(np.float64), sizes > 0, cosine)


def of_given(fold: SequenceFold, given: Any) -> Similarity:
    """Return the similarities that a user gave: a matrix, or a table of pairs in memory or in a file."""
    if isinstance(given, str | Path) or PAIR_COLUMNS[2] in getattr(given, "columns", ()):
        given = matrix_of_pairs(fold, given)
    return of_matrix(fold, given)


def matrix_of_pairs(fold: SequenceFold, table: Any) -> Any:
    """Return the sparse matrix of a table with columns item_id, other_id and similarity; unlisted pairs have 0.

    A pair may be listed in one order or in both. An item has similarity 1 with itself unless the table says otherwise.
    Items that occur in no sequence are left out.
    """
    from scipy.sparse import csr_array

    frame = read_table(table, "items")
    if missing := [name for name in PAIR_COLUMNS if name not in frame.columns]:
        raise unusable(f"the table of pairs has no column {missing[0]}: there are {', '.join(frame.columns)}")
    ids = fold.train.item_vocabulary.stored_ids
    one, other = (rows_in_table(frame[name], ids) for name in PAIR_COLUMNS[:2])
    listed = pl.DataFrame({"one": one, "other": other, "value": frame[PAIR_COLUMNS[2]].cast(pl.Float64)})
    known = listed.filter(pl.col("one") >= 0, pl.col("other") >= 0)
    if known.is_empty():
        raise unusable(
            f"no pair of the table has both items in the sequences (such as {', '.join(map(repr, ids.head(3)))})"
        )
    ends = pl.min_horizontal("one", "other").alias("low"), pl.max_horizontal("one", "other").alias("high")
    pairs = known.group_by(*ends, maintain_order=True).agg(
        pl.first("value"), differ=pl.max("value") - pl.min("value") > ROUNDING
    )
    if pairs["differ"].any():
        raise unusable("a pair is listed several times with different similarities")
    itself, apart = pairs.filter(pl.col("low") == pl.col("high")), pairs.filter(pl.col("low") != pl.col("high"))
    diagonal = np.ones(fold.n_items)
    diagonal[itself["low"].to_numpy()] = itself["value"]
    low, high = apart["low"].to_numpy(), apart["high"].to_numpy()
    every = np.arange(fold.n_items)
    places = np.concatenate([low, high, every]), np.concatenate([high, low, every])
    entries = np.concatenate([apart["value"], apart["value"], diagonal])
    return csr_array((entries, places), shape=(fold.n_items, fold.n_items))


def of_matrix(fold: SequenceFold, matrix: Any) -> Similarity:
    """Return similarities from a symmetric matrix, dense or sparse, over the items, ascending by id.

    Raise I362 for any other matrix.
    """
    from scipy.sparse import csr_array, issparse

    given: Any = csr_array(matrix) if issparse(matrix) else np.asarray(matrix, np.float64)
    numbers = np.asarray(given.data if issparse(given) else given)
    why = ""
    if given.shape != (fold.n_items, fold.n_items):
        why = f"their shape is {given.shape}, and there are {fold.n_items:,} items"
    elif not (np.abs(numbers) <= 1 + ROUNDING).all():  # written so that NaN fails, too
        why = "a similarity is not between -1 and 1"
    elif numbers.size and abs(given - given.T).max() > ROUNDING:
        why = "they are not symmetric: how alike two items are must not depend on which comes first"
    if why:
        raise unusable(why)
    known = np.ones(fold.n_items, np.bool_)
    diagonal = np.ascontiguousarray(given.diagonal(), np.float64)
    if not issparse(given):
        return Similarity(diagonal, known, lambda low, high: np.asarray(given[low, high]))
    stored = csr_array((np.ones(given.data.size), given.indices, given.indptr), given.shape)
    return Similarity(
        diagonal,
        known,
        lambda low, high: np.asarray(given[low, high]),
        lambda low, high: np.asarray(stored[low, high]) > 0,
    )


def unusable(why: str) -> InputError:
    """Return the error for given similarities that cannot be used; ``why`` is the reason as text."""
    hint = "a dense or sparse matrix, one row and column for each item of the fold, ascending by id; or a table of "
    hint += f"pairs with columns {', '.join(PAIR_COLUMNS)}"
    return InputError("I362", f"the given similarities cannot be used: {why}", hint=hint)


@njit(nogil=True, cache=True)
def occurrences(offsets: Int64, sequences: Int32, counts: Int64) -> tuple[Int64, Int32, Int64]:
    """Return (starts, numbers, squares): ``numbers[starts[i]:starts[i + 1]]`` are the sequences with item i, ascending.

    A sequence is repeated as often as it has the item, and ``squares[i]`` is the sum over sequences of the square of
    this number. ``sequences[offsets[s]:offsets[s + 1]]`` are the items of sequence s, and ``counts`` the occurrences of
    each item.
    """
    starts = np.append(0, np.cumsum(counts))
    place, numbers = starts[:-1].copy(), np.empty(sequences.size, np.int32)
    squares, times = np.zeros(counts.size, np.int64), np.zeros(counts.size, np.int64)  # times: in the sequence so far
    for s in range(offsets.size - 1):
        for at in range(offsets[s], offsets[s + 1]):
            item = sequences[at]
            again = place[item] > starts[item] and numbers[place[item] - 1] == s
            times[item] = times[item] + 1 if again else 1
            squares[item] += 2 * times[item] - 1
            numbers[place[item]] = s
            place[item] += 1
    return starts, numbers, squares


@njit(nogil=True, cache=True)
def shared_sequences(
    owners: Int64, bounds: Int64, partners: Int64, starts: Int64, numbers: Int32,
    offsets: Int64, sequences: Int32, out: Int64,
) -> None:  # fmt: skip
    """Write to ``out[p]`` the dot product of the count vectors of the two items of pair p.

    The count vector of an item says how often it occurs in each sequence. For p from ``bounds[o]`` to ``bounds[o + 1]``
    - 1, the items of pair p are ``owners[o]`` and ``partners[p]``. ``numbers[starts[i]:starts[i + 1]]`` are the
    sequences of item i, once per occurrence, and ``sequences[offsets[s]:offsets[s + 1]]`` the items of sequence s.
    Every occurrence of an owner visits its sequence once. The cost is the length of the owner's sequences, whatever the
    number of its partners.
    """
    slot = np.full(starts.size - 1, -1, np.int64)  # the pair in which an item is counted, if it is a partner
    for o in range(owners.size):
        for pair in range(bounds[o], bounds[o + 1]):
            slot[partners[pair]] = pair
            out[pair] = 0
        for at in range(starts[owners[o]], starts[owners[o] + 1]):
            for row in range(offsets[numbers[at]], offsets[numbers[at] + 1]):
                pair = slot[sequences[row]]
                if pair >= 0:
                    out[pair] += 1
        for pair in range(bounds[o], bounds[o + 1]):
            slot[partners[pair]] = -1


@njit(nogil=True, cache=True, inline="always")
def _place_of(keys: Int64, key: np.int64) -> np.uint64:
    """Return the slot of ``key`` in an open hash table, or the free slot (-1 in ``keys``) where it belongs."""
    mask = np.uint64(keys.size - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = (mixed ^ (mixed >> np.uint64(32))) & mask
    while keys[place] >= 0 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return place


@njit(nogil=True, cache=True)
def note_pairs(items: Int32, k: int, known: Bool, keys: Int64, values: Float, count: int) -> tuple[Int64, Float, int]:
    """Add all pairs of two known items in the first k places of each list to a hash table, with value NaN if new.

    The table is ``keys`` and ``values``, with ``count`` pairs. The key of a pair is lower item * number of items +
    higher item. Return keys, values and number of pairs; the arrays are larger if more than half of the table was full.
    """
    for row in range(items.shape[0]):
        for j in range(k):
            for p in range(j):
                one, other = items[row, p], items[row, j]
                if one == other or one < 0 or other < 0 or not (known[one] and known[other]):
                    continue
                if 2 * count >= keys.size:
                    old_keys, old_values = keys, values
                    keys, values = np.full(2 * old_keys.size, -1, np.int64), np.empty(2 * old_keys.size, np.float64)
                    for old in range(old_keys.size):
                        if old_keys[old] >= 0:
                            place = _place_of(keys, old_keys[old])
                            keys[place], values[place] = old_keys[old], old_values[old]
                key = np.int64(min(one, other)) * known.size + max(one, other)
                place = _place_of(keys, key)
                if keys[place] < 0:
                    keys[place], values[place] = key, np.nan
                    count += 1
    return keys, values, count


@njit(nogil=True, cache=True)
def distances(items: Int32, own: Float, keys: Int64, values: Float, out: Float) -> None:
    """Write to ``out[s, j]`` the sum of 1 - similarity of the item at place j of list s to each item before it.

    ``own[i]`` is the similarity of item i to itself, for items that come again. The hash table of ``keys`` and
    ``values`` holds the similarities of pairs of items i < j, by the key i * len(own) + j; a pair outside the table has
    similarity 0.
    """
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            if items[row, j] >= 0:
                for p in range(j):
                    one, other = items[row, p], items[row, j]
                    if one == other:
                        total += 1.0 - own[one]
                        continue
                    place = _place_of(keys, np.int64(min(one, other)) * own.size + max(one, other))
                    total += 1.0 - values[place] if keys[place] >= 0 else 1.0
            out[row, j] = total
