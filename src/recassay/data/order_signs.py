"""Signs that lists are not ordered as their file means it: scores that count like ranks, ranks against scores."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.layout import neighbours

LONG = 3  # items; of a shorter list nothing can be told


@dataclass(frozen=True)
class OrderSigns:
    """Counts over the lists of a run; those of parts add up.

    ``counting`` of ``lists`` with three items or more have the scores 1, 2, 3, ... or 0, 1, 2, ..., and ``ascending``
    of these have them in this order of rows. ``contrary`` of ``pairs`` of neighbours in lists ordered by rank have the
    higher score below, in ``contrary_lists`` lists.

    >>> OrderSigns(2, 1) + OrderSigns(3, 3, 3)
    OrderSigns(lists=5, counting=4, ascending=3, pairs=0, contrary=0, contrary_lists=0)
    """

    lists: int = 0
    counting: int = 0
    ascending: int = 0
    pairs: int = 0
    contrary: int = 0
    contrary_lists: int = 0

    def __add__(self, other: OrderSigns) -> OrderSigns:
        return OrderSigns(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


def signs_of_scores(offsets: NDArray[np.int64], given: pl.Series, ordered: pl.Series) -> OrderSigns:
    """Count lists whose scores look like ranks: ``given`` as the rows came, ``ordered`` from the highest down.

    Lists that came with their highest score first mean their scores, whatever these are.

    >>> signs_of_scores(np.array([0, 3, 6]), pl.Series([1.0, 2, 3, 2, 0, 1]), pl.Series([3.0, 2, 1, 2, 1, 0]))
    OrderSigns(lists=2, counting=2, ascending=1, pairs=0, contrary=0, contrary_lists=0)
    """
    sizes = np.diff(offsets)
    long = sizes >= LONG
    lists = int(long.sum())
    if not lists or ordered is given:
        return OrderSigns(lists)
    first = int(np.argmax(long))
    begin, end = int(offsets[first]), int(offsets[first + 1])
    if not _counts_down(ordered[begin:end].to_numpy(), end - begin).all():  # settles nearly every run
        return OrderSigns(lists)
    starts, values = offsets[:-1], ordered.to_numpy()
    least = values[offsets[1:] - 1]
    place = np.arange(values.size) - np.repeat(starts, sizes)
    level = np.repeat(least, sizes)
    down = values == level + np.repeat(sizes, sizes) - 1 - place
    up = given.to_numpy() == level + place
    counting = np.logical_and.reduceat(down, starts) & long & ((least == 0) | (least == 1))
    return OrderSigns(lists, int(counting.sum()), int((counting & np.logical_and.reduceat(up, starts)).sum()))


def signs_of_ranks(offsets: NDArray[np.int64], scores: pl.Series) -> OrderSigns:
    """Count neighbours that scores, in the order of ranks, would put the other way round.

    >>> signs_of_ranks(np.array([0, 3, 5]), pl.Series([0.9, 0.5, 0.7, 0.1, 0.1]))
    OrderSigns(lists=0, counting=0, ascending=0, pairs=3, contrary=1, contrary_lists=1)
    """
    rises = neighbours(scores, np.greater)
    inner = offsets[1:-1]
    rises[inner[(inner > 0) & (inner <= rises.size)] - 1] = False  # from one list to the next
    contrary = int(rises.sum())
    pairs = scores.len() - (offsets.size - 1)
    if not contrary:
        return OrderSigns(pairs=pairs)
    lists = np.unique(np.searchsorted(offsets, 1 + np.flatnonzero(rises), side="right")).size
    return OrderSigns(pairs=pairs, contrary=contrary, contrary_lists=lists)


def _counts_down(values: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    least = values[-1] if values[-1] in (0, 1) else np.nan
    return np.asarray(values == least + np.arange(size - 1, -1, -1))
