"""Shared code of metrics of the items in a list: the first k places, values per item, means over places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Int32, Int64
from recassay.columnar.layout import ranges, row_groups
from recassay.columnar.vocabulary import Recoding
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import UnitMetric, Values, range_sums
from recassay.metrics.ranking.ndcg import discounts

Discount = Literal["none", "log"]


@dataclass(frozen=True, repr=False)
class ListMetric(UnitMetric):
    """A metric of the items in a list.

    ``empty`` says whether an empty or missing list is left out and counted (``undefined``), or counts 0 (``zero``).
    """

    family: ClassVar[str] = "beyond"
    describes: ClassVar[bool] = True
    no_formula: ClassVar[str] = "it reads all items of a list, not the ranks of relevant ones"

    empty: Literal["undefined", "zero"] = "undefined"

    def judge(self, lists: AlignedBlock) -> Values:
        """Return the value of each list of a block; the value of an empty list is not used."""
        raise NotImplementedError(f"{type(self).__name__} must define judge()")

    def evaluate(self, lists: AlignedBlock) -> Values:
        values = self.judge(lists)
        if lists.length.all():
            return values
        return np.where(lists.length > 0, values, np.nan if self.empty == "undefined" else 0.0)


# A function of lists and k that returns a value for each of the first k places of every list, one list after the other.
PlaceValues = Callable[[AlignedBlock, int | None], NDArray[Any]]


def item_values(recoding: Recoding, table: Values) -> PlaceValues:
    """Return a function (lists, k) -> values of the items in the first k places.

    ``table`` has a value for each item of the training log, and as its last entry the value of all other items.
    """
    return lambda lists, k: table[item_codes(lists, k, recoding)]  # code -1 of an unknown item reads the last number


def row_values(rows: Values) -> PlaceValues:
    """Return a function (lists, k) -> values of the items in the first k places, from a value for each row of a run."""
    return lambda lists, k: rows[lists.places(k)[1]]


@dataclass(frozen=True, eq=False)
class ItemPopularity:
    """Number of training users who had an item, and the totals it is compared with (numbers, or arrays on a stream).

    ``users`` and ``pairs`` are all training users, and all training pairs of user and item. ``items`` counts the items
    of the training log, and ``rarest`` is the number of users of the rarest of them.
    """

    counts: Values
    users: Values | float
    pairs: Values | float
    items: Values | float
    rarest: Values | float


class StreamMoments(Protocol):
    """An interface for item popularity and user histories right before each event of a stream.

    Lists are rows of a run, events rows of a truth.
    """

    def popularity(self) -> ItemPopularity:
        """Return the popularity of each recommended item (row of the run) at the time of its list."""

    def listed_unexpected(self, m: int) -> Bool:
        """Return a mask of recommended items (rows of the run) new to their user and not among the m most popular."""

    def chosen_unexpected(self, m: int) -> Bool:
        """Return a mask of the events whose item is new to the user and not among the m most popular items."""


def item_codes(lists: AlignedBlock, k: int | None, recoding: Recoding) -> Int32:
    """Return the code of the item in each of the first k places, translated by ``recoding``; -1 if it has no code."""

    def look_up() -> Int32:
        _, rows = lists.places(k)
        return recoding(lists.alignment.run.items[rows])

    return lists.remember(("items", k, recoding), look_up)  # type: ignore[return-value]


def mean_over_places(lists: AlignedBlock, k: int | None, values: Values, discount: Discount = "none") -> Values:
    """Return the mean of the values in the first k places, weighted by ``discount``; NaN for an empty list.

    ``log`` weights place p by 1/log2(p + 1).
    """
    offsets, _ = lists.places(k)
    weights = rank_weights(offsets, discount)
    return ratio(range_sums(offsets, values * weights), range_sums(offsets, weights))


def ratio(above: Values, below: NDArray[Any]) -> Values:
    """Return above / below, elementwise; NaN where ``below`` is 0.

    >>> ratio(np.array([1.0, 0.0]), np.array([2, 0])).tolist()
    [0.5, nan]
    """
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def rank_weights(offsets: Int64, discount: Discount) -> Values:
    """Return the weight of each place of lists, list after list: 1, or with ``log`` 1/log2(p + 1) for place p."""
    place = ranges(0, np.diff(offsets))
    return np.asarray(place_discounts(int(place.max(initial=0)) + 1, discount)[place])


def place_discounts(places: int, discount: Discount) -> Values:
    """Return the discounts of the first ``places`` places: 1 for "none", or 1/log2(p + 1) for place p for "log".

    >>> place_discounts(3, "log").round(6).tolist()
    [1.0, 0.63093, 0.5]
    """
    return np.ones(places) if discount == "none" else discounts("log2p1", places)


def relevant_places(lists: AlignedBlock, k: int | None, relevant_from: float) -> Bool:
    """Return a mask of the first k places of all lists, one list after the other: True where the item is relevant."""
    return values_at_places(lists, k, lists.is_relevant(relevant_from))


def values_at_places(lists: AlignedBlock, k: int | None, values: NDArray[Any]) -> NDArray[Any]:
    """Return an array over the first k places of every list: the values of judged items, 0 at other places.

    ``values`` has one number per judged item in a list.
    """
    offsets, _ = lists.places(k)
    rank = lists.rank if lists.listed_rank is None else lists.listed_rank
    query = row_groups(lists.start)
    inside = rank <= np.diff(offsets)[query]
    at_places = np.zeros(int(offsets[-1]), values.dtype)
    at_places[offsets[query[inside]] + rank[inside] - 1] = values[inside]
    return at_places


def ordered_by_popularity(counts: Int64) -> Int64:
    """Return the items by descending count, ties by ascending id.

    >>> ordered_by_popularity(np.array([1, 5, 5])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-counts, kind="stable")
