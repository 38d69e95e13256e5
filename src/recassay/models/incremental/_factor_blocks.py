"""Item factors in blocks: ``items[b, f, i]`` is factor f of item ``ITEMS_PER_BLOCK * b + i``.

This layout scores many items with one vector instruction, and a new item takes the next free place of the last block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float32
from recassay.models.incremental._walk import UNKNOWN_ITEM, compare
from recassay.models.incremental.base import initial_factors

ONE = np.float32(1)

ITEMS_PER_BLOCK = 64
F1, F2, F3, F4, F5, F6, F7 = (np.uint64(n * ITEMS_PER_BLOCK) for n in range(1, 8))  # to an item's next factors
NEUTRAL = np.float32(-0.0)  # x + -0.0 has the bits of x, also for x = -0.0
FIRST_BLOCKS = 16  # allocated at first; FIRST_BLOCKS * ITEMS_PER_BLOCK is ROWS_PER_DRAW


@njit(cache=True, nogil=True)
def score_and_count(
    user: Float32, items: Float32, known: int, to_one: bool, own_score: Any, row: Float32
) -> tuple[Any, Any, Any]:
    """Write the scores of the first ``known`` items to ``row``; return what ``_walk.compare`` counts in them.

    A score is the dot product of the user's and the item's factors or, if ``to_one``, minus the distance of this
    product from 1. ``items`` (blocks, factors, items of a block) are the items' factors, and ``own_score`` is that of
    the query's item. A block of items is computed in passes over eight, two or one factors: each pass also reads and
    writes the sums, which costs as much as two factors. The last pass counts, too, while the processor waits for the
    next factors.
    """
    factors, flat = user.size, items.reshape(items.size)  # one index, so that one check finds that row is elsewhere
    above, n_equal, n_nan = np.int32(0), np.int32(0), np.int32(0)
    blocks = (known + ITEMS_PER_BLOCK - 1) // ITEMS_PER_BLOCK
    for number in range(blocks):
        to, at = number * ITEMS_PER_BLOCK, number * factors * ITEMS_PER_BLOCK
        row[to : to + ITEMS_PER_BLOCK] = NEUTRAL
        factor = 0
        while factor + 2 <= factors % 8:
            add_two(user[factor : factor + 2], flat, np.uint64(at + factor * ITEMS_PER_BLOCK), row, np.uint64(to))
            factor += 2
        if factor < factors % 8:
            a, begin = user[factor], np.uint64(at + factor * ITEMS_PER_BLOCK)
            for i in range(ITEMS_PER_BLOCK):
                row[np.uint64(to) + np.uint64(i)] += a * flat[begin + np.uint64(i)]
            factor += 1
        while factor + 8 < factors:
            add_eight(user[factor : factor + 8], flat, np.uint64(at + factor * ITEMS_PER_BLOCK), row, np.uint64(to))
            factor += 8
        if factor < factors:
            begin = np.uint64(at + factor * ITEMS_PER_BLOCK)
            found = finish_with_eight(user[factor:], flat, begin, to_one, own_score, row, np.uint64(to))
            above, n_equal, n_nan = np.int32(above + found[0]), np.int32(n_equal + found[1]), np.int32(n_nan + found[2])
    if factors < 8:
        return finish(to_one, own_score, row[:known])
    more, equal, nan = compare(row[known : blocks * ITEMS_PER_BLOCK], own_score)  # items of the last block to come
    return above - more, n_equal - equal, n_nan - nan


@njit(cache=True, nogil=True)
def score_of(user: Float32, items: Float32, item: int, known: int, universe: int, to_one: bool) -> Any:
    """Return the score of one item for a user, as :func:`score_and_count` computes it for the first ``known`` items.

    ``user`` are the user's factors, and ``items`` (blocks, factors, items of a block) those of all items. Other items
    below ``universe`` can be recommended too, and score ``UNKNOWN_ITEM``. An item from ``universe`` on cannot, and
    scores NaN.
    """
    if item >= known:
        return UNKNOWN_ITEM if item < universe else np.float32(np.nan)
    product, block, place = NEUTRAL, item // ITEMS_PER_BLOCK, item % ITEMS_PER_BLOCK
    for factor in range(user.size):
        product += user[factor] * items[block, factor, place]
    return -abs(ONE - product) if to_one else product


@njit(cache=True, nogil=True, inline="always")
def add_eight(weights: Float32, flat: Float32, at: np.uint64, row: Float32, to: np.uint64) -> None:
    """Add to a block of ``row``, which begins at ``to``, its products with eight factors of a user, ``weights``.

    ``flat`` are the factors of all items as one array, and the eight begin at ``at``. They are added one after another,
    so that a sum has the bits of a plain loop over factors. Unsigned positions need no check for negative ones.
    """
    a, b, c, d = weights[0], weights[1], weights[2], weights[3]
    e, f, g, h = weights[4], weights[5], weights[6], weights[7]
    for i in range(ITEMS_PER_BLOCK):
        one = at + np.uint64(i)
        half = row[to + np.uint64(i)] + a * flat[one] + b * flat[one + F1] + c * flat[one + F2] + d * flat[one + F3]
        half = half + e * flat[one + F4] + f * flat[one + F5]
        row[to + np.uint64(i)] = half + g * flat[one + F6] + h * flat[one + F7]


@njit(cache=True, nogil=True, inline="always")
def add_two(weights: Float32, flat: Float32, at: np.uint64, row: Float32, to: np.uint64) -> None:
    """Add the products with two factors, as :func:`add_eight`, with the same arguments, does with eight."""
    a, b = weights[0], weights[1]
    for i in range(ITEMS_PER_BLOCK):
        one = at + np.uint64(i)
        row[to + np.uint64(i)] = row[to + np.uint64(i)] + a * flat[one] + b * flat[one + F1]


@njit(cache=True, nogil=True, inline="always")
def finish_with_eight(
    weights: Float32, flat: Float32, at: np.uint64, to_one: bool, own_score: Any, row: Float32, to: np.uint64
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Add eight factors as :func:`add_eight` does and call :func:`finish`, in one pass; see both for the arguments."""
    a, b, c, d = weights[0], weights[1], weights[2], weights[3]
    e, f, g, h = weights[4], weights[5], weights[6], weights[7]
    above, n_equal, n_nan = np.int32(0), np.int32(0), np.int32(0)
    for i in range(ITEMS_PER_BLOCK):
        one = at + np.uint64(i)
        half = row[to + np.uint64(i)] + a * flat[one] + b * flat[one + F1] + c * flat[one + F2] + d * flat[one + F3]
        half = half + e * flat[one + F4] + f * flat[one + F5]
        value = half + g * flat[one + F6] + h * flat[one + F7]
        if to_one:
            value = -abs(ONE - value)
        row[to + np.uint64(i)] = value
        above = np.int32(above + np.int32(value > own_score))
        n_equal = np.int32(n_equal + np.int32(value == own_score))
        n_nan = np.int32(n_nan + np.int32(np.isnan(value)))
    return above, n_equal, n_nan


