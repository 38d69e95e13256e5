"""Re-ranking for the long tail: relevant items of the popularity that the user likes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.models.rerank.context import RerankContext
from recassay.models.rerank.xquad import GreedyXQuAD, XQuAD


@dataclass(frozen=True, repr=False)
class LongTail(XQuAD):
    """xQuAD with two features: an item is in the popular ``head`` of the catalogue or in its long tail.

    The head has the share ``head`` of the items of the training log, those with the most users, and all items with as
    many users as the last of them. An item that nobody has in the training log is in the tail, as ``aplt`` counts it.
    p(a | u) is the share of head and of tail items in the user's training profile, so the list of a user who likes
    rare items gets more of them. With ``prior="uniform"`` head and tail count the same for all users. ``relevance`` is
    that of xQuAD. No features of items are needed.

    Each of the first ``places`` ranks goes to the item among the first ``candidates`` that maximises
    (1 - weight) x score + weight x diversity; ties go to the better rank.

    Reference: Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems with personalized
    re-ranking, FLAIRS 2019.
    """

    name: ClassVar[str] = "LongTail"
    departures = ()

    head: float = 0.2

    def validate(self) -> None:
        """Raise U102 unless ``head``, the share of items in the head of the catalogue, is above 0 and below 1."""
        super().validate()
        if not 0 < self.head < 1:
            raise self.refuse("head", "it must lie between 0 and 1", "head=0.2")

    def prepare(self, context: RerankContext) -> GreedyXQuAD:
        """Return the re-ranker together with users' profiles and the class (head or tail) of every item."""
        unknown = context.vocabulary.decode(np.unique(context.listed[context.log_items(context.listed) < 0]))
        return super().prepare(replace(context, items=popularity_classes(context.log, self.head, unknown)))


def popularity_classes(log: Interactions, head: float, unknown: pl.Series) -> Features:
    """Return the feature ``head`` or ``tail`` of every item of a log, and ``tail`` of the ``unknown`` items.

    ``head`` is the share of the items of the log in the head. Items that nobody has are in the tail.

    >>> rows = pl.DataFrame({"user_id": [1, 2, 3, 1, 2, 1], "item_id": [7, 7, 7, 8, 8, 9]})
    >>> found = popularity_classes(Interactions.from_frame(rows), head=0.3, unknown=pl.Series([5]))
    >>> found.items.to_list(), found.names.gather(found.codes).to_list()
    ([5, 7, 8, 9], ['tail', 'head', 'tail', 'tail'])
    """
    counts = log.item_users
    least = np.sort(counts)[::-1][max(int(np.ceil(head * counts.size)), 1) - 1]
    ids = log.item_vocabulary.ids
    assert ids is not None, "a log's ids are dense"
    known = pl.DataFrame({"item_id": ids, "popularity": np.where(counts >= max(least, 1), "head", "tail")})
    others = pl.DataFrame({"item_id": unknown.cast(ids.dtype), "popularity": ["tail"] * unknown.len()})
    table = pl.concat([known, others], how="vertical_relaxed")
    return Features.from_frame(table, columns=["popularity"], origin=log.origin)
