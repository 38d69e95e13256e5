"""Expected metrics of a random order of the items in each target set: the baseline of the chance-corrected mean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import ranges, readonly
from recassay.designs import _kernels, _places, _random_order
from recassay.designs._arguments import kernel_arguments, logs_and_parts
from recassay.designs.classes import Classes
from recassay.designs.sets import TargetSets
from recassay.metrics.credit import Credit
from recassay.threads import each_block

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

GROUPS_PER_BLOCK = 256
ROOM = 10_000_000  # most numbers a thread keeps for a group whose relevant items are computed together


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

    Groups with equal numbers are computed once. ``relevant`` is the number of relevant items ranked together in each
    group, ``table`` (credits, ranks) what a relevant item adds at each rank, and ranks beyond ``limit`` (per group) add
    nothing.
    """
    assert groups.whole is not None
    whole = groups.whole
    rows, inverse = np.arange(relevant.size), np.arange(relevant.size)
    if (np.diff(whole.offsets) == 1).all():  # all candidates of a group have the same mass: many groups are equal
        kinds = np.column_stack([relevant, groups.drawn, limit, whole.number, whole.mass, groups.pool])
        _, rows, inverse = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    top = np.minimum(limit, table.shape[1])
    nodes = _places.NODES * (groups.drawn + 1) * (np.minimum(groups.drawn + 1, top) + np.minimum(relevant, top))
    two = (_have_two_large_classes(whole, groups.drawn) & (nodes <= ROOM))[rows]
    sums = np.empty((rows.size, table.shape[0]))
    sums[two] = _over_two_classes(groups, rows[two], relevant, credits, table, limit, threads)
    sums[~two] = _item_by_item(groups, rows[~two], relevant, credits, table, limit, threads)
    found: Float = sums[inverse.ravel()].T
    return found


def _have_two_large_classes(whole: Classes, drawn: Int64) -> NDArray[np.bool_]:
    """Return whether the candidates of each group have two masses and more positions than are visited one by one."""
    lengths = np.diff(whole.offsets)
    positions = np.multiply.reduceat(np.append(whole.number + 1.0, 1.0), whole.offsets[:-1])
    found: NDArray[np.bool_] = (lengths == 2) & (positions > _places.MANY) & (drawn > 0)
    return found


def _over_two_classes(
    groups: TargetSets, rows: Int64, relevant: Int64, credits: Sequence[Credit], table: Float, limit: Int64,
    threads: int | None,
) -> Float:  # fmt: skip
    """Return what :func:`_with_replacement` does, of some ``rows`` only, whose candidates have two masses."""
    assert groups.whole is not None
    order = np.argsort(groups.drawn[rows], kind="stable")  # sets with as many draws share the probabilities of hits
    ordered = rows[order]
    whole, drawn = groups.whole.take(ordered), groups.drawn[ordered]
    logs, parts = logs_and_parts(2 * int(max(drawn.max(initial=0), whole.number.max(initial=0))))
    arrays = (whole.offsets, whole.number, whole.mass, relevant[ordered], drawn, limit[ordered])
    arguments: tuple[Any, ...] = tuple(readonly(array) for array in arrays)
    by_place = readonly(np.array([credit.part == "place" for credit in credits]))
    only_first, sums = credits[0].part == "first", np.empty((rows.size, len(credits)))
    kernels: Any = _random_order

    def work(begin: int, end: int) -> None:
        kernels.two_class_sums(begin, end, *arguments, by_place, only_first, readonly(table), logs, parts, sums)

    each_block(work, rows.size, size=GROUPS_PER_BLOCK, threads=threads)
    found = np.empty_like(sums)
    found[order] = sums
    return found


def _item_by_item(
    groups: TargetSets, rows: Int64, relevant: Int64, credits: Sequence[Credit], table: Float, limit: Int64,
    threads: int | None,
) -> Float:  # fmt: skip
    """Return what :func:`_with_replacement` does, of some ``rows`` only: all candidates tie with all relevant items."""
    assert groups.whole is not None
    top = np.minimum(limit[rows], table.shape[1])
    pairs = np.maximum(np.minimum(relevant[rows], top), 1)  # further items are beyond the last rank with credit
    of = np.repeat(rows, pairs)
    tied = replace(
        groups,
        offsets=np.append(0, np.cumsum(pairs)),
        above=np.zeros(of.size),
        tied=groups.pool[of],
        ties=(relevant[of] - 1).astype(np.int32),
        pool=groups.pool[rows],
        drawn=groups.drawn[rows],
        level=groups.whole.take(of),
    )
    place = ranges(1, pairs).astype(np.float64)
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
    found: Float = sums[:, 0]
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
        _random_order.random_order_sums(
            many, others, last, places, credit.part == "place", readonly(table), sums[begin:end]
        )

    each_block(work, len(kinds), size=GROUPS_PER_BLOCK)
    found: Float = sums[inverse.ravel()]
    return found
