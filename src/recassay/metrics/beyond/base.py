"""What metrics of the items in a list share: its first k places, values per item, means over places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import stretch_of
from recassay.data.recoding import Recoding
from recassay.metrics.base import UnitMetric, Values, sums
from recassay.portable.elementary import log2

if TYPE_CHECKING:
    from recassay.metrics.align import Aligned

Discount = Literal["none", "log"]


@dataclass(frozen=True, repr=False)
class ListMetric(UnitMetric):
    """A metric of the items a list shows. An ``empty`` list (or none) is left out and counted, or counts 0."""

    family: ClassVar[str] = "beyond"

    empty: Literal["undefined", "zero"] = "undefined"

    def judge(self, lists: Aligned) -> Values:
        """The value of each list that shows something; anything elsewhere."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges a block of lists")

    def evaluate(self, lists: Aligned) -> Values:
        values = self.judge(lists)
        if lists.length.all():
            return values
        return np.where(lists.length > 0, values, np.nan if self.empty == "undefined" else 0.0)


@dataclass(frozen=True, eq=False)
class ItemValues:
    """A number for each item of the training log; the last one is for items that are not in it."""

    recoding: Recoding
    table: Values

    def at(self, lists: Aligned, k: int | None) -> Values:
        """The number of the item in each of the first k places."""
        return self.table[recoded(lists, k, self.recoding)]  # an unknown item has code -1: the last number


def recoded(lists: Aligned, k: int | None, recoding: Recoding) -> NDArray[np.int32]:
    """The items in the first k places as a training log or a table of items numbers them, or -1."""

    def look_up() -> NDArray[np.int32]:
        _, rows = lists.places(k)
        return recoding(lists.meeting.run.items[rows])

    return lists.remember(("items", k, recoding), look_up)  # type: ignore[return-value]


def mean_over_places(lists: Aligned, k: int | None, values: Values, discount: Discount = "none") -> Values:
    """Mean of the values in the first k places, weighted by the discount of each place; NaN for an empty list.

    ``log`` weighs place p by 1/log2(p + 1).
    """
    offsets, _ = lists.places(k)
    if discount == "none":
        return ratio(sums(offsets, values), np.diff(offsets))
    weights = rank_weights(offsets, discount)
    return ratio(sums(offsets, values * weights), sums(offsets, weights))


def ratio(above: Values, below: NDArray[Any]) -> Values:
    """The quotient; NaN where the denominator is 0.

    >>> ratio(np.array([1.0, 0.0]), np.array([2, 0])).tolist()
    [0.5, nan]
    """
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def rank_weights(offsets: NDArray[np.int64], discount: Discount) -> Values:
    """Weight of each place of lists: 1, or 1/log2(p + 1) for place p."""
    if discount == "none":
        return np.ones(int(offsets[-1]))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return np.asarray(places_discount(int(place.max(initial=0)) + 1, discount)[place])


def places_discount(places: int, discount: Discount) -> Values:
    """The discount of places 1 to so many.

    >>> places_discount(3, "log").round(6).tolist()
    [1.0, 0.63093, 0.5]
    """
    if discount == "none":
        return np.ones(places)
    return np.asarray(1.0 / log2(np.arange(2.0, places + 2.0)))


def relevant_places(lists: Aligned, k: int | None, relevant_from: float) -> NDArray[np.bool_]:
    """Whether a relevant item stands in each of the first k places."""
    return at_places(lists, k, lists.is_relevant(relevant_from))


def at_places(lists: Aligned, k: int | None, values: NDArray[Any]) -> NDArray[Any]:
    """A value of each mark at the place where it stands, among the first k of every list; 0 where no mark is."""
    offsets, _ = lists.places(k)
    rank = lists.rank if lists.standing is None else lists.standing
    query = stretch_of(lists.start)
    inside = rank <= np.diff(offsets)[query]
    found = np.zeros(int(offsets[-1]), values.dtype)
    found[offsets[query[inside]] + rank[inside] - 1] = values[inside]
    return found


def ordered_by_popularity(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Items by count descending, ties by ascending id.

    >>> ordered_by_popularity(np.array([1, 5, 5])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-counts, kind="stable")