@njit(cache=True, nogil=True)
def finish(to_one: bool, own_score: Any, line: Float32) -> tuple[Any, Any, Any]:
    """Turn products into scores in place, and return three counts of :func:`recassay.models.incremental._walk.compare`.

    ``line`` are products of factors; if ``to_one`` a score is minus the distance of the product from 1. The counts are
    (scores above ``own_score``, equal to it, NaN).
    """
    if to_one:
        for i in range(line.size):
            line[i] = -abs(ONE - line[i])
    return compare(line, own_score)


def score_row(items: Float32) -> Float32:
    """Return an array for the scores of all items; its size is a multiple of the block size."""
    return np.empty(items.shape[0] * ITEMS_PER_BLOCK, np.float32)


def draw_rows(model: Any, what: str) -> Callable[[int, int], Float32]:
    """Return a function of (begin, end) that draws initial factors: a row for each code ``begin`` to ``end`` - 1.

    They are Normal(0, ``model.deviation``) and depend only on the seed of the model, the code, and ``what``, such as
    "user".
    """
    return lambda begin, end: initial_factors(model.seed, what, begin, end, model.factors, model.deviation)


def draw_blocks(model: Any, what: str, *, biased: bool = False) -> Callable[[int, int], Float32]:
    """Return a function of (begin, end) that draws initial factors of blocks of items.

    If ``biased``, an item has a bias of 0 behind its factors. ``what`` is as in :func:`draw_rows`.
    """

    def draw(begin: int, end: int) -> Float32:
        rows = draw_rows(model, what)(begin * ITEMS_PER_BLOCK, end * ITEMS_PER_BLOCK)
        rows = np.pad(rows, ((0, 0), (0, int(biased))))
        return rows.reshape(end - begin, ITEMS_PER_BLOCK, -1).transpose(0, 2, 1)

    return draw
