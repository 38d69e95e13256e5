"""Expected metrics of a random order of the items in each target set: the baseline of the chance-corrected mean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.designs import _kernels
from recassay.designs._arguments import kernel_arguments
from recassay.designs.sets import TargetSets
from recassay.metrics.credit import Credit
from recassay.threads import each_block

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

GROUPS_PER_BLOCK = 256


@dataclass(frozen=True)
class RandomOrders:
    """A cache of the value of each metric if all items are in random order, before division by its normaliser.

    Such a value is the expected sum, over relevant items, of a credit for the rank. Systems that answer the same
    queries rank the same candidates, so the sums are computed once for all of them. Use a cache for one design: it
    keeps the sums of every group of metrics that are computed together.
    """

    _found: dict[bytes, Float] = field(default_factory=dict)

    def sums(
        self, groups: TargetSets, relevant: Int64, credits: Sequence[Credit], table: Float, limit: Int64,
        threads: int | None = None,
    ) -> Float:  # fmt: skip
        """Return the expected sum of each credit in each group (credits, groups) if all items are in random order.

        A credit is what a relevant item adds at its rank. ``relevant`` is the number of relevant items ranked together
        in each group, ``table`` (credits, ranks) the credit at each rank, and ranks beyond ``limit`` (per group) have
        none.
        """
        if groups.whole is None:
            rows = zip(credits, table, strict=True)
            return np.stack([_without_replacement(credit, relevant, groups, row, limit) for credit, row in rows])
        whole = groups.whole
        arrays = (relevant, groups.drawn, groups.pool, limit, table, whole.offsets, whole.number, whole.mass)
        key = hashlib.blake2b(repr([credit.part for credit in credits]).encode())
        for array in arrays:
            key.update(np.ascontiguousarray(array).data)
        if key.digest() not in self._found:
            self._found[key.digest()] = _with_replacement(groups, relevant, credits, table, limit, threads)
        return self._found[key.digest()]


def _with_replacement(
    groups: TargetSets, relevant: Int64, credits: Sequence[Credit], table: Float, limit: Int64, threads: int | None
) -> Float:
    """Return the expected sums (credits, groups) of credits in random order, for draws with replacement.

    A random order is computed as one in which all candidates tie with all relevant items. Groups with equal numbers are
    computed once. ``relevant`` is the number of relevant items ranked together in each group, ``table`` (credits,
    ranks) what a relevant item adds at each rank, and ranks beyond ``limit`` (per group) add nothing.
    """
    assert groups.whole is not None
    whole = groups.whole
    rows, inverse = np.arange(relevant.size), np.arange(relevant.size)
    if (np.diff(whole.offsets) == 1).all():  # all candidates of a group have the same mass: many groups are equal
        kinds = np.column_stack([relevant, groups.drawn, limit, whole.number, whole.mass, groups.pool])
        _, rows, inverse = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    top = np.minimum(limit[rows], table.shape[1])
    pairs = np.maximum(np.minimum(relevant[rows], top), 1)  # further items are beyond the last rank with credit
    of = np.repeat(rows, pairs)
    offsets = np.append(0, np.cumsum(pairs))
    tied = replace(
        groups,
        offsets=offsets,
        above=np.zeros(of.size),
        tied=groups.pool[of],
        ties=(relevant[of] - 1).astype(np.int32),
        pool=groups.pool[rows],
        drawn=groups.drawn[rows],
        level=whole.take(of),
    )
    place = np.arange(of.size) - np.repeat(offsets[:-1], pairs) + 1.0
    share = np.stack([place if credit.part == "place" else np.ones(of.size) for credit in credits], axis=1)
    only_first = credits[0].part == "first"
    sums = np.zeros((rows.size, 2, table.shape[0]))
    arrays, logs, parts = kernel_arguments(tied, with_replacement=True)
    chosen = np.ones(rows.size, np.bool_)
    kernels: Any = _kernels

    def work(begin: int, end: int) -> None:
        kernels.separate_moments(
            begin, end, readonly(chosen), *arrays, True, False, only_first, readonly(share), readonly(table),
            readonly(limit[rows]), logs, parts, sums,
        )  # fmt: skip

    each_block(work, rows.size, size=GROUPS_PER_BLOCK, threads=threads)
    found: Float = sums[inverse.ravel(), 0].T
    return found


def _without_replacement(credit: Credit, relevant: Int64, groups: TargetSets, table: Float, limit: Int64) -> Float:
    """Return the expected sum (one per group) of one credit in random order, for draws without replacement.

    ``relevant`` is the number of relevant items ranked together in each group, ``table`` (ranks) what a relevant item
    adds at each rank, and ranks beyond ``limit`` (per group) add nothing.
    """
    drawn = groups.drawn
    sizes = relevant + drawn
    if credit.part == "each":  # every rank holds a relevant item with probability R / size
        cumulated = np.append(0.0, np.cumsum(table))
        sums_of_credit: Float = cumulated[np.minimum(np.minimum(sizes, limit), table.size)]
        return sums_of_credit * relevant / sizes
    kinds, inverse = np.unique(np.column_stack([relevant, drawn, limit]), axis=0, return_inverse=True)
    columns = [np.ascontiguousarray(column) for column in kinds.T]
    places = 1 if credit.part == "first" else int(relevant.max(initial=1))
    sums = np.empty(len(kinds))

    def work(begin: int, end: int) -> None:
        many, others, last = (readonly(column[begin:end]) for column in columns)
        _kernels.random_order_sums(many, others, last, places, credit.part == "place", readonly(table), sums[begin:end])

    each_block(work, len(kinds), size=GROUPS_PER_BLOCK)
    found: Float = sums[inverse.ravel()]
    return found
